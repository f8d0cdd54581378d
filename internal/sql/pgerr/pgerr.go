// Package pgerr holds the error type that every SQL layer returns to a client:
// a SQLSTATE (PostgreSQL 15, Appendix A) with message, detail, hint and
// position. It is a leaf.
package pgerr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code is a five-character SQLSTATE.
type Code string

// Error is an error a client sees. Position counts characters of the statement
// text from 1; 0 means none.
type Error struct {
	Code       Code
	Message    string
	Detail     string
	Hint       string
	Position   int
	Schema     string
	Table      string
	Column     string
	DataType   string
	Constraint string
	// Routine is field R, by which some drivers know an error they can handle.
	Routine string
	Context string // where it happened: "COPY t, line 3"
	// InternalQuery is the statement of a function, or its body, that InternalPosition is a position in; they exclude
	// Position.
	InternalQuery    string
	InternalPosition int
	Cause            error // what led to it; never sent to a client
	// Denied is the id of the relation on which a privilege is missing, for the audit log; 0: none is known. It is never
	// sent to a client.
	Denied uint64
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// maxQuoted bounds each text that a message quotes, in bytes. Nobody reads more, and nothing cancels the making of it.
const maxQuoted = 64 << 10

// format is fmt.Sprintf with long texts shortened, but for one that is the whole message.
func format(text string, args ...any) string {
	long := func(a any) bool { s, ok := a.(string); return ok && len(s) > maxQuoted }
	if text == "%s" || !slices.ContainsFunc(args, long) {
		return fmt.Sprintf(text, args...)
	}
	short := slices.Clone(args)
	for i, a := range args {
		if long(a) {
			short[i] = strings.ToValidUTF8(a.(string)[:maxQuoted], "") + "…"
		}
	}
	return fmt.Sprintf(text, short...)
}

// New returns an error with the given SQLSTATE.
func New(code Code, text string, args ...any) *Error {
	return &Error{Code: code, Message: format(text, args...)}
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(text string, args ...any) *Error {
	e.Hint = format(text, args...)
	return e
}

// WithDetail sets the detail and returns e.
func (e *Error) WithDetail(text string, args ...any) *Error {
	e.Detail = format(text, args...)
	return e
}

// At sets the position (characters from 1) unless one is set, and returns e.
func (e *Error) At(pos int) *Error {
	if e.Position == 0 {
		e.Position = pos
	}
	return e
}

// Within returns a copy of e that also says where what it happened in is: its context ends with a
// line for it.
func (e *Error) Within(context string) *Error {
	c := *e
	if c.Context != "" {
		c.Context += "\n"
	}
	c.Context += context
	return &c
}

// From returns err as an *Error; an error of another kind becomes XX000
// (internal error) that carries it as cause.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: InternalError, Message: err.Error(), Cause: err}
}

// PositionOf returns the position of err in the statement, 0 if it has none.
func PositionOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Position
	}
	return 0
}

// CodeOf returns the SQLSTATE of err, InternalError for foreign errors and ""
// for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return From(err).Code
}

// Assertion returns XX000: what only a bug can bring about. It fails the statement, where a
// panic would end the session; what a client or stored data can bring about has another SQLSTATE.
func Assertion(format string, args ...any) *Error {
	return New(InternalError, "assertion failed: "+format, args...)
}

// UndecidedCollation returns 42P22: the operands of what have several collations, or none.
func UndecidedCollation(what string) *Error {
	return New(IndeterminateCollation, "could not determine which collation to use for %s", what).
		WithHint("Use the COLLATE clause to set the collation explicitly.")
}

// Unsupported returns 0A000 naming the feature.
func Unsupported(format string, args ...any) *Error {
	return New(FeatureNotSupported, format, args...)
}
