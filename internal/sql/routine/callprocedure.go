package routine

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/types"
)

// callProcedure runs CALL: the procedure may end transactions where the caller may, and its outputs go to the variables that stand
// for them.
func (p *program) callProcedure(f *frame, q *query, st *ast.Call) error {
	p.cur = f
	prep, err := f.r.host.Plan(f.ctx, q.st, f.packed())
	if err != nil {
		return q.at.within(err)
	}
	targets, err := p.outputTargets(q, st, prep.Procedure)
	if err != nil {
		return err
	}
	sink := &rowSink{}
	end := f.runs(&q.at)
	out, err := f.r.host.Call(f.c, q.st, f.packed(), f.fresh, sink, f.transactions())
	end()
	if err != nil {
		return q.at.within(err)
	}
	f.count(p, out, sink)
	if len(sink.rows) == 0 {
		return nil
	}
	for i, to := range targets {
		if err := p.putAt(f, &to, sink.rows[0][i], sink.cols[i].Type); err != nil {
			return err
		}
	}
	return nil
}

// outputTargets returns where the outputs of a procedure go, in their order.
func (p *program) outputTargets(q *query, st *ast.Call, fn *call.Overload) ([]place, error) {
	params := fn.Routine.(*catalog.Table).Routine.Params
	var list []place
	for i := range params {
		if !params[i].Output() {
			continue
		}
		to, err := p.writable(q, argumentOf(st, i, params[i].Name))
		if err != nil {
			return nil, err
		}
		if to == nil && params[i].Name != "" {
			return nil, pgerr.New(pgerr.SyntaxError, "procedure parameter \"%s\" is an output parameter but corresponding argument is not writable", params[i].Name)
		}
		if to == nil {
			return nil, pgerr.New(pgerr.SyntaxError, "procedure parameter %d is an output parameter but corresponding argument is not writable", i+1)
		}
		list = append(list, *to)
	}
	return list, nil
}

// argumentOf returns the argument of CALL for a parameter, nil if it was left out.
func argumentOf(st *ast.Call, i int, name string) ast.Expr {
	for k, a := range st.Func.Args {
		if n, ok := a.(*ast.NamedArg); ok {
			if n.Name == name {
				return n.X
			}
			continue
		}
		if k == i {
			return a
		}
	}
	return nil
}

// writable returns the variable, or the field of one, that an argument is; nil if it is something else.
func (p *program) writable(q *query, x ast.Expr) (*place, error) {
	var parts []string
	switch x := x.(type) {
	case *ast.ColumnRef:
		for _, n := range [...]ast.Name{x.Schema, x.Table, x.Column} {
			if n != "" {
				parts = append(parts, n)
			}
		}
	case *ast.Param:
		parts = []string{"$" + itoa(x.N)}
	default:
		return nil, nil
	}
	v, rest := q.names.lookup(parts)
	if v == nil || len(rest) > 1 {
		return nil, nil
	}
	if v.constant {
		return nil, pgerr.New(pgerr.ErrorInAssignment, "variable \"%s\" is declared CONSTANT", v.name)
	}
	to := &place{v: v}
	for _, field := range rest {
		to.path = append(to.path, plpgsql.Step{Field: field})
	}
	return to, nil
}

// transactions is what a procedure that the body calls may do with transactions: nothing within a block that has handlers.
func (f *frame) transactions() Transactions {
	if f.handling > 0 {
		return nil
	}
	return f.txn
}

const invalidTermination pgerr.Code = "2D000"

// strictParams tells the values of parameters for an error of INTO STRICT, as #print_strict_params asks for.
func strictParams(fc *types.FormatContext, names []string, vals []types.Datum, ts []*types.T) string {
	if len(names) == 0 {
		return ""
	}
	out := "parameters: "
	for i, n := range names {
		if i > 0 {
			out += ", "
		}
		out += n + " = " + quotedValue(fc, vals[i], ts[i])
	}
	return out
}
