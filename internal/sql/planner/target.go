package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// target is an output column of a query.
type target struct {
	name string
	expr plan.Expr
	pos  int
	// col is the column that holds it, once projected.
	col plan.Column
	// same is the hidden entry that tells its values apart, where that is another one: sort
	// keys of a nondeterministic collation.
	same int
}

func (t *target) ref() plan.Expr {
	return &plan.ColRef{Col: t.col.ID, T: t.col.Type, Name: t.name, Pos: t.pos}
}

// targetSet is a select list: what the consumer sees, followed by hidden
// entries that ORDER BY and DISTINCT ON need.
type targetSet struct {
	targets []target
	visible int
	opts    queryOpts
	// late are the entries that are computed of the sorted rows, see postpone; lateSets says
	// that the set-returning functions are called for these rows too.
	late     []int
	lateSets bool
}

// add returns the position of an entry equal to x, adding a hidden one.
func (l *targetSet) add(x plan.Expr, pos int) int {
	for i := range l.targets {
		if plan.ExprEqual(l.targets[i].expr, x) {
			return i
		}
	}
	l.targets = append(l.targets, target{expr: x, pos: pos, name: "?column?"})
	return len(l.targets) - 1
}

// targetList plans the items of a select list or RETURNING.
func (b *builder) targetList(items []ast.SelectItem, s *scope) ([]target, error) {
	out := make([]target, 0, len(items))
	for i := range items {
		it := &items[i]
		if isStar(it.X) {
			ts, err := b.expand(it.X, s)
			if err != nil {
				return nil, err
			}
			out = append(out, ts...)
			continue
		}
		x, err := b.expr(it.X, s)
		if err != nil {
			return nil, err
		}
		name := it.Alias
		if name == "" {
			name = columnName(it.X)
			if sub, ok := x.(*plan.Subquery); ok && sub.Kind == plan.ScalarSubquery {
				name = sub.Plan.Props().Cols[0].Name // whatever a star stood for
			}
		}
		if b.explicitCollations {
			if c := collationOf(x); c.err != nil {
				return nil, c.err
			}
		}
		out = append(out, target{name: name, expr: x, pos: it.X.Position()})
	}
	if len(out) > maxTargets {
		return nil, pgerr.New(pgerr.TooManyColumns, "target lists can have at most %d entries", maxTargets)
	}
	return out, nil
}

// expandStar plans * and t.*.
func (b *builder) expandStar(e *ast.ColumnRef, s *scope) ([]target, error) {
	var out []target
	addItem := func(it *item, level *scope) {
		for i := range it.cols {
			if !it.cols[i].hidden {
				b.env.Notes.noteStar(e, &it.cols[i], len(out) == 0)
				out = append(out, target{name: it.cols[i].name, expr: b.useColumn(&it.cols[i], level, s, e.Pos), pos: e.Pos})
			}
		}
	}
	if e.Table != "" {
		f, err := b.findItem(e, s)
		if err != nil && b.env.Variables != nil {
			if out, verr := b.variableStar(e); out != nil || verr != nil {
				return out, verr
			}
		}
		if err != nil {
			return nil, err
		}
		addItem(f.it, f.level)
		return out, nil
	}
	any := false
	for _, it := range s.items {
		if it.colsVisible {
			any = true
			addItem(it, s)
		}
	}
	if !any {
		return nil, pgerr.New(pgerr.SyntaxError, "SELECT * with no tables specified is not valid").At(e.Pos)
	}
	return out, nil
}

// expandRecord plans (x).* for a record whose fields are known.
func (b *builder) expandRecord(e *ast.FieldSelect, s *scope) ([]target, error) {
	x, err := b.expr(e.X, s)
	if err != nil {
		return nil, err
	}
	fields := b.fieldsOf(x)
	if fields == nil {
		return nil, pgerr.New(pgerr.WrongObjectType, "type %s is not composite", x.Type().Shown().SQLName)
	}
	b.env.Notes.noteFields(e, fields)
	var out []target
	for i, f := range fields {
		var v plan.Expr = &plan.FieldSelect{Arg: x, Field: i, Name: f.name, T: f.typ}
		if row, ok := x.(*plan.RowCtor); ok {
			v = row.Fields[i]
		}
		out = append(out, target{name: f.name, expr: v, pos: e.X.Position()})
	}
	return out, nil
}

// finishTargets settles entries of unknown type as text, unless the consumer
// coerces them.
func (b *builder) finishTargets(l *targetSet) error {
	for i := range l.targets {
		t := &l.targets[i]
		if l.opts.keepUnknown && i < l.visible {
			continue
		}
		var err error
		if t.expr, err = b.coerceText(t.expr, t.pos); err != nil {
			return err
		}
	}
	return nil
}

// postpone settles what is computed of the sorted rows: entries that nothing sorts by, if
// they are volatile or use a set-returning function. The values of volatile ones then follow
// the order of the result, no row that LIMIT drops has any, and DISTINCT ON keeps all rows
// that the functions make of a row it keeps. If rows are sorted by the result of one such
// function, all are called before: they make their rows together.
func (l *targetSet) postpone(q *ast.Select, sets []plan.SetFunc, keys []sortKey, distinct []int) {
	if len(keys) == 0 || q.Distinct && len(q.DistinctOn) == 0 || plant.On(plant.VolatileEarly) {
		return
	}
	l.lateSets = len(sets) > 0
	for i := range l.targets {
		if l.lateSets && l.sorts(i, keys, distinct) && usesSets(l.targets[i].expr, sets) {
			l.lateSets = false
		}
	}
	for i := range l.targets {
		x := l.targets[i].expr
		if (plan.Volatile(x) || l.lateSets && usesSets(x, sets)) && !l.sorts(i, keys, distinct) {
			l.late = append(l.late, i)
		}
	}
}

// sorts reports whether rows are sorted or told apart by entry i.
func (l *targetSet) sorts(i int, keys []sortKey, distinct []int) bool {
	key := func(k sortKey) bool { return k.target == i || k.by == i }
	same := func(t target) bool { return t.same == i && i > 0 }
	return slices.ContainsFunc(keys, key) || slices.Contains(distinct, i) || slices.ContainsFunc(l.targets, same)
}

// usesSets reports whether x uses a result of one of sets.
func usesSets(x plan.Expr, sets []plan.SetFunc) bool {
	found := false
	plan.Refs(x, func(id plan.ColID) {
		for i := range sets {
			found = found || plan.FindCol(sets[i].Out, id) >= 0
		}
	})
	return found
}

// project computes the targets over n, but the late ones, and fills in their columns. What
// those need it passes on, and what sets need if they are called late.
func (b *builder) project(n plan.Node, l *targetSet, sets []plan.SetFunc) plan.Node {
	p := &plan.Project{Input: n}
	p.Cols = make([]plan.Column, 0, len(l.targets))
	p.Exprs = make([]plan.Expr, 0, len(l.targets))
	for i := range l.targets {
		if !slices.Contains(l.late, i) {
			b.projectTarget(p, &l.targets[i])
		}
	}
	for _, i := range l.late {
		passRefs(p, l.targets[i].expr)
	}
	for i := 0; l.lateSets && i < len(sets); i++ {
		for _, x := range sets[i].Call.Args {
			passRefs(p, x)
		}
	}
	return p
}

// passRefs passes on the columns of p's input that x uses.
func passRefs(p *plan.Project, x plan.Expr) {
	in := p.Input.Props().Cols
	plan.Refs(x, func(id plan.ColID) {
		if j := plan.FindCol(in, id); j >= 0 && plan.FindCol(p.Cols, id) < 0 {
			p.Cols, p.Exprs = append(p.Cols, in[j]), append(p.Exprs, plan.Ref(in[j]))
		}
	})
}

// projectLate computes the late targets over n.
func (b *builder) projectLate(n plan.Node, l *targetSet, sets []plan.SetFunc) plan.Node {
	if l.lateSets {
		n = projectSets(n, sets)
	}
	if len(l.late) == 0 {
		return n
	}
	p := passing(n)
	p.Order = n.Props().Order
	for _, i := range l.late {
		b.projectTarget(p, &l.targets[i])
	}
	return p
}

// projectTarget adds t to p, unless p has its column.
func (b *builder) projectTarget(p *plan.Project, t *target) {
	in := p.Input.Props().Cols
	t.col = plan.Column{Name: t.name, Type: outType(t.expr)}
	if r, ok := t.expr.(*plan.ColRef); ok {
		if j := plan.FindCol(in, r.Col); j >= 0 {
			t.col.ID, t.col.TableOid, t.col.Attnum, t.col.NotNull = r.Col, in[j].TableOid, in[j].Attnum, in[j].NotNull
		}
	}
	if t.col.ID == 0 {
		t.col.ID = b.newCol()
		b.noteRecord(t.col.ID, t.expr)
	}
	if plan.FindCol(p.Cols, t.col.ID) < 0 {
		p.Cols = append(p.Cols, t.col)
		p.Exprs = append(p.Exprs, t.expr)
	}
}

// ColumnName is the name PostgreSQL gives an output column without alias.
func ColumnName(e ast.Expr) string { return columnName(e) }

func columnName(e ast.Expr) string {
	name, _ := figureName(e)
	if name == "" {
		return "?column?"
	}
	return name
}

// IndexColumnName is the name PostgreSQL gives the column of an index on an expression.
func IndexColumnName(e ast.Expr) string {
	if name, _ := figureName(e); name != "" {
		return name
	}
	return "expr"
}

// figureName returns a name and how good it is: 2 for a real name, 1 for that
// of a type, 0 for none.
func figureName(e ast.Expr) (string, int) {
	switch e := e.(type) {
	case *ast.ColumnRef:
		if e.Column != "" {
			return e.Column, 2
		}
		if e.Star && e.Table != "" {
			return e.Table, 2
		}
	case *ast.FuncCall:
		return callName(e), 2
	case *ast.Cast:
		if name, strength := figureName(e.X); strength > 1 {
			return name, strength
		}
		return typeColumnName(e.Type), 1
	case *ast.Collate:
		return figureName(e.X)
	case *ast.FieldSelect:
		return e.Field, 2
	case *ast.Subscript:
		return figureName(e.X)
	case *ast.Case:
		if e.Else != nil {
			if name, strength := figureName(e.Else); strength > 1 {
				return name, strength
			}
		}
		return "case", 1
	case *ast.Coalesce:
		return "coalesce", 2
	case *ast.NullIf:
		return "nullif", 2
	case *ast.MinMax:
		if e.Least {
			return "least", 2
		}
		return "greatest", 2
	case *ast.ArrayExpr:
		return "array", 2
	case *ast.Row:
		return "row", 2
	case *ast.Grouping:
		return "grouping", 2
	case *ast.SQLValue:
		return sqlValueName(e.Kind), 2
	case *ast.Subquery:
		return subqueryName(e)
	}
	return "", 0
}

// callName undoes the renaming of functions with a grammar of their own where
// PostgreSQL shows another name.
func callName(e *ast.FuncCall) string {
	if e.Syntax == ast.SyntaxSubstringSimilar {
		return "substring"
	}
	return e.Name.Name
}

func typeColumnName(t *ast.TypeName) string {
	name := t.Names[len(t.Names)-1]
	if rt, err := ResolveType(&ast.TypeName{Names: t.Names}, 4); err == nil {
		name = rt.Name
	}
	return name
}

var sqlNames = [...]string{
	ast.CurrentDate: "current_date", ast.CurrentTime: "current_time", ast.CurrentTimestamp: "current_timestamp",
	ast.LocalTime: "localtime", ast.LocalTimestamp: "localtimestamp", ast.CurrentRole: "current_role",
	ast.CurrentUser: "current_user", ast.User: "user", ast.SessionUser: "session_user",
	ast.CurrentCatalog: "current_catalog", ast.CurrentSchema: "current_schema",
}

func sqlValueName(k ast.SQLValueKind) string { return sqlNames[k] }

func subqueryName(e *ast.Subquery) (string, int) {
	switch e.Kind {
	case ast.SubqueryExists:
		return "exists", 2
	case ast.SubqueryArray:
		return "array", 2
	}
	q := e.Query
	for q.Op != ast.SetNone {
		q = q.L
	}
	if len(q.Values) > 0 {
		return "column1", 2
	}
	if len(q.Items) == 1 {
		if q.Items[0].Alias != "" {
			return q.Items[0].Alias, 2
		}
		return columnName(q.Items[0].X), 2
	}
	return "", 0
}

// columnsOf converts targets to the columns of a relation, under other names if
// given.
func columnsOf(ts []target, names []ast.Name) []plan.Column {
	out := make([]plan.Column, len(ts))
	for i := range ts {
		out[i] = ts[i].col
		if i < len(names) {
			out[i].Name = names[i]
		}
	}
	return out
}
