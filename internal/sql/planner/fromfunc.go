package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// fromFuncs is what the functions of one FROM item plan to.
type fromFuncs struct {
	name string // of the first function
	sets []plan.SetFunc
	// scalars are calls that return no set: one row.
	scalars []plan.Expr
	names   []string // of the scalars
	// several functions stand side by side: a scalar is a set of one row.
	several bool
}

// funcRef plans functions in FROM.
func (b *builder) funcRef(te *ast.FuncRef, s *scope) (*fromItem, error) {
	fs := s.in(clauseFrom)
	fs.sel = nil
	if te.Ordinality && len(te.Cols) > 0 {
		return nil, pgerr.New(pgerr.SyntaxError, "WITH ORDINALITY cannot be used with a column definition list").
			WithHint("Put the column definition list inside ROWS FROM().").At(te.Cols[0].Position())
	}
	ff := fromFuncs{several: len(te.Funcs) > 1 || te.Ordinality}
	for i := range te.Funcs {
		if err := b.funcItem(te.Funcs[i].Call, &ff, fs); err != nil {
			return nil, err
		}
		decls := te.Funcs[i].Cols
		if decls == nil {
			decls = te.Cols
		}
		if err := b.defineColumns(&ff, decls, te.Funcs[i].Call.Position()); err != nil {
			return nil, err
		}
	}
	name := te.Alias.Name
	if name == "" {
		name = ff.name
	}
	f := &fromItem{}
	named := len(te.Funcs) == 1 && len(ff.sets)+len(ff.scalars) == 1 // after the alias
	single := named && !te.Ordinality
	var rowType *types.T // of the function's rows, if it has a name
	if len(ff.scalars) == 1 && ff.scalars[0].Type().Fields() != nil {
		single, named, rowType = false, false, ff.scalars[0].Type()
		f.node = b.compositeRow(te, ff.scalars[0])
	} else if len(ff.scalars) > 0 {
		f.node = b.scalarRow(&ff)
	} else {
		plain := len(ff.sets[0].Call.Fn.OutTypes) == 0 && !ff.sets[0].Spread
		single, named = single && plain, named && plain
		f.node = b.setRows(te, &ff, name)
	}
	cols := f.node.Props().Cols
	if named {
		cols[0].Name = name
		if out := onlyOutput(&ff); out != "" {
			cols[0].Name = out
		}
	}
	plan.Walk(f.node, func(n plan.Node) bool {
		plan.VisitExprs(n, func(e *plan.Expr) {
			plan.Refs(*e, func(id plan.ColID) {
				if s.owns(id) {
					f.lateral = addRef(f.lateral, id)
				}
			})
		})
		return true
	})
	it := colsItem(name, cols)
	it.scalarFunc = single || len(ff.sets) == 1 && len(ff.scalars) == 0 && len(ff.sets[0].Call.Fn.OutTypes) == 1 && !te.Ordinality
	if len(ff.sets) == 1 && ff.sets[0].Spread {
		rowType = ff.sets[0].Call.T
	}
	if rowType != nil && rowType.Oid != types.Record.Oid && !te.Ordinality {
		it.rowType = rowType
	}
	f.items = []*item{it}
	return f, renameCols(it, te.Alias.Cols)
}

// onlyOutput is the name of the only output parameter of the only function, if it has one: the column has that name whatever the
// alias is.
func onlyOutput(ff *fromFuncs) string {
	if len(ff.scalars) != 1 {
		return ""
	}
	c, ok := ff.scalars[0].(*plan.Call)
	if !ok {
		return ""
	}
	t, ok := c.Fn.Routine.(*catalog.Table)
	if !ok {
		return ""
	}
	if out := t.Routine.Outputs(); len(out) == 1 {
		return out[0].Name
	}
	return ""
}

// setRows makes the rows of set-returning functions side by side.
func (b *builder) setRows(te *ast.FuncRef, ff *fromFuncs, name string) plan.Node {
	n := &plan.ProjectSet{Input: oneRow(), Alias: name, Funcs: ff.sets}
	for i := range n.Funcs {
		n.Cols = append(n.Cols, n.Funcs[i].Out...)
	}
	if te.Ordinality {
		n.Ordinality = plan.Column{ID: b.newCol(), Name: "ordinality", Type: types.Int8, NotNull: true}
		n.Cols = append(n.Cols, n.Ordinality)
	}
	return n
}

// scalarRow makes the one row of functions that return no set.
func (b *builder) scalarRow(ff *fromFuncs) plan.Node {
	n := &plan.Project{Input: oneRow(), Exprs: ff.scalars, Called: true}
	for i, x := range ff.scalars {
		n.Cols = append(n.Cols, plan.Column{ID: b.newCol(), Name: ff.names[i], Type: outType(x)})
	}
	return n
}

// compositeRow makes the one row of a function that returns a composite value:
// its fields.
func (b *builder) compositeRow(te *ast.FuncRef, x plan.Expr) plan.Node {
	in := &plan.Project{Input: oneRow(), Exprs: []plan.Expr{x}, Called: true}
	whole := plan.Column{ID: b.newCol(), Name: te.Alias.Name, Type: outType(x)}
	in.Cols = []plan.Column{whole}
	n := &plan.Project{Input: in}
	for i, f := range x.Type().Fields() {
		n.Cols = append(n.Cols, plan.Column{ID: b.newCol(), Name: f.Name, Type: f.Type})
		n.Exprs = append(n.Exprs, &plan.FieldSelect{Arg: plan.Ref(whole), Field: i, Name: f.Name, T: f.Type})
	}
	return n
}

func errColumnList(pos int) error {
	return pgerr.New(pgerr.SyntaxError, "a column definition list is required for functions returning \"record\"").At(pos)
}

// defineColumns applies a column definition list to the function added last.
func (b *builder) defineColumns(ff *fromFuncs, decls []ast.ColumnDecl, pos int) error {
	var last *plan.SetFunc
	if n := len(ff.sets); n > 0 {
		last = &ff.sets[n-1]
	}
	if last == nil && ff.ofRecord() {
		call, _ := ff.scalars[0].(*plan.Call)
		last, ff.scalars, ff.names = &plan.SetFunc{Call: call}, nil, nil
		ff.sets = append(ff.sets, *last)
		last = &ff.sets[0]
	}
	if len(decls) == 0 {
		if last != nil && needsColumns(last.Call) {
			return errColumnList(pos)
		}
		return nil
	}
	names, ts := make([]string, len(decls)), make([]*types.T, len(decls))
	for i := range decls {
		t, err := b.typeName(decls[i].Type)
		if err != nil {
			return err
		}
		names[i], ts[i] = decls[i].Name, t
		if t.OfDomain() {
			ts[i] = t.BaseType().WithDomain(t)
		}
	}
	if last == nil {
		return pgerr.New(pgerr.SyntaxError, "a column definition list is only allowed for functions returning \"record\"").At(pos)
	}
	if !needsColumns(last.Call) && last.Call.T.Oid != types.Record.Oid {
		return pgerr.New(pgerr.SyntaxError, "a column definition list is only allowed for functions returning \"record\"").At(pos)
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return pgerr.New(pgerr.DuplicateColumn, "column name \"%s\" specified more than once", n)
		}
	}
	call := *last.Call
	if fn, ok := call.Fn.WithColumns(names, ts); ok {
		call.Fn = fn
		last.Call, last.Out = &call, b.srfColumns(&call)
		return nil
	}
	call.T = rowType(names, ts)
	*last = b.rowsOf(&call)
	return nil
}

// ofRecord reports whether the only function is one that makes a record of which a column
// definition list says what it is.
func (ff *fromFuncs) ofRecord() bool {
	if len(ff.scalars) != 1 {
		return false
	}
	c, ok := ff.scalars[0].(*plan.Call)
	return ok && c.Fn.TakesColumns() && c.T.Oid == types.Record.Oid && c.T.Def == nil
}

// needsColumns reports whether a call in FROM needs a column definition list: it returns
// records of which it does not say what they are.
func needsColumns(c *plan.Call) bool {
	return c.Fn.NeedsColumns() || len(c.Fn.OutTypes) == 0 && c.T.Oid == types.Record.Oid && c.T.Def == nil
}

// rowType returns the record type of named columns.
func rowType(names []string, ts []*types.T) *types.T {
	fields := make([]types.FieldDef, len(names))
	for i := range names {
		fields[i] = types.FieldDef{Name: names[i], Type: ts[i]}
	}
	return types.NewRowType(fields)
}

func addRef(list []plan.ColRef, id plan.ColID) []plan.ColRef {
	for i := range list {
		if list[i].Col == id {
			return list
		}
	}
	return append(list, plan.ColRef{Col: id})
}

// funcItem plans one function in FROM. unnest of several arrays is several
// functions side by side.
func (b *builder) funcItem(e ast.Expr, ff *fromFuncs, s *scope) error {
	call, ok := e.(*ast.FuncCall)
	if !ok || call.Variadic {
		return b.scalarItem(e, columnName(e), ff, s)
	}
	if call.Over != nil {
		return pgerr.New(pgerr.WindowingError, "window functions are not allowed in functions in FROM").At(call.Pos)
	}
	name, err := functionName(call)
	if err != nil && !b.userFunction(call) {
		return err
	} else if err != nil {
		name = call.Name.Name
	}
	if err := plainCall(call, name); err != nil {
		return err
	}
	if name == "unnest" && len(call.Args) > 1 {
		for _, a := range call.Args {
			one := *call
			one.Args = []ast.Expr{a}
			if err := b.funcItem(&one, ff, s); err != nil {
				return err
			}
		}
		return nil
	}
	x, err := b.plainFunction(call, name, s)
	if err != nil {
		return err
	}
	b.env.Notes.noteExpr(call, x)
	return ff.add(b, x, name, e.Position())
}

// scalarItem plans an expression in FROM that is not a plain call.
func (b *builder) scalarItem(e ast.Expr, name string, ff *fromFuncs, s *scope) error {
	x, err := b.typed(e, s)
	if err != nil {
		return err
	}
	return ff.add(b, x, name, e.Position())
}

func (ff *fromFuncs) add(b *builder, x plan.Expr, name string, pos int) error {
	if ff.name == "" {
		ff.name = name
	}
	if c, ok := x.(*plan.Call); ok && c.Fn.IsSRF() {
		ff.sets = append(ff.sets, b.rowsOf(c))
		return nil
	}
	if !ff.several {
		ff.scalars, ff.names = append(ff.scalars, x), append(ff.names, name)
		return nil
	}
	c, err := b.singleton(x, pos)
	if err != nil {
		return err
	}
	f := b.rowsOf(c)
	if !f.Spread {
		f.Out[0].Name = name
	}
	ff.sets = append(ff.sets, f)
	return nil
}

// singleton makes a set-returning call that yields x once.
func (b *builder) singleton(x plan.Expr, pos int) (*plan.Call, error) {
	t, ok := types.ArrayOf(x.Type().WithTypmod(-1))
	if !ok || x.Type().Elem != nil {
		return nil, pgerr.Unsupported("ROWS FROM with a function that returns %s and no set is not supported", x.Type().SQLName).At(pos)
	}
	elems := &plan.ArrayCtor{Elems: []plan.Expr{x}, T: t}
	y, err := b.function("unnest", []plan.Expr{elems}, []int{pos}, pos)
	if err != nil {
		return nil, err
	}
	return y.(*plan.Call), nil
}
