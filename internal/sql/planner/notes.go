package planner

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Notes say how planning understood the nodes of a syntax tree, for printing it with
// all that was left to be understood: see Env.Notes. Of a node that is planned more
// than once, the last time counts.
type Notes struct {
	// Aggregates are the calls of aggregates that users have made, with the schemas of these.
	Aggregates map[*ast.FuncCall]ast.Name
	// Operators are the expressions with operators that users have made.
	Operators map[ast.Expr]NotedOperator
	// DeclaredCasts are the casts that CREATE CAST made and that the tree uses, by their oids.
	DeclaredCasts map[uint32]*types.CastDef
	// Types are the types of expressions, before their context converts them:
	// types.Unknown of literals.
	Types map[ast.Expr]*types.T
	// Casts are the types that casts name, domains included.
	Casts map[*ast.Cast]*types.T
	// Params are the types that arguments of calls are converted to.
	Params map[*ast.FuncCall][]*types.T
	// Gathered are the places from which on the arguments of a call make an array, that of a
	// variadic parameter.
	Gathered map[*ast.FuncCall]int
	// Literals are the values that quoted constants are read as, of types other than text;
	// nil for one that is read as several types, as in 'x' BETWEEN a AND b.
	Literals map[*ast.StrLit]*plan.Const
	// quoted are the quoted constants that constants of unknown type stand for.
	quoted map[*plan.Const]*ast.StrLit
	// Columns are what column references mean, Stars what * and t.* stand for.
	Columns map[*ast.ColumnRef]NotedColumn
	Stars   map[*ast.ColumnRef][]NotedColumn
	// FieldColumns are the columns that (t).a means of a relation t, Fields the names of
	// those that (x).* stands for.
	FieldColumns map[*ast.FieldSelect]NotedColumn
	Fields       map[*ast.FieldSelect][]ast.Name
	// Relations are the relations that items of FROM make.
	Relations map[ast.TableExpr]*Relation
	// Using are the columns that joins merge, those of NATURAL ones too, and Computes the joins
	// for which a merged column is no column of either side.
	Using    map[*ast.Join][]ast.Name
	Computes map[*ast.Join]bool
	// merged are the columns that Computes speaks of, by what computes them.
	merged map[plan.Expr]NotedColumn
	// Reads are the columns of relations that are referred to, by name, by * or by USING.
	Reads map[ColumnSource]bool
	// Keys are the tables on whose primary keys GROUP BY rests.
	Keys map[*catalog.Table]bool
}

// Relation is an item of FROM.
type Relation struct {
	Alias string // under which its columns are found; "" if none
	Table *catalog.Table
	View  *catalog.Table // the table, or the view
	// Columns are the names of its columns, under which the query finds them, and
	// Types their types.
	Columns []ast.Name
	Types   []*types.T
	Sources []ColumnSource
	Later   []bool // those that the view whose query is planned does not see
}

// Repeats reports whether several columns have the name.
func (r *Relation) Repeats(name ast.Name) bool {
	first := slices.Index(r.Columns, name)
	return first >= 0 && slices.Contains(r.Columns[first+1:], name)
}

// ColumnSource is the column of a relation in the catalog that a column is, as
// pg_attribute identifies it; zero for one that is computed.
type ColumnSource struct {
	Table  uint32
	Attnum int16
}

// NotedColumn is a column of a relation, or one that a join computes: then Relation is nil.
// Name is "" for a row as a whole.
type NotedColumn struct {
	Relation *Relation
	Join     *ast.Join
	Name     ast.Name
	At       int // its place in Relation.Columns or Notes.Using, which tells it from others of its name
	Type     *types.T
	// Shadowed says that the name of its relation means another one where a bare reference
	// to it stands.
	Shadowed bool
}

// NewNotes returns empty notes, to be filled in by planning.
func NewNotes() *Notes {
	return &Notes{
		Types: map[ast.Expr]*types.T{}, Casts: map[*ast.Cast]*types.T{}, Params: map[*ast.FuncCall][]*types.T{}, Gathered: map[*ast.FuncCall]int{},
		Literals: map[*ast.StrLit]*plan.Const{}, quoted: map[*plan.Const]*ast.StrLit{},
		Columns: map[*ast.ColumnRef]NotedColumn{}, Stars: map[*ast.ColumnRef][]NotedColumn{},
		Relations: map[ast.TableExpr]*Relation{}, Using: map[*ast.Join][]ast.Name{},
		Computes: map[*ast.Join]bool{}, merged: map[plan.Expr]NotedColumn{},
		FieldColumns: map[*ast.FieldSelect]NotedColumn{}, Fields: map[*ast.FieldSelect][]ast.Name{},
		Reads: map[ColumnSource]bool{}, Keys: map[*catalog.Table]bool{},
	}
}

// Annotate plans an expression over the columns of t, if it is not nil, or over a
// VALUE of type value, and returns its notes. want, if it is not nil, is the type of the
// column that the expression is assigned to.
func Annotate(ctx context.Context, env *Env, e ast.Expr, t *catalog.Table, value, want *types.T) (*Notes, *Relation, error) {
	noting := *env
	noting.Notes = NewNotes()
	b := &builder{ctx: ctx, env: &noting, text: e}
	s := &scope{clause: clauseGenerated}
	var rel *Relation
	if t != nil {
		it, err := b.rowItem(t, t.Name, b.freshRow(t))
		if err != nil {
			return nil, nil, err
		}
		s.items = []*item{it}
		rel = it.relation()
	}
	if value != nil {
		s.domainValue = plan.NewNull(value)
	}
	x, err := b.expr(e, s)
	if err == nil && want != nil {
		_, err = b.assign(x, &catalog.Column{Type: want}, e.Position())
	}
	return noting.Notes, rel, err
}

// CheckTransform returns an error if e, that of USING in ALTER COLUMN TYPE, is none that makes one
// value of a row of t: aggregates and functions that return sets are refused.
func CheckTransform(ctx context.Context, env *Env, e ast.Expr, t *catalog.Table) error {
	b := &builder{ctx: ctx, env: env, text: e}
	it, err := b.rowItem(t, t.Name, b.freshRow(t))
	if err == nil {
		_, err = b.expr(e, &scope{clause: clauseTransform, items: []*item{it}})
	}
	return err
}

// noteExpr notes the type of an expression.
func (n *Notes) noteExpr(e ast.Expr, x plan.Expr) {
	if n != nil {
		n.Types[e] = x.Type()
	}
}

// noteQuoted notes the constant of unknown type that stands for a quoted one.
func (n *Notes) noteQuoted(e *ast.StrLit, c *plan.Const) {
	if n != nil {
		n.quoted[c] = e
	}
}

// noteRead notes what a constant of unknown type is read as.
func (n *Notes) noteRead(c *plan.Const, read plan.Expr) {
	v, ok := read.(*plan.Const)
	lit := n.quoted[c]
	if !ok || lit == nil {
		return
	}
	if before, again := n.Literals[lit]; again && (before == nil || before.T.Oid != v.T.Oid) {
		v = nil
	}
	n.Literals[lit] = v
}

// noteCast notes the type that a cast names.
func (n *Notes) noteCast(e *ast.Cast, t *types.T) {
	if n != nil {
		n.Casts[e] = t
	}
}

// noteDeclaredCast notes a cast that CREATE CAST made; def is nil for another one.
func (n *Notes) noteDeclaredCast(def *types.CastDef) {
	if n == nil || def == nil {
		return
	}
	if n.DeclaredCasts == nil {
		n.DeclaredCasts = map[uint32]*types.CastDef{}
	}
	n.DeclaredCasts[def.Oid] = def
}

// noteAggregate notes a call of an aggregate that a user has made.
func (n *Notes) noteAggregate(e *ast.FuncCall, schema ast.Name) {
	if n == nil {
		return
	}
	if n.Aggregates == nil {
		n.Aggregates = map[*ast.FuncCall]ast.Name{}
	}
	n.Aggregates[e] = schema
}

// noteCall notes the types that the arguments of a call are converted to.
func (n *Notes) noteCall(e *ast.FuncCall, params []*types.T) {
	if n != nil {
		n.Params[e] = params
	}
}

// argTypes are the types of planned arguments, if they are to be noted.
func (n *Notes) argTypes(args []plan.Expr) []*types.T {
	if n == nil {
		return nil
	}
	ts := make([]*types.T, len(args))
	for i, x := range args {
		ts[i] = x.Type()
	}
	return ts
}

// noteFunction is noteCall for a planned call of a function with arguments of types ts.
func (n *Notes) noteFunction(e *ast.FuncCall, x plan.Expr, ts []*types.T) {
	c, ok := x.(*plan.Call)
	if n == nil || !ok || c.VariadicArray {
		return
	}
	params, _, err := c.Fn.Signature(ts)
	if err != nil {
		return
	}
	last := len(c.Fn.Args) - 1
	for i := range params {
		if c.Fn.Args[min(i, last)].Oid == types.Any.Oid {
			params[i] = types.Any
		}
	}
	n.noteCall(e, params)
	if c.Fn.Variadic && c.Fn.Args[last].Oid != types.Any.Oid {
		n.Gathered[e] = last
	}
}

// noteNamed is noteCall for a call with names of arguments.
func (n *Notes) noteNamed(e *ast.FuncCall, names []string, params []*types.T) {
	if n == nil {
		return
	}
	list := make([]*types.T, len(e.Args))
	for i, x := range e.Args {
		at := i
		if a, ok := x.(*ast.NamedArg); ok {
			at = slices.Index(names, a.Name)
		}
		list[i] = params[at]
	}
	n.noteCall(e, list)
}

// noteColumn notes what a reference to a column means.
func (n *Notes) noteColumn(e *ast.ColumnRef, c *scopeCol) {
	if n != nil {
		n.Columns[e] = n.noted(c)
		n.Reads[c.source()] = true
	}
}

// noteBare notes what a reference to a column means that stands in scope from without the
// name of its relation.
func (n *Notes) noteBare(e *ast.ColumnRef, c *scopeCol, from *scope) {
	if n == nil {
		return
	}
	n.noteColumn(e, c)
	for ; c.home != nil && from != nil; from = from.parent {
		for _, it := range from.items {
			if it.relVisible && it.alias == c.home.alias {
				col := n.Columns[e]
				col.Shadowed = it != c.home
				n.Columns[e] = col
				return
			}
		}
	}
}

// noteRow notes a reference to a whole row.
func (n *Notes) noteRow(e *ast.ColumnRef, it *item) {
	switch {
	case n == nil:
	case it.scalarFunc && len(it.cols) > 0: // a column after all
		n.noteColumn(e, &it.cols[0])
	default:
		n.Columns[e] = NotedColumn{Relation: it.relation()}
	}
}

// noteStar adds a column to those that a star stands for.
func (n *Notes) noteStar(e *ast.ColumnRef, c *scopeCol, first bool) {
	if n == nil {
		return
	}
	if first {
		n.Stars[e] = nil
	}
	n.Stars[e] = append(n.Stars[e], n.noted(c))
	n.Reads[c.source()] = true
}

// noteRelation notes the relation of an item of FROM.
func (n *Notes) noteRelation(te ast.TableExpr, f *fromItem) {
	if n == nil {
		return
	}
	j, ok := te.(*ast.Join)
	if ok && j.Alias.Name == "" {
		return // its relations are those of its sides
	}
	n.Relations[te] = f.items[0].relation()
}

// noteUsing notes the columns that a join merges.
func (n *Notes) noteUsing(te *ast.Join, names []ast.Name) {
	if n != nil {
		n.Using[te] = names
	}
}

// noteMerged notes that a join reads a column of each side and merges them, as column at of
// its result.
func (n *Notes) noteMerged(te *ast.Join, at int, l, r, merged *scopeCol) {
	if n == nil {
		return
	}
	n.Reads[l.source()], n.Reads[r.source()] = true, true
	if merged.home == nil && merged.expr != l.expr && merged.expr != r.expr {
		n.Computes[te] = true
		n.merged[merged.expr] = NotedColumn{Join: te, At: at}
	}
}

// noteField notes that a field of a row is the one at a place in it.
func (n *Notes) noteField(e *ast.FieldSelect, at int) {
	if n == nil || at < 0 {
		return
	}
	ref, ok := e.X.(*ast.ColumnRef)
	if row := n.Columns[ref]; ok && row.Relation != nil && row.Name == "" && at < len(row.Relation.Columns) {
		r := row.Relation
		n.Reads[r.Sources[at]] = true
		n.FieldColumns[e] = NotedColumn{Relation: r, Name: r.Columns[at], At: at, Type: r.Types[at]}
	}
}

// noteFields notes the fields that (x).* stands for.
func (n *Notes) noteFields(e *ast.FieldSelect, fields []field) {
	if n == nil {
		return
	}
	n.Fields[e] = nil
	for i, f := range fields {
		n.Fields[e] = append(n.Fields[e], f.name)
		n.noteField(e, i)
	}
	delete(n.FieldColumns, e)
}

// noteKey notes that GROUP BY rests on the primary key of a table.
func (n *Notes) noteKey(t *catalog.Table) {
	if n != nil {
		n.Keys[t] = true
	}
}

func (c *scopeCol) source() ColumnSource {
	return ColumnSource{Table: c.col.TableOid, Attnum: c.col.Attnum}
}

// inRow reports whether the column is part of the row of its relation.
func (c *scopeCol) inRow() bool { return !c.hidden || c.later }

// noted describes a column.
func (n *Notes) noted(c *scopeCol) NotedColumn {
	var out NotedColumn
	if c.home != nil {
		out.Relation, out.At = c.home.relation(), c.home.shownBefore(int(c.at))
	} else {
		out = n.merged[c.expr]
	}
	out.Name, out.Type = c.name, c.col.Type
	return out
}

// shownBefore counts the columns before one that * stands for.
func (it *item) shownBefore(at int) (n int) {
	for i := range at {
		if it.cols[i].inRow() {
			n++
		}
	}
	return n
}

// relation describes an item; its columns have their final names by then.
func (it *item) relation() *Relation {
	if it.rel != nil {
		return it.rel
	}
	it.rel = &Relation{Alias: it.alias, Table: it.table, View: it.view}
	if it.table != nil {
		it.rel.View = it.table
	}
	for i := range it.cols {
		c := &it.cols[i]
		if !c.inRow() {
			continue
		}
		name := c.name
		if c.later {
			name = c.col.Name
		}
		it.rel.Columns = append(it.rel.Columns, name)
		it.rel.Types = append(it.rel.Types, c.col.Type)
		it.rel.Sources = append(it.rel.Sources, c.source())
		it.rel.Later = append(it.rel.Later, c.later)
	}
	return it.rel
}
