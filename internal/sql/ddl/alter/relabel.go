package alter

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// restatement is a change of a type that stored texts have to follow.
type restatement struct {
	u       *types.T              // what the type becomes
	reshape *types.Reshape        // of the fields of a composite type, nil if they stay
	fields  storedtext.FieldNames // of a composite type
}

// restated prints a constant of a type that is made of the one that changes.
func restated(e *statement.Env, x *restatement, c *plan.Const) string {
	t, d := catalog.ReplaceType(c.T, x.u), c.D
	if x.reshape != nil {
		d, _ = x.reshape.Apply(c.T, d, nil) // nothing cancels it
	}
	return storedtext.Neutral(e, t, d)
}

// relabel makes the stored texts of a database that hold values of an enum call them as the
// enum will: u is what it becomes. Texts without the label old have nothing to change.
func relabel(ctx context.Context, e *statement.Env, db catalog.ID, u *types.T, old string) error {
	if strings.ContainsAny(old, `'"\,(){} `) { // it may be quoted within a constant
		old = ""
	}
	all, err := e.TablesOf(ctx, db)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(t *catalog.Table) bool { return !storedtext.Mentions(t, old) })
	return restate(ctx, e, all, &restatement{u: u})
}

// restateFields makes the stored texts of a database follow a change of the composite type that t
// defines: its values, constants and ROW(...), get the fields that it is about to have, and the
// fields that are selected from others their new names.
func restateFields(ctx context.Context, e *statement.Env, t *catalog.Table, x *restatement) error {
	if x.reshape == nil && len(x.fields) == 0 {
		return nil
	}
	all, err := e.TablesOf(ctx, t.Database)
	if err != nil {
		return err
	}
	ofType := map[catalog.ID]bool{t.ID: true} // relations with a column of it
	for _, o := range all {
		if slices.ContainsFunc(o.Columns, func(c catalog.Column) bool { return usesType(&c, t.Oid) }) {
			ofType[o.ID] = true
		}
	}
	name := "." + ast.QuoteIdent(t.Name) // as storedtext.PinNames has left it
	all = slices.DeleteFunc(all, func(o *catalog.Table) bool {
		read := o.View != nil && slices.ContainsFunc(o.View.Uses, func(id catalog.ID) bool { return ofType[id] })
		made := ofType[o.ID] || catalog.UsesType(o.UserType, t.Oid)
		return o.ID == t.ID || !read && !made && !storedtext.Mentions(o, name) || x.reshape == nil && !x.fields.Mentioned(o)
	})
	return restate(ctx, e, all, x)
}

// restate makes the texts of objects follow the change of a type. All are read before any is
// written, as views read other views.
func restate(ctx context.Context, e *statement.Env, all []*catalog.Table, x *restatement) error {
	changed := map[catalog.ID][]string{}
	var order []catalog.ID
	for _, t := range all {
		if _, any, err := restateTexts(ctx, e, t, x); err != nil {
			return err
		} else if !any {
			continue
		}
		t, err := e.LockByID(ctx, t.ID)
		if err != nil {
			return err
		}
		if changed[t.ID], _, err = restateTexts(ctx, e, t, x); err != nil {
			return err
		}
		order = append(order, t.ID)
	}
	for _, id := range order {
		if err := putTexts(ctx, e, id, changed[id]); err != nil {
			return err
		}
	}
	return nil
}

// putTexts gives an object other texts, in the order of storedtext.EachText. The object may have got
// another form since they were read: with the copy of a domain that has other texts too.
func putTexts(ctx context.Context, e *statement.Env, id catalog.ID, texts []string) error {
	t, err := e.Coll.TableByID(ctx, id)
	if err != nil {
		return err
	}
	t = t.Clone()
	err = storedtext.EachText(t, func(string) (text string, err error) {
		text, texts = texts[0], texts[1:]
		return text, nil
	})
	if err != nil {
		return err
	}
	if t.Kind == catalog.KindType { // others hold copies of its expressions
		return RedefineType(ctx, e, t, t.UserType.Def)
	}
	return e.Coll.Put(ctx, t)
}

// restateTexts returns the texts of t as they follow the change of a type, and whether any
// does.
func restateTexts(ctx context.Context, e *statement.Env, t *catalog.Table, x *restatement) (texts []string, any bool, err error) {
	err = storedtext.EachStored(t.Clone(), func(s storedtext.Text) (string, error) {
		text, err := restateText(ctx, e, s, x)
		texts, any = append(texts, text), any || text != s.Text
		return s.Text, err
	})
	return texts, any, err
}

// restateText is a text with the constants of a type as they are after its change.
func restateText(ctx context.Context, e *statement.Env, s storedtext.Text, x *restatement) (string, error) {
	root, notes, err := understand(ctx, e, s)
	if err != nil && (x.reshape != nil || len(x.fields) > 0) { // what can't be read any more is left as it is
		return s.Text, nil
	}
	if err != nil {
		return "", err
	}
	changed := x.fields.Rename(root, notes, x.u.Oid)
	for lit, c := range notes.Literals {
		if c != nil && catalog.UsesType(c.T, x.u.Oid) {
			lit.Val, changed = restated(e, x, c), true
		}
	}
	changed = x.rows(root, s.Want, notes) || changed
	if !changed {
		return s.Text, nil
	}
	return ast.Format(root), nil
}

// rows gives ROW(...) that makes a value of the type, by a cast or because want is the type, the
// fields that the type is about to have. It reports whether there is any.
func (x *restatement) rows(root ast.Node, want *types.T, notes *planner.Notes) bool {
	found := false
	reshape := func(n ast.Expr, t *types.T) {
		row, ok := n.(*ast.Row)
		if !ok || t == nil || t.BaseType().Oid != x.u.Oid || x.reshape == nil || x.readsGone(row) {
			return
		}
		elems := make([]ast.Expr, len(x.reshape.From))
		for i, from := range x.reshape.From {
			elems[i] = &ast.NullLit{}
			if from >= 0 && from < len(row.Elems) {
				elems[i] = row.Elems[from]
			}
		}
		row.Elems, row.Explicit, found = elems, true, true
	}
	if n, ok := root.(ast.Expr); ok {
		reshape(n, want)
	}
	ast.Walk(root, func(n ast.Node) bool {
		if c, ok := n.(*ast.Cast); ok {
			reshape(c.X, notes.Casts[c])
		}
		return true
	})
	return found
}

// readsGone reports whether an element of a row that goes with its field reads a field that goes
// too: then the row depends on it, and stays for that to be found out.
func (x *restatement) readsGone(row *ast.Row) bool {
	found := false
	for i, elem := range row.Elems {
		if slices.Contains(x.reshape.From, i) {
			continue
		}
		ast.Walk(elem, func(n ast.Node) bool {
			f, ok := n.(*ast.FieldSelect)
			found = found || ok && !f.Star && !slices.ContainsFunc(x.reshape.Fields, func(d types.FieldDef) bool { return d.Name == f.Field })
			return true
		})
	}
	return found
}

// understand parses and plans a stored text.
func understand(ctx context.Context, e *statement.Env, s storedtext.Text) (ast.Node, *planner.Notes, error) {
	if s.View != nil {
		return relations.ReadView(ctx, e, s.View)
	}
	x, err := parser.ParseExpr(s.Text)
	if err != nil {
		return nil, nil, err
	}
	env := storedtext.PlannerEnv(e, e.Coll)
	env.AnyLength = true
	if s.Triggered != nil {
		c, err := planner.PlanTriggerCondition(ctx, env, x, s.Triggered)
		if err != nil {
			return nil, nil, err
		}
		return x, c.Notes, nil
	}
	notes, _, err := planner.Annotate(ctx, env, x, s.Table, s.Value, s.Want)
	return x, notes, err
}
