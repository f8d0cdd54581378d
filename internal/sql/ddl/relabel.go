package ddl

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// relabel makes the stored texts of a database that hold values of an enum call them as the
// enum will: u is what it becomes. Texts without the label old have nothing to change. All are
// read before any is written, as views read other views.
func (e *Env) relabel(ctx context.Context, db catalog.ID, u *types.T, old string) error {
	all, err := e.tablesOf(ctx, db)
	if err != nil {
		return err
	}
	if strings.ContainsAny(old, `'"\,(){} `) { // it may be quoted within a constant
		old = ""
	}
	var changed []*catalog.Table
	for _, t := range all {
		if !mentions(t, old) {
			continue
		}
		if t, err = e.lockByID(ctx, t.ID); err != nil {
			return err
		}
		any := false
		err := eachStored(t, func(s storedText) (string, error) {
			text, err := e.relabeled(ctx, s, u)
			any = any || text != s.text
			return text, err
		})
		if err != nil {
			return err
		}
		if any {
			changed = append(changed, t)
		}
	}
	for _, t := range changed {
		if t.Kind == catalog.KindType { // others hold copies of its expressions
			err = e.redefineType(ctx, t, t.UserType.Def)
		} else {
			err = e.Coll.Put(ctx, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// relabeled is a text with the constants that hold values of an enum printed as u prints them.
func (e *Env) relabeled(ctx context.Context, s storedText, u *types.T) (string, error) {
	root, notes, err := e.understand(ctx, s)
	if err != nil {
		return "", err
	}
	changed := false
	for lit, c := range notes.Literals {
		if c != nil && catalog.UsesType(c.T, u.Oid) {
			lit.Val, changed = e.neutral(catalog.ReplaceType(c.T, u), c.D), true
		}
	}
	if !changed {
		return s.text, nil
	}
	return ast.Format(root), nil
}

// understand parses and plans a stored text.
func (e *Env) understand(ctx context.Context, s storedText) (ast.Node, *planner.Notes, error) {
	if s.view != nil {
		return e.readView(ctx, s.view)
	}
	x, err := parser.ParseExpr(s.text)
	if err != nil {
		return nil, nil, err
	}
	env := e.plannerEnv(e.Coll)
	env.AnyLength = true
	notes, _, err := planner.Annotate(ctx, env, x, s.table, s.value, s.want)
	return x, notes, err
}
