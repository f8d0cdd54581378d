package scan

import (
	"errors"
	"slices"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// virtualOp reads a relation whose rows are computed.
type virtualOp struct {
	run *operator.Run
	// rows has the rows computed, all columns of each.
	rows   func(emit func(types.Row) error) error
	width  int // of those rows
	ords   []int
	filter expr.Pred
	bound  operator.RowBound
	keys   *lookupKeys   // nil: all rows, or
	ranges *lookupRanges // those with values in ranges
	store  rowcontainer.Store
	row    types.Row // scratch
	pos    int
}

// CompileVirtualScan compiles the read of a sequence or a statement.
func CompileVirtualScan(c *operator.Compiler, n *plan.VirtualScan) (operator.Operator, error) {
	v := &virtualOp{run: c.Run, width: len(n.Table.Columns), ords: n.Ords}
	v.rows = func(emit func(types.Row) error) error {
		env := v.run.Env
		switch {
		case n.Stmt != nil && env.Statements != nil:
			return env.Statements.StatementRows(v.run.Ctx, n.Stmt, emit)
		case n.Stmt == nil && env.Virtual != nil:
			return env.Virtual.VirtualRows(v.run.Ctx, &operator.VirtualRequest{Table: n.Table}, emit)
		}
		return errNotVirtual(n.Table.Name)
	}
	var err error
	v.filter, err = c.Pred(n.Filter, expr.ScopeOf(n.Cols))
	return v, err
}

func errNotVirtual(name string) error {
	return pgerr.Unsupported("virtual table \"%s\" is not available here", name)
}

// newVirtualTable compiles the read of a virtual table: of all of it, or of the rows that have
// given keys, or values in given ranges, in one of its indexes.
func newVirtualTable(c *operator.Compiler, n *plan.Scan) (operator.Operator, error) {
	v := &virtualOp{run: c.Run, width: len(n.Table.Columns), ords: n.Ords}
	req := &operator.VirtualRequest{Table: n.Table, Need: make([]bool, v.width)}
	for _, ord := range n.Ords {
		req.Need[ord] = true
	}
	var err error
	if hasRanges(n.Spans) {
		v.ranges, err = newLookupRanges(c, n)
	} else {
		v.keys, err = newLookupKeys(c, n, n.Spans)
	}
	if err != nil {
		return nil, err
	}
	v.rows = func(emit func(types.Row) error) error {
		if v.run.Env.Virtual == nil {
			return errNotVirtual(n.Table.Name)
		}
		if keys := v.keys; keys != nil {
			if err := keys.eval(); err != nil || keys.list.Len() == 0 {
				return err
			}
			req.Index, req.Keys = n.Index, keys.list.Rows
		}
		if v.ranges != nil {
			list, err := v.ranges.eval()
			if err != nil || len(list) == 0 {
				return err
			}
			req.Index, req.Ranges = n.Index, list
		}
		return v.run.Env.Virtual.VirtualRows(v.run.Ctx, req, emit)
	}
	if v.filter, err = c.Pred(n.Filter, expr.ScopeOf(n.Cols)); err != nil {
		return nil, err
	}
	if n.Spans == nil {
		if req.Tests, err = columnTests(c, n); err != nil {
			return nil, err
		}
	}
	v.bound, err = c.Bound(n.Bound)
	return v, err
}

// columnTests compiles the conditions of a scan's filter that compare one column with what is known
// before a row is read.
func columnTests(c *operator.Compiler, n *plan.Scan) ([]operator.ColumnTest, error) {
	var tests []operator.ColumnTest
	for _, cond := range plan.Conjuncts(n.Filter, nil) {
		col := comparedColumn(cond)
		if col == nil {
			continue
		}
		i := slices.IndexFunc(n.Cols, func(c plan.Column) bool { return c.ID == col.Col })
		if i < 0 {
			continue
		}
		test, err := c.Pred(cond, expr.ScopeOf(n.Cols))
		if err != nil {
			return nil, err
		}
		row := make(types.Row, len(n.Cols))
		tests = append(tests, operator.ColumnTest{Ord: n.Ords[i], Passes: func(d types.Datum) bool {
			row[i] = d
			ok, err := test(row)
			return ok || err != nil // an error is the filter's to raise, if it comes to this condition
		}})
	}
	return tests, nil
}

// comparedColumn returns the only column of a condition that compares it, as it is or cast, with
// constants and parameters; nil if the condition does something else.
func comparedColumn(cond plan.Expr) (col *plan.ColRef) {
	switch e := cond.(type) {
	case *plan.Call:
		if !e.Fn.Operator {
			return nil
		}
	case *plan.InList, *plan.AnyAll:
	default:
		return nil
	}
	plain := true
	plan.WalkExpr(cond, func(e plan.Expr) bool {
		switch e := e.(type) {
		case *plan.ColRef:
			plain = plain && (col == nil || col.Col == e.Col)
			col = e
		case *plan.Call:
			plain = plain && e == cond
		case *plan.Const, *plan.Param, *plan.Cast, *plan.InList, *plan.AnyAll, *plan.ArrayCtor:
		default:
			plain = false
		}
		return plain
	})
	if !plain || plan.Volatile(cond) {
		return nil
	}
	return col
}

// errEnough ends the computing of rows once there are as many as are wanted.
var errEnough = errors.New("enough rows")

func (v *virtualOp) Open() error {
	v.pos = 0
	v.store.Open(&v.run.State, len(v.ords))
	left, err := v.bound.Rows()
	if err != nil || left == 0 {
		return err
	}
	if v.row == nil {
		v.row = make(types.Row, len(v.ords))
	}
	err = v.rows(func(full types.Row) error {
		if len(full) != v.width {
			return pgerr.Assertion("a virtual table yielded %d columns of %d", len(full), v.width)
		}
		rowcontainer.CopySlots(v.row, full, v.ords)
		if v.filter != nil {
			if ok, err := v.filter(v.row); !ok {
				return err
			}
		}
		if _, err := v.store.Add(v.row); err != nil {
			return err
		}
		if left--; left == 0 {
			return errEnough
		}
		return v.run.Tick()
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

func (v *virtualOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	for ; v.pos < v.store.Len() && !b.Full(); v.pos++ {
		b.AddCopy(v.store.Rows[v.pos])
	}
	return nil
}

func (v *virtualOp) Close() {
	v.store.Close()
	if v.keys != nil {
		v.keys.close()
	}
	if v.ranges != nil {
		v.ranges.close()
	}
}
