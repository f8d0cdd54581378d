package exec

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Program is a prepared statement compiled for one session: operators and
// closures with their buffers, used again by every execution. It belongs to one
// goroutine, and only one execution may be open at a time.
type Program struct {
	run     run
	root    *source
	mod     modifier // root, if it writes
	out     []int    // positions of the client's columns in root's; nil: as they are
	result  Batch    // the client's columns, if they have to be picked
	closers []func()
	open    bool
	// held are the rows of a writing statement that the client reads in
	// portions: the statement itself runs to its end at once.
	held    rowStore
	holding bool
	heldPos int
	after   afterQueue
	settled bool // what the statement left to its end is done
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
	return compileNode(root, columns, nil)
}

func compileNode(root plan.Node, columns []plan.Column, p *Profile) (*Program, error) {
	pr := &Program{}
	c := newCompiler(&pr.run, p)
	src, s, err := c.input(root)
	if err != nil {
		return nil, err
	}
	pr.root = src
	pr.mod = asModifier(src.operator)
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
func (p *Program) Open(env *Env) error {
	must.True(!p.open, "exec: program opened twice")
	p.open, p.holding, p.heldPos, p.settled = true, false, 0, false
	r := &p.run
	r.bind(env.Ctx, env)
	if r.batchRows = env.BatchRows; r.batchRows == 0 {
		r.batchRows = BatchRows
	}
	if r.after = env.after; r.after == nil {
		p.after.reset(r)
		r.after = &p.after
	}
	return p.root.start()
}

// Continue says that an execution that stopped in between goes on for another statement,
// with whose context it ends.
func (p *Program) Continue(ctx context.Context) {
	p.run.Ctx = ctx
	p.run.env.Ctx = ctx
}

// Next returns the next rows, at most max of them (0: as many as are convenient),
// and an empty batch at the end. Rows stay intact until the next call. A portal
// that stops in between simply calls Next again later.
func (p *Program) Next(max int) (*Batch, error) {
	if max <= 0 {
		max = BatchRows
	} else if p.mod != nil {
		return p.nextHeld(max)
	}
	return p.fetch(max)
}

func (p *Program) fetch(max int) (*Batch, error) {
	_, err := p.root.fetch(max)
	p.run.KeepBulky()
	if err != nil {
		return nil, err
	}
	in := &p.root.batch
	if p.root.done {
		in.clear()
		if err := p.settle(); err != nil {
			return nil, err
		}
	}
	if p.out == nil {
		return in, nil
	}
	p.result.want(len(p.out), BatchRows)
	for i := 0; i < in.n; i++ {
		copySlots(p.result.add(), in.Row(i), p.out)
	}
	return &p.result, nil
}

// settle does what the statement left to its end. A cascade leaves it to the
// statement that it belongs to.
func (p *Program) settle() error {
	if p.settled || p.run.after != &p.after {
		return nil
	}
	p.settled = true
	return p.after.drain()
}

// nextHeld runs a writing statement to its end, then hands out its rows.
func (p *Program) nextHeld(max int) (*Batch, error) {
	if !p.holding {
		p.holding = true
		p.held.open(&p.run, p.width())
		for {
			b, err := p.fetch(BatchRows)
			if err != nil {
				return nil, err
			}
			if b.Len() == 0 {
				break
			}
			if err := p.held.addBatch(b); err != nil {
				return nil, err
			}
		}
	}
	p.result.want(p.width(), min(max, p.run.batchRows))
	for ; p.heldPos < p.held.len() && !p.result.full(); p.heldPos++ {
		p.result.addCopy(p.held.rows[p.heldPos])
	}
	return &p.result, nil
}

func (p *Program) width() int {
	if p.out != nil {
		return len(p.out)
	}
	return p.root.width
}

// RowsAffected returns how many rows a writing statement has written so far.
func (p *Program) RowsAffected() int64 {
	if p.mod == nil {
		return 0
	}
	return p.mod.affected()
}

// Close ends the execution and gives back its memory.
func (p *Program) Close() {
	if !p.open {
		return
	}
	p.open = false
	p.root.stop()
	for _, f := range p.closers {
		f()
	}
	p.held.close()
	p.result.release()
	r := &p.run
	p.after.reset(r)
	r.after = nil
	r.unbind()
}

// Reusable reports whether a program that is closed may be kept for another execution: it is
// not if it may hold large values of the last one.
func (p *Program) Reusable() bool { return !p.run.Bulky() }

// Run executes the program to its end and passes every batch of rows to sink,
// which may be nil for statements that return none.
func (p *Program) Run(env *Env, sink func(*Batch) error) (affected int64, err error) {
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
func (p *Program) Rows(env *Env) ([]types.Row, error) {
	var out []types.Row
	var text arena
	var acc quota.Account
	_, err := p.Run(env, func(b *Batch) error {
		for i := range b.Len() {
			row := slices.Clone(b.Row(i))
			for j := range row {
				var err error
				if row[j], err = text.copyDatum(row[j], &acc); err != nil {
					return err
				}
			}
			out = append(out, row)
		}
		return nil
	})
	return out, err
}
