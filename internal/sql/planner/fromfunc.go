package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
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
}

// funcRef plans functions in FROM.
func (b *builder) funcRef(te *ast.FuncRef, s *scope) (*fromItem, error) {
	fs := s.in(clauseFrom)
	fs.sel = nil
	var ff fromFuncs
	for i := range te.Funcs {
		if len(te.Funcs[i].Cols) > 0 || len(te.Cols) > 0 {
			return nil, pgerr.Unsupported("a column definition list is not supported").At(te.Pos)
		}
		if err := b.funcItem(te.Funcs[i].Call, &ff, fs); err != nil {
			return nil, err
		}
	}
	if len(ff.sets) > 0 && len(ff.scalars) > 0 {
		return nil, pgerr.Unsupported("ROWS FROM with functions that do and do not return sets is not supported").At(te.Pos)
	}
	name := te.Alias.Name
	if name == "" {
		name = ff.name
	}
	f := &fromItem{}
	single := len(ff.sets)+len(ff.scalars) == 1 && !te.Ordinality
	if len(ff.scalars) > 0 {
		f.node = b.scalarRow(te, &ff, name)
	} else {
		single = single && len(ff.sets[0].Call.Fn.OutTypes) == 0
		f.node = b.setRows(te, &ff, name)
	}
	cols := f.node.Props().Cols
	if single { // the alias names the column too
		cols[0].Name = name
	}
	plan.VisitExprs(f.node, func(e *plan.Expr) {
		plan.Refs(*e, func(id plan.ColID) {
			if s.owns(id) {
				f.lateral = addRef(f.lateral, id)
			}
		})
	})
	it := colsItem(name, cols)
	it.scalarFunc = single
	f.items = []*item{it}
	return f, renameCols(it, te.Alias.Cols)
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
func (b *builder) scalarRow(te *ast.FuncRef, ff *fromFuncs, name string) plan.Node {
	n := &plan.Project{Input: oneRow(), Exprs: ff.scalars}
	for i, x := range ff.scalars {
		n.Cols = append(n.Cols, plan.Column{ID: b.newCol(), Name: ff.names[i], Type: x.Type()})
	}
	if te.Ordinality {
		n.Cols = append(n.Cols, plan.Column{ID: b.newCol(), Name: "ordinality", Type: types.Int8, NotNull: true})
		n.Exprs = append(n.Exprs, plan.NewConst(types.Int8, types.NewInt(1)))
	}
	return n
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
	if err != nil {
		return err
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
	args, pos, err := b.exprList(call.Args, s)
	if err != nil {
		return err
	}
	x, err := b.function(name, args, pos, call.Pos)
	if err != nil {
		return err
	}
	ff.add(b, x, name)
	return nil
}

// scalarItem plans an expression in FROM that is not a plain call.
func (b *builder) scalarItem(e ast.Expr, name string, ff *fromFuncs, s *scope) error {
	x, err := b.typed(e, s)
	if err != nil {
		return err
	}
	ff.add(b, x, name)
	return nil
}

func (ff *fromFuncs) add(b *builder, x plan.Expr, name string) {
	if ff.name == "" {
		ff.name = name
	}
	if c, ok := x.(*plan.Call); ok && c.Fn.IsSRF() {
		ff.sets = append(ff.sets, plan.SetFunc{Call: c, Out: b.srfColumns(c)})
		return
	}
	ff.scalars, ff.names = append(ff.scalars, x), append(ff.names, name)
}
