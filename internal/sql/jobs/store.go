package jobs

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Store has the records of a cluster.
type Store struct {
	DB *kv.DB
	// endWait is how long the end of a statement waits for its record to say so; 0: maxEndWait.
	endWait time.Duration
}

// ending is a context for writing the end of a statement that may have been cancelled.
func (s *Store) ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(s.endWait, maxEndWait))
}

func (s *Store) now() int64 { return s.DB.Clock().Now().WallTime }

// past is a time that no clock of the cluster has yet to reach.
func (s *Store) past() int64 { return s.now() - int64(s.DB.Clock().MaxOffset()) }

// List returns all jobs, the oldest first.
func (s *Store) List(ctx context.Context) (list []Record, err error) {
	err = s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		list, err = s.list(ctx, t)
		return err
	})
	return list, err
}

func (s *Store) list(ctx context.Context, t *kv.Txn) (list []Record, err error) {
	claimed, err := claims(ctx, t)
	if err != nil {
		return nil, err
	}
	now := s.past()
	err = kv.Each(ctx, t, keys.SystemSpan(prefix), func(k, v []byte) (bool, error) {
		r, err := decode(v)
		if err == nil {
			list = append(list, r.settled(slices.Contains(claimed, r.ID), now))
		}
		return true, err
	})
	return list, err
}

// claims returns the ids of the jobs whose claims are there.
func claims(ctx context.Context, t *kv.Txn) (ids []int64, err error) {
	err = kv.Each(ctx, t, keys.SystemSpan(claimPrefix), func(k, _ []byte) (bool, error) {
		ids = append(ids, idOf(k))
		return true, nil
	})
	return ids, err
}

// Claimed reports whether a job may make its change yet, as a transaction sees it.
func Claimed(ctx context.Context, t *kv.Txn, id int64) (bool, error) {
	_, found, err := t.Get(ctx, claimKey(id))
	return found, err
}

// add writes a new record, with its claim, and drops the oldest if there are many.
func (s *Store) add(ctx context.Context, r *Record) error {
	return s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		list, err := s.list(ctx, t)
		if err != nil {
			return err
		}
		if err := s.prune(t, list); err != nil {
			return err
		}
		for slices.ContainsFunc(list, func(o Record) bool { return o.ID == r.ID }) {
			r.ID++
		}
		r.Claims = true
		if err := putClaim(t, r); err != nil {
			return err
		}
		return put(t, r)
	})
}

// discard removes a record, and its claim, that may or may not have been written. It returns an UnsureError if that can't be told.
func (s *Store) discard(ctx context.Context, id int64, cause error) error {
	ctx, cancel := s.ending(ctx)
	defer cancel()
	err := s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		for _, k := range [][]byte{claimKey(id), key(id)} {
			if _, err := t.Lock(ctx, k, lock.Update, lock.WaitBlock); err != nil {
				return err
			}
			if err := t.Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return &UnsureError{ID: id, Cause: err}
	}
	return cause
}

func put(t *kv.Txn, r *Record) error {
	b, err := encode(r)
	if err != nil {
		return err
	}
	return t.Put(key(r.ID), b)
}

func putClaim(t *kv.Txn, r *Record) error {
	b, err := encodeClaim(claim{r.Epoch})
	if err != nil {
		return err
	}
	return t.Put(claimKey(r.ID), b)
}

// prune deletes the oldest of the jobs that have ended, beyond maxKept.
func (s *Store) prune(t *kv.Txn, list []Record) error {
	list = slices.DeleteFunc(slices.Clone(list), func(r Record) bool { return !r.Ended() })
	for _, r := range list[:max(len(list)-maxKept+1, 0)] {
		if err := t.Delete(claimKey(r.ID)); err != nil {
			return err
		}
		if err := t.Delete(key(r.ID)); err != nil {
			return err
		}
	}
	return nil
}

// change has f change a record; found is false if there is none.
func (s *Store) change(ctx context.Context, id int64, f func(context.Context, *kv.Txn, *Record) error) (found bool, err error) {
	err = s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		r, there, err := locked(ctx, t, id)
		if found = there; err != nil || !found {
			return err
		}
		if err := f(ctx, t, &r); err != nil {
			return err
		}
		return put(t, &r)
	})
	return found, err
}

// locked reads a record and locks it.
func locked(ctx context.Context, t *kv.Txn, id int64) (r Record, found bool, err error) {
	res, err := t.Lock(ctx, key(id), lock.Update, lock.WaitBlock)
	if err != nil || !res.Found {
		return r, false, err
	}
	r, err = decode(res.Value)
	return r, err == nil, err
}

// Wish asks a job to go to a state: Paused, Running or Canceled. may returns an error unless the user may ask that of the
// job. It does not wait until the job does so.
func (s *Store) Wish(ctx context.Context, id int64, state string, may func(*Record) error) (found bool, err error) {
	verbs := map[string]string{Paused: "paused", Running: "resumed", Canceled: "canceled"}
	return s.change(ctx, id, func(ctx context.Context, t *kv.Txn, r *Record) error {
		if err := may(r); err != nil {
			return err
		}
		claimed, err := Claimed(ctx, t, id)
		if err != nil {
			return err
		}
		now := r.settled(claimed, s.past())
		if now.Ended() {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "job with state %s cannot be %s", now.State, verbs[state]).
				WithDetail("Job %d has ended.", id)
		}
		r.Wish = state
		return nil
	})
}

// Unattended returns the jobs about which something is to be done, as they have no runner.
func (s *Store) Unattended(ctx context.Context) (ids []int64, err error) {
	err = s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		ids = nil
		all, err := claims(ctx, t)
		if err != nil {
			return err
		}
		now := s.past()
		for _, id := range all {
			v, found, err := t.Get(ctx, key(id))
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			r, err := decode(v)
			if err != nil {
				return err
			}
			if do, _, _ := r.next(true, now); do != Wait {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, err
}

// protectionPrefix is that of the names of what jobs protect from being collected: their ids follow.
const protectionPrefix = "job/"

func protection(id int64) string { return protectionPrefix + strconv.FormatInt(id, 10) }

// Sweep gives up what is protected for jobs that have ended.
func (s *Store) Sweep(ctx context.Context) error {
	var names []string
	err := s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		names = nil
		all, err := kv.Protections(ctx, t)
		for i := 0; err == nil && i < len(all); i++ {
			text, ofJob := strings.CutPrefix(all[i].Name, protectionPrefix)
			id, bad := strconv.ParseInt(text, 10, 64)
			if !ofJob || bad != nil {
				continue
			}
			claimed := false
			if claimed, err = Claimed(ctx, t, id); !claimed {
				names = append(names, all[i].Name)
			}
		}
		return err
	})
	for i := 0; err == nil && i < len(names); i++ {
		err = s.DB.Unprotect(ctx, names[i])
	}
	return err
}

// claimWait bounds how long Claim waits for a transaction that may be the last of a node that has died.
const claimWait = 5 * time.Second

// Claim does what is to be done about a job that has no runner. If this node is to go on with it, it returns the job. cancel
// ends its statement; lost says that another node has taken the job over.
func (s *Store) Claim(ctx context.Context, id int64, node kvpb.NodeID, cancel func(lost bool)) (*Job, error) {
	var mine *Record
	err := s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		mine, t.LockTimeout = nil, claimWait
		r, found, err := locked(ctx, t, id)
		if err != nil || !found {
			return err
		}
		res, err := t.Lock(ctx, claimKey(id), lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		do, state, reason := r.next(res.Found, s.past())
		switch do {
		case Wait:
			return nil
		case Finish:
			r.finish(state, reason, s.now())
			if err := t.Delete(claimKey(id)); err != nil {
				return err
			}
		case Park:
			r.State, r.Modified = Paused, s.now()
		case TakeOver:
			r.Epoch, r.Node, r.State, r.Modified = r.Epoch+1, node, Running, s.now()
			r.Runs, r.Until = r.Runs+1, r.Modified+int64(Validity)
			if err := putClaim(t, &r); err != nil {
				return err
			}
			mine = &r
		}
		return put(t, &r)
	})
	if err != nil || mine == nil {
		return nil, err
	}
	return s.run(ctx, mine, cancel), nil
}

// Start makes a job of a statement. Of r it takes what the statement is and who may go on with it. cancel is that of Claim.
func (s *Store) Start(ctx context.Context, r Record, cancel func(lost bool)) (*Job, error) {
	now := s.now()
	r.ID, r.Statement, r.State, r.Created, r.Modified = now/int64(time.Microsecond), clip(r.Statement), Running, now, now
	r.Epoch, r.Runs, r.Until = 1, 1, now+int64(Validity)
	if err := s.add(ctx, &r); kv.IsAmbiguous(err) && r.Again != nil {
		return nil, s.discard(ctx, r.ID, err)
	} else if err != nil {
		return nil, err
	}
	return s.run(ctx, &r, cancel), nil
}
