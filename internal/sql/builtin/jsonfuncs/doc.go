// Package jsonfuncs declares operators and functions of json and jsonb: making, taking apart, editing,
// conversion to and from records, and SQL/JSON paths.
//
// json values keep their text and are scanned; jsonb values are parsed.
package jsonfuncs
