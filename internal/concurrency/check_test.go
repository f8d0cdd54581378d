package concurrency

import (
	"bytes"
	"fmt"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/lock"
)

// checkTable checks invariants 2 to 4 of a table that nobody else uses.
func checkTable(t *LockTable) error {
	total := 0
	shards := t.shards.Load()
	if shards == nil {
		shards = new(lockShardList)
	}
	for i := range shards {
		sh := shards[i].Load()
		if sh == nil {
			continue
		}
		n := 0
		for _, l := range sh.buckets {
			for ; l != nil; l = l.next {
				n++
				count, err := checkLock(l)
				if err != nil {
					return fmt.Errorf("key %q: %w", l.key, err)
				}
				total += count
			}
		}
		if n != sh.n {
			return fmt.Errorf("shard %d: %d locks, counter says %d", i, n, sh.n)
		}
	}
	for _, r := range t.runs {
		live, err := checkRun(t, r)
		if err != nil {
			return fmt.Errorf("run of %v: %w", r.id, err)
		}
		total += live
	}
	if total != t.Len() {
		return fmt.Errorf("%d locks, counter says %d", total, t.Len())
	}
	return nil
}

func checkLock(l *keyLock) (count int, err error) {
	if len(l.holders) == 0 {
		return 0, fmt.Errorf("in the table without holders")
	}
	for i, a := range l.holders {
		for _, b := range l.holders[:i] {
			if a.id == b.id || a.s.Conflicts(b.s) {
				return 0, fmt.Errorf("held by %v %v and %v %v", a.id, a.s, b.id, b.s)
			}
		}
	}
	var waiting [lock.NumStrengths]int32
	upgrades := true
	var prev, lastUp *Waiter
	for w := l.head; w != nil; w = w.next {
		count++
		waiting[w.strength]++
		if w.prev != prev || w.lock != l || w.state != waiterQueued {
			return 0, fmt.Errorf("queue is damaged at %v", w.holder.ID)
		}
		if w.upgrade && !upgrades {
			return 0, fmt.Errorf("upgrade by %v behind other waiters", w.holder.ID)
		}
		if upgrades = w.upgrade; upgrades {
			lastUp = w
		}
		if len(w.Blockers()) == 0 {
			return 0, fmt.Errorf("%v waits for nobody", w.holder.ID)
		}
		prev = w
	}
	if prev != l.tail || lastUp != l.lastUp || waiting != l.waiting {
		return 0, fmt.Errorf("queue ends or counters are wrong")
	}
	return count + len(l.holders), nil
}

// checkRun checks that the keys of a run ascend, and that nothing else has them.
func checkRun(t *LockTable, r *lockRun) (live int, err error) {
	for i := range r.len() {
		if i > 0 && bytes.Compare(r.key(i-1), r.key(i)) >= 0 {
			return 0, fmt.Errorf("%q is not above %q", r.key(i), r.key(i-1))
		}
		if !r.has(i) {
			continue
		}
		live++
		hash := keys.Hash(t.seed, r.key(i))
		if t.shard(hash).find(hash, r.key(i)) != nil {
			return 0, fmt.Errorf("%q is in the hash table too", r.key(i))
		}
		for _, o := range t.runs {
			if o != r && o.find(r.key(i)) >= 0 {
				return 0, fmt.Errorf("%q is in the run of %v too", r.key(i), o.id)
			}
		}
	}
	if int64(live) != r.live.Load() {
		return 0, fmt.Errorf("%d keys, counter says %d", live, r.live.Load())
	}
	return live, nil
}
