package deparse

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Env is what printing depends on.
type Env struct {
	Planner *planner.Env
	// TypeName returns a type with the name by which the search path finds it.
	TypeName func(*types.T) *types.T
	// FuncName is how it finds a function of a user-defined type.
	FuncName func(schema, name string) string
	// CollationName is how it finds a collation.
	CollationName func(*types.Collation) string
	// RelationName is how the search path finds a relation, FullName how any finds it.
	RelationName, FullName func(*catalog.Table) string
	// Format is for constants.
	Format *types.FormatContext
}

// Layout says how much is left out and where lines break.
type Layout struct {
	// Pretty leaves out parentheses that are not needed.
	Pretty bool
	// Wrap is the width of lines of targets and of FROM items; 0 puts each on a line
	// of its own.
	Wrap int
}

// deparser prints one text.
type deparser struct {
	ctx    context.Context
	env    *Env
	layout Layout
	notes  *planner.Notes
	names  *namespace
	// columns are the names of the columns of relations, once they were asked for, and using
	// those of the columns that joins merge.
	columns map[*planner.Relation][]ast.Name
	using   map[*ast.Join][]ast.Name
	// bare are relations whose columns are printed without their name.
	bare bool
	// top is a query of one relation, whose columns are printed without its name there; nil for none.
	top *namespace
	// windows are those that the innermost query defines.
	windows []*ast.WindowSpec
	buf     []byte
	indent  int
	err     error
}

// Query prints the query of a view with the given columns.
func (e *Env) Query(ctx context.Context, v *catalog.View, cols []ast.Name, l Layout) (string, error) {
	st, err := parser.ParseStored(v.Query)
	if err != nil {
		return "", err
	}
	q, ok := st.AST.(*ast.Select)
	if !ok {
		return "", pgerr.New(pgerr.DataCorrupted, "a view's query is no query")
	}
	env := *e.Planner
	env.Notes, env.View = planner.NewNotes(), v
	p, err := planner.Plan(ctx, q, &env)
	if err != nil {
		return "", err
	}
	d := &deparser{ctx: ctx, env: e, layout: l, notes: env.Notes}
	d.names = &namespace{taken: map[string]bool{"old": true, "new": true}} // those of PostgreSQL's rule
	d.query(q, cols, true, nil)
	if d.err != nil {
		return "", d.err
	}
	out := string(d.buf)
	return out, e.readsBack(ctx, out, p.Columns)
}

// Condition prints what the query of v, which is stored for that, selects from its relation.
func (e *Env) Condition(ctx context.Context, v *catalog.View) (string, error) {
	st, err := parser.ParseStored(v.Query)
	if err != nil {
		return "", err
	}
	q, ok := st.AST.(*ast.Select)
	if !ok || len(q.Items) != 1 {
		return "", pgerr.New(pgerr.DataCorrupted, "a condition's query selects more")
	}
	env := *e.Planner
	env.Notes, env.View = planner.NewNotes(), v
	if _, err := planner.Plan(ctx, q, &env); err != nil {
		return "", err
	}
	d := &deparser{ctx: ctx, env: e, notes: env.Notes}
	d.enter(q)
	d.top = d.names
	d.expr(d.settle(d.resolve(q.Items[0].X)), false)
	return string(d.buf), d.err
}

// readsBack checks that a printed query is one, of columns of the same types.
func (e *Env) readsBack(ctx context.Context, text string, cols []plan.Column) error {
	st, err := parser.ParseStored(text)
	if err != nil {
		return err
	}
	p, err := planner.Plan(ctx, st.AST, e.Planner)
	if err != nil {
		return err
	}
	same := func(a, b plan.Column) bool { return a.Type.Shown().Oid == b.Type.Shown().Oid }
	if !slices.EqualFunc(p.Columns, cols, same) {
		return pgerr.Unsupported("the printed query yields other columns")
	}
	return nil
}

// Expr prints an expression over the columns of t, if it is not nil, or over a VALUE of
// type value. want, if not nil, is the type that it is converted to where it is used.
func (e *Env) Expr(ctx context.Context, text string, t *catalog.Table, value, want *types.T, l Layout) (string, error) {
	d, n, err := e.resolve(ctx, text, t, value, want, l)
	if err != nil {
		return "", err
	}
	d.expr(n, false)
	if d.err != nil {
		return "", d.err
	}
	out := string(d.buf)
	_, _, err = e.annotate(ctx, out, t, value)
	return out, err
}

// annotate plans an expression for its notes.
func (e *Env) annotate(ctx context.Context, text string, t *catalog.Table, value *types.T) (ast.Expr, *deparser, error) {
	x, err := parser.ParseExpr(text)
	if err != nil {
		return nil, nil, err
	}
	notes, rel, err := planner.Annotate(ctx, e.Planner, x, t, value, nil)
	if err != nil {
		return nil, nil, err
	}
	d := &deparser{ctx: ctx, env: e, notes: notes, names: &namespace{}, bare: true}
	if rel != nil {
		d.names.add(rel, rel.Alias)
	}
	return x, d, nil
}

// TriggerExpr prints the condition of a trigger on t.
func (e *Env) TriggerExpr(ctx context.Context, text string, t *catalog.Table, l Layout) (string, error) {
	x, err := parser.ParseExpr(text)
	if err != nil {
		return "", err
	}
	c, err := planner.PlanTriggerCondition(ctx, e.Planner, x, t)
	if err != nil {
		return "", err
	}
	d := &deparser{ctx: ctx, env: e, notes: c.Notes, names: &namespace{}, layout: l, indent: indentStep}
	for _, rel := range c.Relations {
		d.names.add(rel, rel.Alias)
	}
	n := d.settle(d.resolve(x))
	d.expr(n, false)
	return string(d.buf), d.err
}

// Key prints an expression as the key of an index: in parentheses unless it is a call.
func (e *Env) Key(ctx context.Context, text string, t *catalog.Table, l Layout) (string, error) {
	d, n, err := e.resolve(ctx, text, t, nil, nil, l)
	if err != nil {
		return "", err
	}
	d.expr(n, false)
	if n.looksLikeCall() {
		return string(d.buf), d.err
	}
	return "(" + string(d.buf) + ")", d.err
}

func (e *Env) resolve(ctx context.Context, text string, t *catalog.Table, value, want *types.T, l Layout) (*deparser, *node, error) {
	x, d, err := e.annotate(ctx, text, t, value)
	if err != nil {
		return nil, nil, err
	}
	d.layout = l
	n := d.resolve(x)
	if want != nil {
		n = d.assign(n, want)
	} else {
		n = d.settle(n)
	}
	return d, n, d.err
}

// fail remembers the first error.
func (d *deparser) fail(err error) {
	if d.err == nil && err != nil {
		d.err = err
	}
}

func (d *deparser) unsupported(what any) {
	d.fail(pgerr.Unsupported("%T is not printed", what))
}
