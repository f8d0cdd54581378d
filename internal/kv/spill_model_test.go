package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
)

// spillModel is a transaction beside what it should see.
type spillModel struct {
	t      *testing.T
	rng    *rand.Rand
	txn    *kv.Txn
	now    map[string]string // with the present statement's writes
	before map[string]string // what the present statement sees
	self   map[string]bool   // written by it
	points []modelPoint
	cursor *modelCursor
	step   int
}

type modelPoint struct {
	sp  kv.Savepoint
	now map[string]string
}

type modelCursor struct {
	snapshot kv.Snapshot
	sees     map[string]string
}

func (m *spillModel) begin() {
	m.txn.BeginStatement()
	m.before, m.self = maps.Clone(m.now), map[string]bool{}
}

func (m *spillModel) key() string { return fmt.Sprintf("%c%02d", 'a'+m.rng.IntN(4), m.rng.IntN(12)) }

func (m *spillModel) fatalf(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("step %d: "+format, append([]any{m.step}, args...)...)
}

func (m *spillModel) write() {
	k := m.key()
	res, err := m.txn.Lock(context.Background(), key(k), lock.Update, lock.WaitBlock)
	if err != nil {
		m.fatalf("lock %s: %v", k, err)
	}
	if want, ok := m.now[k]; res.Found != ok || ok && string(res.Value) != want || res.Self != m.self[k] {
		m.fatalf("lock of %s sees %q, %v, self %v; want %q, %v, %v", k, res.Value, res.Found, res.Self, want, ok, m.self[k])
	}
	if m.self[k] = true; m.rng.IntN(4) == 0 {
		err = m.txn.Delete(key(k))
		delete(m.now, k)
	} else {
		v := fmt.Sprint("v", m.step)
		err = m.txn.Put(key(k), []byte(v))
		m.now[k] = v
	}
	if err != nil {
		m.fatalf("write %s: %v", k, err)
	}
}

// ahead locks some keys that may be written next.
func (m *spillModel) ahead() {
	var keys [][]byte
	for range 1 + m.rng.IntN(20) {
		keys = append(keys, key(m.key()))
	}
	if err := m.txn.LockAhead(context.Background(), keys, lock.Update); err != nil {
		m.fatalf("lock ahead: %v", err)
	}
}

func (m *spillModel) get(sees map[string]string) {
	k := m.key()
	v, found, err := m.txn.Get(context.Background(), key(k))
	if want, ok := sees[k]; err != nil || found != ok || ok && string(v) != want {
		m.fatalf("get %s: %q, %v, %v; want %q", k, v, found, err, want)
	}
}

func (m *spillModel) scan(sees map[string]string) {
	lo, hi := m.key(), m.key()
	if hi < lo {
		lo, hi = hi, lo
	}
	reverse := m.rng.IntN(2) == 0
	var got, want []string
	start, end := key(lo), key(hi)
	var res kv.ScanResult
	for more := bytes.Compare(start, end) < 0; more; more = res.Resume != nil {
		if err := m.txn.Scan(context.Background(), start, end, kv.ScanOptions{Reverse: reverse, MaxRows: m.rng.IntN(4)}, &res); err != nil {
			m.fatalf("scan: %v", err)
		}
		for i := range res.Len() {
			got = append(got, string(res.Key(i)[len(key("")):])+"="+string(res.Value(i)))
		}
		if reverse {
			end = bytes.Clone(res.Resume)
		} else {
			start = bytes.Clone(res.Resume)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(sees)) {
		if lo <= k && k < hi {
			want = append(want, k+"="+sees[k])
		}
	}
	if reverse {
		slices.Reverse(want)
	}
	if !slices.Equal(got, want) {
		m.fatalf("scan from %s to %s, reverse %v:\n got %v\nwant %v", lo, hi, reverse, got, want)
	}
}

func (m *spillModel) rollback() {
	if len(m.points) == 0 {
		return
	}
	i := m.rng.IntN(len(m.points))
	p := m.points[i]
	if err := m.txn.RollbackTo(context.Background(), p.sp); err != nil {
		m.fatalf("rollback to savepoint: %v", err)
	}
	m.points, m.cursor, m.now = m.points[:i+1], nil, maps.Clone(p.now)
	m.begin()
}

func (m *spillModel) fetch() {
	if m.cursor == nil {
		m.cursor = &modelCursor{snapshot: m.txn.Snapshot(), sees: maps.Clone(m.before)}
		return
	}
	present := m.txn.Use(m.cursor.snapshot)
	m.scan(m.cursor.sees)
	m.get(m.cursor.sees)
	m.txn.Use(present)
}

func (m *spillModel) act() {
	m.step++
	switch m.rng.IntN(18) {
	case 16, 17:
		m.ahead()
	case 0, 1, 2:
		m.begin()
	case 3:
		m.begin()
		if len(m.points) < 6 { // more are allowed, but only so many versions of a row are kept
			m.points = append(m.points, modelPoint{sp: m.txn.Savepoint(), now: maps.Clone(m.now)})
		}
	case 4:
		m.rollback()
	case 5:
		m.fetch()
	case 6, 7:
		m.scan(m.before)
	case 8, 9:
		m.get(m.before)
	default:
		m.write()
	}
}

// A transaction whose writes are spilled over several ranges, a few at a time, sees what
// one does that has room for them: every statement, every cursor, after every rollback to
// a savepoint.
func TestSpilledHistories(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			ctx := context.Background()
			boundaries := []string{"b", "c06", "d"}
			if seed%5 == 0 {
				boundaries = nil
			}
			c := newRanges(t, fs.NewMem(), boundaries...)
			defer c.close()
			rng := rand.New(rand.NewPCG(seed, 1))
			db := c.gateway().db
			db.SetSpill(1 + int64(rng.IntN(1000)))
			m := &spillModel{t: t, rng: rng, now: map[string]string{}}
			if err := db.Run(ctx, func(_ context.Context, txn *kv.Txn) error {
				for range 10 {
					k := m.key()
					m.now[k] = "old"
					if err := txn.Put(key(k), []byte("old")); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			m.txn = db.Begin(kv.TxnOptions{Isolation: []kv.Isolation{kv.Serializable, kv.RepeatableRead, kv.ReadCommitted}[seed%3]})
			m.begin()
			old := maps.Clone(m.now)
			for range 150 {
				m.act()
			}
			if seed%4 == 0 {
				m.txn.Rollback(ctx)
				m.now = old
			} else if err := errors.Join(m.txn.SpillRest(ctx), m.txn.Commit(ctx)); err != nil {
				t.Fatal(err)
			}
			m.txn = db.Begin(kv.TxnOptions{})
			defer m.txn.Rollback(ctx)
			m.begin()
			for range 4 {
				m.scan(m.now)
			}
		})
	}
}
