package vecexpr

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// pattern is an operator between strings and one pattern for all of them: LIKE as string searches.
type pattern struct {
	state *expr.State
	left  Expr
	text  types.Datum // the pattern
	test  call.StringTest
	row   expr.BinaryFunc // the operator for strings whose tests count steps
	nulls [vector.BatchRows]uint16
}

// testOf returns a call as a test of its first argument, nil if it is not one.
func testOf(e *plan.Call) call.StringTest {
	if e.Fn.Test == nil || len(e.Args) != 2 || e.VariadicArray {
		return nil
	}
	k, ok := e.Args[1].(*plan.Const)
	if !ok || k.D.IsNull() {
		return nil
	}
	return e.Fn.Test(k.D.Str())
}

// pattern compiles an operator that is a test of strings; it returns nil for any other call.
func (c Compiler) pattern(e *plan.Call) (Pred, error) {
	test := testOf(e)
	if test == nil {
		return nil, nil
	}
	p := &pattern{state: c.Rows.State(), test: test, text: e.Args[1].(*plan.Const).D}
	var err error
	if p.left, err = c.Expr(e.Args[0]); err != nil {
		return nil, err
	}
	p.row, err = c.Rows.Binary(e.Fn, e.Args[0].Type(), e.Args[1].Type())
	return p, err
}

// Select implements Pred.
func (p *pattern) Select(f *Frame, sel, out vector.Selection) vector.Selection {
	part := f.Only(sel)
	v := p.left.Eval(&part)
	f.Join(&part)
	most := call.WeightyBytes - len(p.text.Str()) - 1
	for _, i := range present(v, part.Sel, p.nulls[:]) {
		if s := v.Strings[i]; len(s) <= most {
			if p.test(p.state.Builtin, s) {
				out = append(out, i)
			}
			continue
		}
		d, err := p.row(v.Datum(i), p.text)
		if err != nil {
			f.Fail(i, err)
			break
		}
		if d.IsTrue() {
			out = append(out, i)
		}
	}
	return out
}
