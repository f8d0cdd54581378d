// Package formatfuncs declares to_char, to_date, to_timestamp and to_number, whose templates are a
// language of their own: one for dates (datetime_*.go), one for numbers (number_*.go). overloads.go lists
// the functions.
//
// ReadTemplate reads dates by a template in the standard mode, for SQL/JSON.
package formatfuncs
