package jobs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The states of jobs.
const (
	Running   = "running"
	Paused    = "paused"
	Succeeded = "succeeded"
	Failed    = "failed"
	Canceled  = "canceled"
)

// Limits of records.
const (
	// Silence is how long a job may not write its record while its node lives.
	Silence = 30 * time.Second
	// maxKept is how many jobs that have ended are kept, maxText how long the text of a statement or an error may be.
	maxKept = 1000
	maxText = 4096
)

// prefix is that of the keys of records, format the first byte of a record; JSON follows.
const (
	prefix = "sql/job/"
	format = 1
)

// Record is what is known of a job.
type Record struct {
	ID                          int64
	Statement                   string
	User, Database              string
	Node                        kvpb.NodeID
	State                       string
	Rows                        int64  // read so far, those that changed meanwhile included
	Error                       string `json:",omitempty"`
	Created, Finished, Modified int64  // wall times in nanoseconds; Finished is 0 before the end
	// Wish is the state that somebody wants the job to be in, "" if nobody does.
	Wish string `json:",omitempty"`
}

// Ended reports whether the job has ended.
func (r *Record) Ended() bool { return r.State != Running && r.State != Paused }

// settled is the record at a time: jobs whose node has died have failed.
func (r Record) settled(now int64) Record {
	if !r.Ended() && now-r.Modified > int64(Silence) {
		r.State, r.Finished = Failed, r.Modified
		r.Error = "node " + strconv.FormatInt(int64(r.Node), 10) + " has stopped, and what the statement had done was undone"
	}
	return r
}

// Store has the records of a cluster.
type Store struct{ DB *kv.DB }

func (s *Store) now() int64 { return s.DB.Clock().Now().WallTime }

func key(id int64) []byte { return binary.BigEndian.AppendUint64(keys.SystemKey(prefix), uint64(id)) }

func encode(r *Record) ([]byte, error) {
	b, err := json.Marshal(r)
	return append([]byte{format}, b...), err
}

func decode(b []byte) (r Record, err error) {
	if len(b) == 0 || b[0] != format {
		return r, pgerr.New(pgerr.DataCorrupted, "the record of a job has an unknown format")
	}
	if err := json.Unmarshal(b[1:], &r); err != nil {
		return r, pgerr.New(pgerr.DataCorrupted, "damaged record of a job: %v", err)
	}
	return r, nil
}

// List returns all jobs, the oldest first.
func (s *Store) List(ctx context.Context) (list []Record, err error) {
	err = s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		list, err = s.list(ctx, t)
		return err
	})
	return list, err
}

func (s *Store) list(ctx context.Context, t *kv.Txn) (list []Record, err error) {
	start := keys.SystemKey(prefix)
	end := keys.PrefixEnd(start)
	now := s.now()
	var page kvpb.ScanResponse
	for start != nil {
		page.Reset()
		if err := t.Scan(ctx, start, end, kv.ScanOptions{}, &page); err != nil {
			return nil, err
		}
		for i := range page.Len() {
			r, err := decode(page.Value(i))
			if err != nil {
				return nil, err
			}
			list = append(list, r.settled(now))
		}
		start = slices.Clone(page.Resume)
	}
	return list, nil
}

// add writes a new record, and drops the oldest if there are many.
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
		b, err := encode(r)
		if err != nil {
			return err
		}
		return t.Put(key(r.ID), b)
	})
}

// prune deletes the oldest of the jobs that have ended, beyond maxKept.
func (s *Store) prune(t *kv.Txn, list []Record) error {
	list = slices.DeleteFunc(slices.Clone(list), func(r Record) bool { return !r.Ended() })
	for _, r := range list[:max(len(list)-maxKept+1, 0)] {
		if err := t.Delete(key(r.ID)); err != nil {
			return err
		}
	}
	return nil
}

// change has f change a record; found is false if there is none.
func (s *Store) change(ctx context.Context, id int64, f func(*Record) error) (found bool, err error) {
	err = s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		res, err := t.Lock(ctx, key(id), lock.Update, lock.WaitBlock)
		if found = res.Found; err != nil || !found {
			return err
		}
		r, err := decode(res.Value)
		if err != nil {
			return err
		}
		if err := f(&r); err != nil {
			return err
		}
		b, err := encode(&r)
		if err != nil {
			return err
		}
		return t.Put(key(id), b)
	})
	return found, err
}

// Wish asks a job to go to a state: Paused, Running or Canceled. may returns an error unless the user may ask that of the
// job. It does not wait until the job does so.
func (s *Store) Wish(ctx context.Context, id int64, state string, may func(*Record) error) (found bool, err error) {
	verbs := map[string]string{Paused: "paused", Running: "resumed", Canceled: "canceled"}
	return s.change(ctx, id, func(r *Record) error {
		if err := may(r); err != nil {
			return err
		}
		now := r.settled(s.now())
		if now.Ended() {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "job with state %s cannot be %s", now.State, verbs[state]).
				WithDetail("Job %d has ended.", id)
		}
		r.Wish = state
		return nil
	})
}
