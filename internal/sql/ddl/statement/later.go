package statement

import "context"

// Later collects the work on rows that waits until all commands of a statement have changed the catalog: one rewrite that
// serves all commands, then the checks of the rewritten rows.
type Later struct {
	rewrite Rewrite
	verify  []func() error
}

// Rewrite writes the rows of a table anew.
type Rewrite interface {
	Build(ctx context.Context) error
}

// Verify adds a check that runs once all rows have their final form.
func (l *Later) Verify(f func() error) { l.verify = append(l.verify, f) }

// Verifies reports whether any check of rows waits.
func (l *Later) Verifies() bool { return len(l.verify) > 0 }

// Rewrite returns the waiting rewrite, or nil.
func (l *Later) Rewrite() Rewrite { return l.rewrite }

// SetRewrite replaces the waiting rewrite by one that includes its work.
func (l *Later) SetRewrite(r Rewrite) { l.rewrite = r }

// WriteRows carries out the waiting rewrite, if any, before a caller reads rows.
func (e *Env) WriteRows(ctx context.Context) error {
	if e.Later == nil || e.Later.rewrite == nil {
		return nil
	}
	r := e.Later.rewrite
	e.Later.rewrite = nil
	e.NextCommand()
	return r.Build(ctx)
}

// EndCommands carries out all waiting work.
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
