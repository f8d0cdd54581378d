package routine

import (
	"errors"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

// cursorArgs gives the arguments of a bound cursor their values.
func (p *program) cursorArgs(f *frame, v *variable, given []plpgsql.Expr) error {
	switch {
	case len(given) > 0 && len(v.args) == 0:
		return pgerr.New(pgerr.SyntaxError, "cursor \"%s\" has no arguments", v.name)
	case len(given) < len(v.args):
		return pgerr.New(pgerr.SyntaxError, "not enough arguments for cursor \"%s\"", v.name)
	case len(given) > len(v.args):
		return pgerr.New(pgerr.SyntaxError, "too many arguments for cursor \"%s\"", v.name)
	}
	for i, a := range v.args {
		d, t, err := p.eval(f, &given[i])
		if err != nil {
			return err
		}
		if err := p.set(f, a, d.Clone(), t); err != nil {
			return err
		}
	}
	return nil
}

// openCursor runs OPEN: the cursor is one of the session, under the name that the variable has or gets.
func (p *program) openCursor(f *frame, s *plpgsql.Open) error {
	v := p.targets[s.Cursor.ID].v
	st, params, err := p.cursorQuery(f, v, s)
	if err != nil {
		return err
	}
	name := ""
	if d := f.params[v.slot]; !d.IsNull() {
		name = d.Str()
	} else if v.cursor != nil {
		name = v.name
	}
	scroll := ast.Unset
	switch s.Scroll + v.scroll() {
	case "scroll":
		scroll = ast.Yes
	case "no scroll":
		scroll = ast.No
	}
	p.cur = f
	if name, err = f.r.host.OpenCursor(f.c, name, st, params, scroll, f.fresh); err != nil {
		return err
	}
	f.params[v.slot] = types.NewOpaque(name)
	return nil
}

// scroll is what the declaration of a cursor says.
func (v *variable) scroll() string {
	if v.cursor == nil {
		return ""
	}
	return v.cursor.Scroll
}

// cursorQuery returns the statement that OPEN is for, with its parameters.
func (p *program) cursorQuery(f *frame, v *variable, s *plpgsql.Open) (*prepared.Statement, []types.Datum, error) {
	if s.Dynamic != nil {
		return p.dynamicQuery(f, s.Dynamic, s.Using)
	}
	var q *query
	switch {
	case s.Query != nil:
		q = p.sqls[s.Query]
	case v.cursor != nil:
		if err := p.cursorArgs(f, v, s.Args); err != nil {
			return nil, nil, err
		}
		q = p.sqls[v.cursor.Query]
	default:
		return nil, nil, pgerr.New(pgerr.SyntaxError, "cursor \"%s\" is bound to no query", v.name)
	}
	if err := q.prepare(f); err != nil {
		return nil, nil, err
	}
	params := make([]types.Datum, len(f.params))
	for i := range params {
		params[i] = f.params[i].Clone()
	}
	st := *q.st // the cursor keeps its plan
	return &st, params, nil
}

// dynamicQuery makes a statement of a text that is computed.
func (p *program) dynamicQuery(f *frame, x *plpgsql.Expr, using []plpgsql.Expr) (*prepared.Statement, []types.Datum, error) {
	text, err := p.text(f, x)
	if err != nil {
		return nil, nil, err
	}
	stmts, err := f.r.host.Parse(text)
	if err != nil {
		return nil, nil, sourceOf(text).within(err)
	}
	if len(stmts) != 1 {
		return nil, nil, pgerr.New(pgerr.SyntaxError, "cannot open multi-query plan as cursor")
	}
	params, ts := make([]types.Datum, len(using)), make([]*types.T, len(using))
	for i := range using {
		d, t, err := p.eval(f, &using[i])
		if err != nil {
			return nil, nil, err
		}
		params[i], ts[i] = d.Clone(), t
	}
	p.nextKey++
	q := NewQuery(stmts[0], p.key+"."+itoa(p.nextKey), ts, nil)
	q.Apart = true
	return q, params, nil
}

// portalName returns the name of the cursor that a variable stands for, quoted.
func (p *program) portalName(f *frame, t *plpgsql.Target) (string, error) {
	v := p.targets[t.ID].v
	if v.typ == nil || v.typ.Oid != types.Refcursor.Oid {
		return "", pgerr.New(pgerr.DatatypeMismatch, "variable \"%s\" must be of type cursor or refcursor", v.name)
	}
	if f.params[v.slot].IsNull() {
		return "", pgerr.New(pgerr.NullValueNotAllowed, "cursor variable \"%s\" is null", v.name)
	}
	return `"` + strings.ReplaceAll(f.params[v.slot].Str(), `"`, `""`) + `"`, nil
}

// cursorStatement runs a statement about a cursor of the session.
func (p *program) cursorStatement(f *frame, text string, sink Sink) (Outcome, error) {
	stmts, err := f.r.host.Parse(text)
	if err != nil {
		return Outcome{}, err
	}
	p.nextKey++
	out, err := f.r.host.Run(f.c, NewQuery(stmts[0], p.key+"."+itoa(p.nextKey), nil, nil), nil, f.fresh, sink)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out, err
}

// fetchCursor runs FETCH and MOVE.
func (p *program) fetchCursor(f *frame, s *plpgsql.Fetch) error {
	name, err := p.portalName(f, &s.Cursor)
	if err != nil {
		return err
	}
	word := "FETCH "
	if s.Move {
		word = "MOVE "
	}
	direction := s.Direction
	if direction == "" {
		direction = "NEXT"
	}
	sink := &rowSink{}
	out, err := p.cursorStatement(f, word+direction+" FROM "+name, sink)
	if err != nil {
		return err
	}
	if s.Move {
		f.rowCount = tagCount(out.Tag)
		f.params[p.found.slot] = types.NewBool(f.rowCount > 0)
		return nil
	}
	f.count(p, out, sink)
	return p.into(f, s.Into, false, sink)
}

// tagCount is the count at the end of a command tag.
func tagCount(tag string) int64 {
	n := int64(0)
	for _, c := range tag[strings.LastIndexByte(tag, ' ')+1:] {
		n = 10*n + int64(c-'0')
	}
	return n
}

// closeCursor runs CLOSE.
func (p *program) closeCursor(f *frame, s *plpgsql.Close) error {
	name, err := p.portalName(f, &s.Cursor)
	if err != nil {
		return err
	}
	_, err = p.cursorStatement(f, "CLOSE "+name, &rowSink{})
	return err
}
