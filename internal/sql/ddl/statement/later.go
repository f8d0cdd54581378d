package statement

import "context"

// Later is what waits until all commands of a statement have changed the catalog: one rewrite of the rows, which does what
// all commands want, and then what verifies rows.
type Later struct {
	rewrite Rewrite
	verify  []func() error
}

// Rewrite writes the rows of a table anew.
type Rewrite interface {
	Build(ctx context.Context) error
}

// Verify has f run when all rows have their last form.
func (l *Later) Verify(f func() error) { l.verify = append(l.verify, f) }

// Verifies reports whether rows are to be verified.
func (l *Later) Verifies() bool { return len(l.verify) > 0 }

// Rewrite returns the rewrite that waits, nil if none does.
func (l *Later) Rewrite() Rewrite { return l.rewrite }

// SetRewrite has a rewrite wait, in place of the one that did, whose part it does as well.
func (l *Later) SetRewrite(r Rewrite) { l.rewrite = r }

// WriteRows carries out the rewrite that waits, for who is about to read rows. It does nothing if none does.
func (e *Env) WriteRows(ctx context.Context) error {
	if e.Later == nil || e.Later.rewrite == nil {
		return nil
	}
	r := e.Later.rewrite
	e.Later.rewrite = nil
	e.NextCommand()
	return r.Build(ctx)
}

// EndCommands carries out all that waits.
func (e *Env) EndCommands(ctx context.Context) error {
	if err := e.WriteRows(ctx); err != nil {
		return err
	}
	for _, verify := range e.Later.verify {
		e.NextCommand()
		if err := verify(); err != nil {
			return err
		}
	}
	return nil
}
