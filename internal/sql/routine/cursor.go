package routine

import (
	"errors"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

// cursorArgs gives the arguments of a bound cursor their values.
func (p *program) cursorArgs(f *frame, v *variable, given []plpgsql.Expr) error {
	args, err := v.arguments(given)
	if err != nil {
		return err
	}
	for i, a := range v.args {
		d, t, err := p.eval(f, args[i])
		if err != nil {
			return err
		}
		if err := p.set(f, a, d.Clone(), t); err != nil {
			return err
		}
	}
	return nil
}

// arguments puts the arguments of a bound cursor in the order of its declaration.
func (v *variable) arguments(given []plpgsql.Expr) ([]*plpgsql.Expr, error) {
	if len(given) > 0 && len(v.args) == 0 {
		return nil, pgerr.New(pgerr.SyntaxError, "cursor \"%s\" has no arguments", v.name)
	}
	args := make([]*plpgsql.Expr, len(v.args))
	for i := range given {
		at := i
		if name := given[i].Name; name != "" {
			if at = slices.IndexFunc(v.args, func(a *variable) bool { return a.name == name }); at < 0 {
				return nil, pgerr.New(pgerr.SyntaxError, "cursor \"%s\" has no argument named \"%s\"", v.name, name)
			}
		}
		if at >= len(args) {
			return nil, pgerr.New(pgerr.SyntaxError, "too many arguments for cursor \"%s\"", v.name)
		}
		if args[at] != nil {
			return nil, pgerr.New(pgerr.SyntaxError, "value for parameter \"%s\" of cursor \"%s\" specified more than once", v.args[at].name, v.name)
		}
		args[at] = &given[i]
	}
	if len(given) < len(args) {
		return nil, pgerr.New(pgerr.SyntaxError, "not enough arguments for cursor \"%s\"", v.name)
	}
	return args, nil
}

// openCursor runs OPEN.
func (p *program) openCursor(f *frame, s *plpgsql.Open) error {
	v := p.targets[s.Cursor.ID].v
	st, params, at, err := p.cursorQuery(f, v, s)
	if err != nil {
		return err
	}
	_, err = p.openStatement(f, v, st, params, at, scrolls(s.Scroll+v.scroll()))
	return err
}

// scrolls is what OPEN, or the declaration of a cursor, says.
func scrolls(text string) ast.Tristate {
	switch text {
	case "scroll":
		return ast.Yes
	case "no scroll":
		return ast.No
	}
	return ast.Unset
}

// open opens a cursor for a query of the body.
func (p *program) open(f *frame, v *variable, q *query) (name string, err error) {
	st, params, err := q.forCursor(f)
	if err != nil {
		return "", err
	}
	return p.openStatement(f, v, st, params, &q.at, scrolls(v.scroll()))
}

// openStatement makes a cursor of the session, under the name that a variable has or gets.
func (p *program) openStatement(f *frame, v *variable, st *prepared.Statement, params []types.Datum, at *source, scroll ast.Tristate) (name string, err error) {
	if d := f.params[v.slot]; !d.IsNull() {
		name = d.Str()
	}
	p.cur = f
	if name, err = f.r.host.OpenCursor(f.c, name, st, params, scroll, f.fresh); err != nil {
		if pgerr.CodeOf(err) == pgerr.DuplicateCursor {
			return "", err
		}
		return "", at.within(err)
	}
	f.params[v.slot] = types.NewOpaque(name)
	return name, nil
}

// scroll is what the declaration of a cursor says.
func (v *variable) scroll() string {
	if v.cursor == nil {
		return ""
	}
	return v.cursor.Scroll
}

// cursorQuery returns the statement that OPEN is for, with its parameters, and what errors say of it.
func (p *program) cursorQuery(f *frame, v *variable, s *plpgsql.Open) (*prepared.Statement, []types.Datum, *source, error) {
	if s.Dynamic != nil {
		return p.dynamicQuery(f, s.Dynamic, s.Using)
	}
	var q *query
	switch {
	case s.Query != nil:
		q = p.sqls[s.Query]
	case v.cursor != nil:
		if err := p.cursorArgs(f, v, s.Args); err != nil {
			return nil, nil, nil, err
		}
		q = p.sqls[v.cursor.Query]
	default:
		return nil, nil, nil, pgerr.New(pgerr.SyntaxError, "cursor \"%s\" is bound to no query", v.name)
	}
	st, params, err := q.forCursor(f)
	return st, params, &q.at, err
}

// forCursor returns the statement of a query, and its parameters, for a cursor that keeps them.
func (q *query) forCursor(f *frame) (*prepared.Statement, []types.Datum, error) {
	if err := q.prepare(f); err != nil {
		return nil, nil, err
	}
	params := CloneRow(f.packed())
	st := *q.st // the cursor keeps its plan
	return &st, params, nil
}

// dynamicQuery makes a statement of a text that is computed.
func (p *program) dynamicQuery(f *frame, x *plpgsql.Expr, using []plpgsql.Expr) (*prepared.Statement, []types.Datum, *source, error) {
	text, err := p.text(f, x)
	if err != nil {
		return nil, nil, nil, err
	}
	at := sourceOf(text)
	stmts, err := f.r.host.Parse(text)
	if err != nil {
		return nil, nil, nil, at.within(err)
	}
	if len(stmts) != 1 {
		return nil, nil, nil, pgerr.New(pgerr.SyntaxError, "cannot open multi-query plan as cursor")
	}
	params, ts := make([]types.Datum, len(using)), make([]*types.T, len(using))
	for i := range using {
		d, t, err := p.eval(f, &using[i])
		if err != nil {
			return nil, nil, nil, err
		}
		params[i], ts[i] = d.Clone(), t
	}
	p.nextKey++
	q := NewQuery(stmts[0], p.key+"."+itoa(p.nextKey), ts, nil)
	q.Apart = true
	return q, params, at, nil
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
	return p.into(f, s.Into, sink)
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
