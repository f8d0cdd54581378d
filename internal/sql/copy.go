package sql

import (
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/copyfmt"
	"github.com/lichendb/lichen/internal/sql/copyio"
	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// runCopy executes COPY with the client at the other end.
func (x *execution) runCopy(ctx context.Context, prep *plan.Prepared, root *plan.Copy) error {
	st := root.Stmt.(*ast.Copy)
	switch {
	case st.Program:
		return pgerr.Unsupported("COPY ... PROGRAM is not supported").At(st.Pos)
	case st.Filename != "":
		return pgerr.Unsupported("COPY with a file on the server is not supported").
			WithHint("Use COPY ... STDIN or STDOUT; psql's \\copy reads and writes files of the client.").At(st.Pos)
	}
	opts, err := copyio.Options(st, root, x.ex.vals.Fast.Encoding)
	if err != nil {
		return err
	}
	if err := prep.Failure(); err != nil {
		return err
	}
	if opts.Frozen() && root.From {
		if err := x.checkFreeze(root.Table); err != nil {
			return err
		}
		x.res.Notice("NOTICE", noeffect.CopyFreeze())
	}
	if root.From {
		return x.copyFrom(ctx, root, opts)
	}
	return x.copyTo(ctx, root, opts)
}

// checkFreeze refuses COPY FREEZE of a table that others may be reading: it has to be new to the
// innermost savepoint.
func (x *execution) checkFreeze(t *catalog.Table) error {
	ex := x.ex
	var since catalog.Savepoint
	if sp, ok := ex.txn.LastSavepoint().(*savepoint); ok {
		since = sp.coll
	}
	if ex.coll.EmptiedSince(since, t) {
		return nil
	}
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
		"cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction")
}

func (x *execution) copyTo(ctx context.Context, root *plan.Copy, opts *copyfmt.Options) error {
	pr, err := exec.CompileNode(root.Input, root.Columns)
	if err != nil {
		return err
	}
	x.ex.eval.fill(ctx, &x.env, nil)
	x.copying = true
	h := x.hold()
	if err := x.res.CopyOut(len(root.Columns), opts.Binary()); err != nil {
		return err
	}
	out := copyio.NewOutput(copyfmt.NewWriter(opts, root.Columns, &x.ex.vals.Format), x.res.CopyData, x.ex.srv.cfg.Mem)
	defer out.Close()
	if err := out.Begin(opts.Binary()); err != nil {
		return err
	}
	_, err = pr.Run(&x.env, func(b *rowcontainer.Batch) error {
		for i := range b.Len() {
			x.rows++
			if err := out.Row(b.Row(i)); err != nil {
				return err
			}
			if h, err = x.holdOn(ctx, h, maxHeld); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.End(); err != nil {
		return err
	}
	if err := x.res.CopyDone(); err != nil {
		return err
	}
	return x.completeCopy(ctx, x.rows)
}

func (x *execution) copyFrom(ctx context.Context, root *plan.Copy, opts *copyfmt.Options) error {
	pr, err := exec.CompileNode(root.Input, nil)
	if err != nil {
		return err
	}
	x.ex.eval.fill(ctx, &x.env, nil)
	if x.input == nil {
		src, err := x.res.CopyIn(len(root.Columns), opts.Binary())
		if err != nil {
			return err
		}
		x.input = copyio.NewInput(src, x.ex.srv.copies)
	}
	x.input.Begin()
	r := copyfmt.NewReader(opts, root.Columns, &x.ex.vals.Format, x.input.Next)
	r.Table = root.Table.Name
	r.Limit(x.ex.srv.cfg.Mem)
	defer r.Close()
	x.env.Copy = r
	x.mayLoad(root.Input)
	n, err := pr.Run(&x.env, nil)
	if err != nil {
		return r.Locate(err)
	}
	if !x.loaded {
		x.ex.contents.Note(root.Table, n, n)
	}
	return x.completeCopy(ctx, n)
}

func (x *execution) completeCopy(ctx context.Context, n int64) error {
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	return x.answer(fmt.Sprintf("COPY %d", n))
}
