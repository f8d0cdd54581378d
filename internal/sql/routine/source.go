package routine

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// source says how errors show an expression or a statement of a body, and where it stands there. Lengths are in
// characters, as positions of errors.
type source struct {
	kind   string // as lines of context call it
	shown  string // as errors show it
	before int    // how much of shown comes before the text of the body
	lead   int    // how much of what is parsed comes before it
	pos    int    // of the text in the body, in bytes
}

// sourceOf is that of a statement in SQL.
func sourceOf(text string) *source { return &source{kind: "SQL statement", shown: text} }

// assigns makes it that of an assignment to what stands before the expression.
func (s *source) assigns(before string) {
	s.kind, s.shown, s.before = "PL/pgSQL assignment", before+s.shown, utf8.RuneCountInString(before)
}

// within leaves in an error where it happened: its position in the text that is shown, or else a line of context with the
// text. Conflicts, which have the statement run again, pass as they are.
func (s *source) within(err error) error {
	if err == nil { // without a variable that errors.As has escape
		return nil
	}
	return s.placed(err)
}

func (s *source) placed(err error) error {
	var e *pgerr.Error
	if kv.IsRetryable(err) || !errors.As(err, &e) {
		return err
	}
	c := *e
	if c.Code == pgerr.ObjectNotInPrerequisiteState || c.Code == pgerr.UndefinedColumn && strings.HasPrefix(c.Message, "record ") {
		c.Position = 0 // a record without structure or the field, which PostgreSQL meets as the expression runs
	}
	if c.Position > 0 {
		c.InternalPosition, c.InternalQuery, c.Position = c.Position-s.lead+s.before, s.shown, 0
		return &c
	}
	if c.Context != "" {
		c.Context += "\n"
	}
	c.Context += s.kind + " \"" + s.shown + "\""
	return &c
}

// inBody makes the position of a syntax error one in the body.
func (s source) inBody(err error, body string) error {
	var e *pgerr.Error
	if !errors.As(err, &e) || e.Position == 0 {
		return err
	}
	return inBody(err, body, utf8.RuneCountInString(body[:s.pos])+e.Position-s.lead)
}

// inBody gives an error a position in a body, in characters from 1.
func inBody(err error, body string, position int) error {
	var e *pgerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Position, c.InternalPosition, c.InternalQuery = 0, position, body
	return &c
}
