package exec

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/mutation"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Program is a prepared statement compiled for one session: operators and
// closures with their buffers, used again by every execution. It belongs to one
// goroutine, and only one execution may be open at a time.
type Program struct {
	run     operator.Run
	root    *operator.Source
	mod     operator.Modifier  // root, if it writes
	out     []int              // positions of the client's columns in root's; nil: as they are
	result  rowcontainer.Batch // the client's columns, if they have to be picked
	closers []func()
	open    bool
	// held are the rows of a writing statement that the client reads in
	// portions: the statement itself runs to its end at once.
	held    rowcontainer.Store
	holding bool
	heldPos int
	stmt    *mutation.Statement
}

// Compile turns a prepared statement into a program. Statements that are not
// queries or data modification (DDL, utility, COPY, EXPLAIN) are run by the
// layers above. It fails with p's Failure.
func Compile(p *plan.Prepared) (*Program, error) {
	if err := p.Failure(); err != nil {
		return nil, err
	}
	return CompileNode(p.Root, p.Columns)
}

// CompileNode compiles a plan whose rows consist of the given columns, which
// its root produces; nil means the root's own.
func CompileNode(root plan.Node, columns []plan.Column) (*Program, error) {
	return compileProgram(root, columns, nil, nil)
}

// compileAction compiles a referential action.
func compileAction(root plan.Node, st *mutation.Statement) (func(env *operator.Env) error, error) {
	p, err := compileProgram(root, nil, nil, st)
	if err != nil {
		return nil, err
	}
	return func(env *operator.Env) error {
		_, err := p.Run(env, nil)
		return err
	}, nil
}

// compileProgram is CompileNode with a profile, if there is one; a nil st stands for a statement
// of its own.
func compileProgram(root plan.Node, columns []plan.Column, p *Profile, st *mutation.Statement) (*Program, error) {
	pr := &Program{stmt: st}
	if st == nil {
		pr.stmt = mutation.NewStatement(&pr.run, compileAction)
	}
	c := newCompiler(&pr.run, p, pr.stmt)
	src, s, err := c.Input(root)
	if err != nil {
		return nil, err
	}
	pr.root = src
	pr.mod = asModifier(src.Operator)
	pr.closers = c.Closing()
	if columns == nil {
		return pr, nil
	}
	out, err := s.Positions(plan.IDs(columns))
	if err != nil {
		return nil, err
	}
	identity := len(out) == len(s)
	for i, p := range out {
		identity = identity && i == p
	}
	if !identity {
		pr.out = out
	}
	return pr, nil
}

// Open starts an execution. The caller calls Close, also after an error.
func (p *Program) Open(env *operator.Env) error {
	must.True(!p.open, "exec: program opened twice")
	p.open, p.holding, p.heldPos = true, false, 0
	r := &p.run
	r.Bind(env.Ctx, env)
	if r.BatchRows = env.BatchRows; r.BatchRows == 0 {
		r.BatchRows = rowcontainer.BatchRows
	}
	p.stmt.Start()
	return p.root.Start()
}

// Continue says that an execution that stopped in between goes on for another statement,
// with whose context it ends.
func (p *Program) Continue(ctx context.Context) {
	p.run.Ctx = ctx
	p.run.Env.Ctx = ctx
}

// Next returns the next rows, at most max of them (0: as many as are convenient),
// and an empty batch at the end. Rows stay intact until the next call. A portal
// that stops in between simply calls Next again later.
func (p *Program) Next(max int) (*rowcontainer.Batch, error) {
	if max <= 0 {
		max = rowcontainer.BatchRows
	} else if p.mod != nil {
		return p.nextHeld(max)
	}
	return p.fetch(max)
}

func (p *Program) fetch(max int) (*rowcontainer.Batch, error) {
	_, err := p.root.Fetch(max)
	p.run.KeepBulky()
	if err == nil {
		err = p.run.Builtin.Stopped() // a comparison may have been cut short
	}
	if err != nil {
		return nil, err
	}
	in := &p.root.Batch
	if p.root.Done {
		in.Clear()
		if err := p.stmt.Finish(); err != nil {
			return nil, err
		}
	}
	if p.out == nil {
		return in, nil
	}
	p.result.Want(len(p.out), rowcontainer.BatchRows)
	for i := 0; i < in.Len(); i++ {
		rowcontainer.CopySlots(p.result.Add(), in.Row(i), p.out)
	}
	return &p.result, nil
}

// nextHeld runs a writing statement to its end, then hands out its rows.
func (p *Program) nextHeld(max int) (*rowcontainer.Batch, error) {
	if !p.holding {
		p.holding = true
		p.held.Open(&p.run.State, p.width())
		for {
			b, err := p.fetch(rowcontainer.BatchRows)
			if err != nil {
				return nil, err
			}
			if b.Len() == 0 {
				break
			}
			if err := p.held.AddBatch(b); err != nil {
				return nil, err
			}
		}
	}
	p.result.Want(p.width(), min(max, p.run.BatchRows))
	for ; p.heldPos < p.held.Len() && !p.result.Full(); p.heldPos++ {
		p.result.AddCopy(p.held.Rows[p.heldPos])
	}
	return &p.result, nil
}

func (p *Program) width() int {
	if p.out != nil {
		return len(p.out)
	}
	return p.root.Width
}

// RowsAffected returns how many rows a writing statement has written so far.
func (p *Program) RowsAffected() int64 {
	if p.mod == nil {
		return 0
	}
	return p.mod.Affected()
}

// Close ends the execution and gives back its memory.
func (p *Program) Close() {
	if !p.open {
		return
	}
	p.open = false
	p.root.Stop()
	for _, f := range p.closers {
		f()
	}
	p.held.Close()
	p.result.Release()
	r := &p.run
	p.stmt.Stop()
	r.Unbind()
}

// Reusable reports whether a program that is closed may be kept for another execution: it is
// not if it may hold large values of the last one.
func (p *Program) Reusable() bool { return !p.run.Bulky() }

// Run executes the program to its end and passes every batch of rows to sink,
// which may be nil for statements that return none.
func (p *Program) Run(env *operator.Env, sink func(*rowcontainer.Batch) error) (affected int64, err error) {
	defer p.Close()
	if err := p.Open(env); err != nil {
		return 0, err
	}
	for {
		b, err := p.Next(0)
		if err != nil {
			return 0, err
		}
		if b.Len() == 0 {
			return p.RowsAffected(), nil
		}
		if sink == nil {
			return 0, pgerr.Assertion("statement returned rows that nobody reads")
		}
		if err := sink(b); err != nil {
			return 0, err
		}
	}
}

// Width returns how many columns a row has.
func (p *Program) Width() int { return p.width() }

// Rows executes the program and returns copies of all rows: for callers that
// want few.
func (p *Program) Rows(env *operator.Env) ([]types.Row, error) {
	var out []types.Row
	var text rowcontainer.Arena
	var acc quota.Account
	_, err := p.Run(env, func(b *rowcontainer.Batch) error {
		for i := range b.Len() {
			row := slices.Clone(b.Row(i))
			for j := range row {
				var err error
				if row[j], err = text.CopyDatum(row[j], &acc); err != nil {
					return err
				}
			}
			out = append(out, row)
		}
		return nil
	})
	return out, err
}

// Writes reports whether the statement writes rows; its effects are complete
// after the first Next that is given a limit.
func (p *Program) Writes() bool { return p.mod != nil }

// Drain returns copies of the rows of first, which Next returned, and of all
// that follow: for callers that must not hand out rows before the end.
func (p *Program) Drain(first *rowcontainer.Batch) ([]types.Row, error) {
	var out []types.Row
	var text rowcontainer.Arena
	var acc quota.Account
	acc.Init(p.run.Mem)
	defer acc.Close()
	for b := first; b.Len() > 0; {
		for i := range b.Len() {
			row := slices.Clone(b.Row(i))
			for j := range row {
				var err error
				if row[j], err = text.CopyDatum(row[j], &acc); err != nil {
					return nil, err
				}
			}
			out = append(out, row)
		}
		var err error
		if b, err = p.Next(rowcontainer.BatchRows); err != nil {
			return nil, err
		}
	}
	return out, nil
}
