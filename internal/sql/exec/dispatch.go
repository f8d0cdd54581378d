package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/aggregate"
	"github.com/lichendb/lichen/internal/sql/exec/gather"
	"github.com/lichendb/lichen/internal/sql/exec/join"
	"github.com/lichendb/lichen/internal/sql/exec/mutation"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/exec/window"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// demanded compiles a node; some read their input to the end, whoever reads them.
func (c *compiler) demanded(n plan.Node) (op operator.Operator, err error) {
	switch n.(type) {
	case *plan.Sort, *plan.GroupBy, *plan.Window:
		err = c.Entirely(func() error {
			op, err = c.bare(n)
			return err
		})
		return op, err
	}
	return c.bare(n)
}

// mayStop reports whether something in n reads its input in part.
func mayStop(n plan.Node) (found bool) {
	plan.Walk(n, func(n plan.Node) bool {
		_, limit := n.(*plan.Limit)
		found = found || limit
		return !found
	})
	return found
}

// compileNode compiles a plan node to an operator, and measures it if there is a profile.
func (c *compiler) compileNode(n plan.Node) (operator.Operator, error) {
	op, err := c.demanded(n)
	if c.profile != nil && err == nil {
		op = c.profile.measure(n, op)
	}
	return op, err
}

// bare compiles a node to an operator that nothing measures.
func (c *compiler) bare(n plan.Node) (operator.Operator, error) {
	if n.Props().Vectorized {
		if op, err := c.bareVectors(n); op != nil || err != nil {
			return newRowsOfVectors(c.Run, op), err
		}
	}
	switch n := n.(type) {
	case *plan.Scan:
		return scan.Compile(c.Compiler, n)
	case *plan.IndexJoin:
		return scan.CompileIndexJoin(c.Compiler, n)
	case *plan.VirtualScan:
		return scan.CompileVirtualScan(c.Compiler, n)
	case *plan.Values:
		return c.values(n)
	case *plan.Filter:
		return c.filter(n)
	case *plan.Barrier:
		return c.bare(n.Input)
	case *plan.Gather:
		op, err := gather.Compile(c.Compiler, n)
		return newRowsOfVectors(c.Run, op), err
	case *plan.Project:
		return c.project(n)
	case *plan.Limit:
		return c.limit(n)
	case *plan.Insert:
		return mutation.CompileInsert(c.Compiler, c.stmt, n)
	case *plan.Update:
		return mutation.CompileUpdate(c.Compiler, c.stmt, n)
	case *plan.Delete:
		return mutation.CompileDelete(c.Compiler, c.stmt, n)
	default:
		return c.relational(n)
	}
}

// relational compiles the operators that combine or reorder rows.
func (c *compiler) relational(n plan.Node) (operator.Operator, error) {
	switch n := n.(type) {
	case *plan.Sort:
		return c.sort(n)
	case *plan.GroupBy:
		if n.Input.Props().Vectorized && aggregate.Vectorizable(n) {
			return aggregate.CompileVectors(c.Compiler, n)
		}
		return aggregate.Compile(c.Compiler, n)
	case *plan.Distinct:
		return c.distinct(n)
	case *plan.Join:
		return join.Compile(c.Compiler, n)
	case *plan.SetOp:
		return c.setOp(n)
	case *plan.ProjectSet:
		return c.projectSet(n)
	case *plan.Window:
		return window.Compile(c.Compiler, n)
	case *plan.With:
		return c.with(n)
	case *plan.CTEScan:
		return c.cteScan(n)
	case *plan.LockRows:
		return scan.CompileLockRows(c.Compiler, n)
	case *plan.Instead:
		return mutation.CompileInstead(c.Compiler, c.stmt, n)
	case *plan.Merge:
		return mutation.CompileMerge(c.Compiler, c.stmt, n)
	case *plan.ReferringRows:
		return mutation.CompileReferringRows(c.Compiler, c.stmt, n)
	case *plan.TransitionScan:
		return c.transitionScan(n), nil
	case *plan.CopyRows:
		return c.copyRows(n)
	}
	return nil, pgerr.Assertion("plan node %T is not executable", n)
}
