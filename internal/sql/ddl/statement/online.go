package statement

import (
	"context"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// Step is a part of an online change that reads the rows of tables, or writes them anew, while others go on changing
// them: it goes from snapshot to snapshot.
type Step interface {
	// Follow goes on to the present, and returns how many keys of rows may have changed.
	Follow(ctx context.Context) (changed int, err error)
	// Look finds out what is left to follow of the locked tables, and reports whether that is little. It changes nothing.
	Look(ctx context.Context) (little bool, err error)
	// Finish goes on to what the statement's transaction sees of the locked tables. What it writes it writes in that. It
	// comes after Look.
	Finish(ctx context.Context) error
	// Close gives up what the step holds. It comes last, after an error too.
	Close(ctx context.Context)
}

// online is a change of tables that others read and write meanwhile, on all gateways:
//
//	shared    the tables are found and pinned, so that nobody else alters them; the commands of the statement run, and
//	          what reads or writes all rows does so in a snapshot and becomes a Step
//	settling  the steps follow the tables from snapshot to snapshot; where little is left to follow, the tables are
//	          locked for a moment; if more has come while that waited, the locks are given up, and the steps go on
//	settled   the tables are locked, the steps finish in the statement's transaction, and from here on the statement is
//	          as any other
//
// Until it has the locks, only the statement itself sees what it writes to the catalog. Checks of objects that it has neither
// pinned nor locked run again under the locks (CheckAgain).
type online struct {
	ids       []catalog.ID // to lock
	steps     []Step
	checks    []func(context.Context) error
	rewritten bool
	settled   bool
}

// Beside lets a statement share the tables that it would lock, until Settle. It may if it is a transaction of its own,
// which commits at once, and has neither changed nor locked anything yet. The caller must call done at the end.
func (e *Env) Beside(may bool) (shared *Env, done func(context.Context)) {
	if !may || !e.Alone || e.Coll.Changed() || e.Coll.HoldsLocks() || !e.Coll.CanFreshen() {
		return e, func(context.Context) {}
	}
	run := *e
	o := &online{}
	run.online = o
	return &run, func(ctx context.Context) {
		for _, s := range o.steps {
			s.Close(context.WithoutCancel(ctx))
		}
	}
}

// Sharing reports whether others use the tables that the statement changes.
func (e *Env) Sharing() bool { return e.online != nil && !e.online.settled }

// Gently reports whether the statement must make way for others: they may use the tables that it changes, and some are
// active at present.
func (e *Env) Gently() bool { return e.Sharing() && (e.Crowded == nil || e.Crowded()) }

// CanFollow reports whether a Step may read or rewrite the rows: the statement itself has not changed them.
func (e *Env) CanFollow() bool { return e.Sharing() && !e.online.rewritten && !e.WithoutRows }

// AddStep registers a step that has read a snapshot, for Settle to finish. rewrites says that the step gives rows a new
// form, which nobody may read before.
func (e *Env) AddStep(s Step, rewrites bool) {
	e.online.steps = append(e.online.steps, s)
	e.online.rewritten = e.online.rewritten || rewrites
}

// CheckAgain runs a check of the catalog now and, if others may change what it checks, again once the tables are locked.
func (e *Env) CheckAgain(ctx context.Context, check func(context.Context) error) error {
	if e.Sharing() && !e.WithoutRows {
		e.online.checks = append(e.online.checks, check)
	}
	return check(ctx)
}

// Lock locks an object exclusively: now, or when a sharing statement settles. A statement that is a transaction of its own
// and holds no lock yet lets later statements pass while it waits.
func (e *Env) Lock(ctx context.Context, id catalog.ID) error {
	switch {
	case !e.Sharing() && e.Alone && !e.Coll.HoldsLocks():
		return e.lockPatiently(ctx, []catalog.ID{id}, func(context.Context) error { return nil })
	case !e.Sharing():
		return e.Coll.LockExclusive(ctx, id)
	}
	if err := e.Coll.QueueByID(ctx, id); err != nil {
		return err
	}
	e.toLock(id)
	return nil
}

func (e *Env) toLock(id catalog.ID) {
	for _, other := range e.online.ids {
		if other == id {
			return
		}
	}
	e.online.ids = append(e.online.ids, id)
}

const (
	// fewChanges is how many rows may be left to follow while the tables are locked, maxRounds how often the steps
	// try to get there.
	fewChanges = 256
	maxRounds  = 16
)

// Settle locks what was shared and finishes the steps. Nothing happens if nothing is shared.
func (e *Env) Settle(ctx context.Context) error {
	if !e.Sharing() {
		return nil
	}
	o := e.online
	if err := e.follow(ctx); err != nil {
		return err
	}
	if err := e.lockCaughtUp(ctx); err != nil {
		return err
	}
	o.settled = true
	e.NextCommand()
	for _, s := range o.steps {
		if err := s.Finish(ctx); err != nil {
			return err
		}
	}
	e.NextCommand()
	for _, check := range o.checks {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// lockCaughtUp locks the tables when little is left to follow, so that others wait for a moment only. What came while it
// waited for the locks is followed without them, as often as that may help.
func (e *Env) lockCaughtUp(ctx context.Context) error {
	others := e.Coll.HoldsLocks()
	for round := 1; ; round++ {
		if err := e.lockPatiently(ctx, e.online.ids, e.follow); err != nil {
			return err
		}
		if err := e.Coll.Freshen(ctx); err != nil {
			return err
		}
		little, err := e.look(ctx)
		if err != nil || little || others || round == maxRounds {
			return err
		}
		if err := e.Coll.Unlock(ctx); err != nil {
			return err
		}
		if err := e.follow(ctx); err != nil {
			return err
		}
	}
}

// look reports whether every step has only few changes left to follow.
func (e *Env) look(ctx context.Context) (bool, error) {
	for _, s := range e.online.steps {
		if little, err := s.Look(ctx); err != nil || !little {
			return false, err
		}
	}
	return true, nil
}

// follow lets all steps catch up with their tables until few changes are left.
func (e *Env) follow(ctx context.Context) error {
	for range maxRounds {
		if err := e.Tell(ctx, 0); err != nil {
			return err
		}
		most := 0
		for _, s := range e.online.steps {
			changed, err := s.Follow(ctx)
			if err != nil {
				return err
			}
			most = max(most, changed)
		}
		if most <= fewChanges {
			return nil
		}
	}
	return nil
}

// How long a statement waits for those who use the tables. Later users wait behind it meanwhile, so it lets them pass
// and tries again; where transactions overlap all the time it waits longer after some attempts. They wait for
// a fifth of the time at most.
const (
	lockDelay     = 40 * time.Millisecond
	maxLockDelay  = time.Second
	attemptsAlike = 16
	pauseRatio    = 4
	// maxDeadlocks is how many deadlocks of an attempt may be ones that the pause dissolves.
	maxDeadlocks = 5
)

// lockPatiently locks objects: it waits for their users for a moment, lets those pass that have come meanwhile, calls between,
// and tries again. It heeds lock_timeout.
func (e *Env) lockPatiently(ctx context.Context, ids []catalog.ID, between func(context.Context) error) error {
	delay, deadlocks := lockDelay, 0
	left := e.Txn.LockTimeout
	for attempt := 1; ; attempt++ {
		wait := delay
		if e.Txn.LockTimeout > 0 {
			wait = min(wait, left)
		}
		err := e.Coll.LockBriefly(ctx, ids, wait)
		busy, dead := inUse(err)
		if dead {
			deadlocks++
		}
		if !busy && !dead || deadlocks > maxDeadlocks {
			return err
		}
		if left -= wait; e.Txn.LockTimeout > 0 && left <= 0 {
			return err
		}
		if err := sleep.For(ctx, pauseRatio*wait); err != nil {
			return err
		}
		if err := between(ctx); err != nil {
			return err
		}
		if attempt%attemptsAlike == 0 {
			delay = min(2*delay, maxLockDelay)
		}
	}
}

// inUse reports whether an error of a lock says that others use the object, or that they wait for what the
// statement holds.
func inUse(err error) (busy, dead bool) {
	var b *kvpb.LockNotAvailableError
	var d *kvpb.DeadlockError
	return errors.As(err, &b) && b.Timeout, errors.As(err, &d)
}
