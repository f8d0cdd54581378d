package copyfmt

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// headerMode is the HEADER option.
type headerMode uint8

const (
	headerNone  headerMode = iota
	headerLine             // written, or skipped
	headerMatch            // read and compared with the column names
)

// option is an option's value and whether it was given.
type option struct {
	value string
	set   bool
}

// or returns the value, or def if none was given.
func (o option) or(def string) string {
	if o.set {
		return o.value
	}
	return def
}

// Options are those of one COPY. The zero value is the text format with its
// defaults; Validate must be called after the last Set.
type Options struct {
	// Encoding is that of the data; nil: it is UTF8.
	Encoding *charset.Encoding

	format, delimiter, null, header, quote, escape, freeze option

	forceQuote, forceNotNull, forceNull []bool

	// What Validate makes of them.
	csv        bool
	binary     bool
	headerMode headerMode
	frozen     bool
	delim      byte
	quoteChar  byte
	escapeChar byte
	nullText   string
}

// Set gives an option its value: format, delimiter, null, header, quote, escape or
// freeze. Other names, and options given twice, are errors.
func (o *Options) Set(name, value string) error {
	var opt *option
	switch name {
	case "format":
		opt = &o.format
	case "delimiter":
		opt = &o.delimiter
	case "null":
		opt = &o.null
	case "header":
		opt = &o.header
	case "quote":
		opt = &o.quote
	case "escape":
		opt = &o.escape
	case "freeze":
		opt = &o.freeze
	default:
		return pgerr.New(pgerr.SyntaxError, "option \"%s\" not recognized", name)
	}
	if opt.set {
		return pgerr.New(pgerr.SyntaxError, "conflicting or redundant options")
	}
	*opt = option{value: value, set: true}
	if name == "format" {
		return o.setFormat(value)
	}
	return nil
}

func (o *Options) setFreeze(value string) error {
	switch strings.ToLower(value) {
	case "true", "on", "1":
		o.frozen = true
	case "false", "off", "0":
	default:
		return pgerr.New(pgerr.SyntaxError, "freeze requires a Boolean value")
	}
	return nil
}

// Frozen reports whether rows are to be visible to all transactions at once.
func (o *Options) Frozen() bool { return o.frozen }

func (o *Options) setFormat(value string) error {
	switch value {
	case "text":
	case "csv":
		o.csv = true
	case "binary":
		o.binary = true
	default:
		return pgerr.New(pgerr.InvalidParameterValue, "COPY format \"%s\" not recognized", value)
	}
	return nil
}

func (o *Options) setHeader(value string) error {
	switch strings.ToLower(value) {
	case "true", "on", "1":
		o.headerMode = headerLine
	case "false", "off", "0":
		o.headerMode = headerNone
	case "match":
		o.headerMode = headerMatch
	default:
		return pgerr.New(pgerr.SyntaxError, "header requires a Boolean value or \"match\"")
	}
	return nil
}

// SetColumns gives the columns of force_quote, force_not_null or force_null:
// one entry per column of the COPY.
func (o *Options) SetColumns(name string, cols []bool) {
	switch name {
	case "force_quote":
		o.forceQuote = cols
	case "force_not_null":
		o.forceNotNull = cols
	case "force_null":
		o.forceNull = cols
	}
}

// reservedDelimiters can't delimit the text format: they have a meaning after a
// backslash, or in numbers.
const reservedDelimiters = "\\.abcdefghijklmnopqrstuvwxyz0123456789"

// Validate checks that the options fit together and makes them ready for
// NewReader (from) or NewWriter.
func (o *Options) Validate(from bool) error {
	if err := o.setFreeze(o.freeze.or("off")); err != nil {
		return err
	}
	if err := o.setHeader(o.header.or("off")); err != nil {
		return err
	}
	delim, null, quote := "\t", "\\N", ""
	if o.csv {
		delim, null, quote = ",", "", "\""
	}
	delim, null, quote = o.delimiter.or(delim), o.null.or(null), o.quote.or(quote)
	escape := o.escape.or(quote)
	if o.binary {
		if err := o.checkBinary(); err != nil {
			return err
		}
	}
	if err := o.checkDelimiter(delim, null); err != nil {
		return err
	}
	if err := o.checkQuoting(delim, quote, escape, from); err != nil {
		return err
	}
	switch {
	case strings.Contains(null, delim):
		return pgerr.Unsupported("COPY delimiter must not appear in the NULL specification")
	case o.csv && strings.Contains(null, quote):
		return pgerr.Unsupported("CSV quote character must not appear in the NULL specification")
	case !from && o.headerMode == headerMatch:
		return pgerr.Unsupported("cannot use \"%s\" with HEADER in COPY TO", o.header.value)
	}
	o.delim, o.nullText = delim[0], null
	if o.csv {
		o.quoteChar, o.escapeChar = quote[0], escape[0]
	}
	return nil
}

func (o *Options) checkDelimiter(delim, null string) error {
	switch {
	case len(delim) != 1:
		return pgerr.Unsupported("COPY delimiter must be a single one-byte character")
	case strings.ContainsAny(delim, "\r\n"):
		return pgerr.New(pgerr.InvalidParameterValue, "COPY delimiter cannot be newline or carriage return")
	case strings.ContainsAny(null, "\r\n"):
		return pgerr.New(pgerr.InvalidParameterValue, "COPY null representation cannot use newline or carriage return")
	case !o.csv && strings.Contains(reservedDelimiters, delim):
		return pgerr.New(pgerr.InvalidParameterValue, "COPY delimiter cannot be \"%s\"", delim)
	}
	return nil
}

func (o *Options) checkQuoting(delim, quote, escape string, from bool) error {
	switch {
	case !o.csv && o.quote.set:
		return pgerr.Unsupported("COPY quote available only in CSV mode")
	case o.csv && len(quote) != 1:
		return pgerr.Unsupported("COPY quote must be a single one-byte character")
	case o.csv && delim == quote:
		return pgerr.New(pgerr.InvalidParameterValue, "COPY delimiter and quote must be different")
	case !o.csv && o.escape.set:
		return pgerr.Unsupported("COPY escape available only in CSV mode")
	case o.csv && len(escape) != 1:
		return pgerr.Unsupported("COPY escape must be a single one-byte character")
	case !o.csv && o.forceQuote != nil:
		return pgerr.Unsupported("COPY force quote available only in CSV mode")
	case o.forceQuote != nil && from:
		return pgerr.Unsupported("COPY force quote only available using COPY TO")
	case !o.csv && o.forceNotNull != nil:
		return pgerr.Unsupported("COPY force not null available only in CSV mode")
	case o.forceNotNull != nil && !from:
		return pgerr.Unsupported("COPY force not null only available using COPY FROM")
	case !o.csv && o.forceNull != nil:
		return pgerr.Unsupported("COPY force null available only in CSV mode")
	case o.forceNull != nil && !from:
		return pgerr.Unsupported("COPY force null only available using COPY FROM")
	}
	return nil
}
