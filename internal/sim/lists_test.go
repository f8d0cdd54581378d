package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
)

const (
	listPrefix = "\x10list"
	// activeLists is how many lists of a level are in use at a time: few, so that
	// transactions meet. After listLength appends on average others take their place.
	activeLists = 4
	listLength  = 40
	// maxListSteps and listThink are how many steps a transaction has at most, and how long
	// it thinks between two at most, mostly.
	maxListSteps = 4
	listThink    = 30 * time.Millisecond
)

// listLevels are the isolation levels, each with lists of its own.
var listLevels = [...]struct {
	check check.Level
	kv    kv.Isolation
}{
	{check.ReadCommitted, kv.ReadCommitted}, {check.Snapshot, kv.RepeatableRead}, {check.Serializable, kv.Serializable},
}

// lists appends to lists and reads them, in transactions of several steps, at all isolation
// levels: each must show what its level allows and nothing else. A list is a value; who
// appends locks it once, as UPDATE does.
type lists struct {
	appends *[len(listLevels)]atomic.Int64
	think   time.Duration // between two steps, at most
}

func newLists() lists { return lists{new([len(listLevels)]atomic.Int64), listThink} }

func (w lists) keys() keys.Span { return prefix(listPrefix) }

func (w lists) initial() map[string]string { return nil }

// cuts are where ranges begin at first: every level has lists on both sides of each.
func (w lists) cuts() []string { return []string{listPrefix + "h", listPrefix + "s"} }

func (w lists) points() (out []string) {
	for _, place := range "gps" {
		for level := range listLevels {
			out = append(out, fmt.Sprintf("%s%c%d", listPrefix, place, level))
		}
	}
	return out
}

func listKey(level int, i int64) string {
	return fmt.Sprintf("%s%c%d.%04d", listPrefix, "gps"[i%3], level, i)
}

func listKind(l check.Level) string { return check.ListTxn + " " + l.String() }

func (w lists) operate(ctx context.Context, s *simulation, client int, inc *incarnation, rng *rand.Rand) {
	level := rng.IntN(len(listLevels))
	age := w.appends[level].Load() / (activeLists * listLength)
	steps := make([]check.ListStep, 1+rng.IntN(maxListSteps))
	for i := range steps {
		steps[i].Key = listKey(level, age*activeLists+rng.Int64N(activeLists))
		if rng.IntN(2) == 0 {
			steps[i].Append = fmt.Sprint(w.appends[level].Add(1))
		}
	}
	o := kv.TxnOptions{Isolation: listLevels[level].kv}
	s.transact(ctx, client, inc, listKind(listLevels[level].check), o, func(t *kv.Txn, op *check.Op) error {
		for i, step := range steps {
			if i > 0 {
				<-time.After(time.Duration(rng.Int64N(int64(w.think))))
				t.BeginStatement()
			}
			if err := listStep(ctx, t, op, step); err != nil {
				return err
			}
		}
		return nil
	})
}

// listStep takes one step and notes it. What a SERIALIZABLE transaction reads of others, and
// what any writes, is noted for the checker of timestamps too.
func listStep(ctx context.Context, t *kv.Txn, op *check.Op, step check.ListStep) error {
	seen := check.Op{}
	read := get
	if step.Append != "" {
		read = lockKey
	}
	value, err := read(ctx, t, &seen, step.Key)
	if err != nil {
		return err
	}
	if seen.Reads[0].Absent {
		value = "" // there is none
	}
	if t.Options().Isolation == kv.Serializable && !writes(op, step.Key) {
		op.Reads = append(op.Reads, seen.Reads...)
	}
	if step.Append == "" {
		if value != "" {
			step.Read = strings.Split(value, ",")
		}
		op.Steps = append(op.Steps, step)
		return nil
	}
	if value != "" {
		value += ","
	}
	value += step.Append
	op.Steps = append(op.Steps, step)
	op.Writes = append(op.Writes, check.Access{Key: step.Key, Value: value})
	return t.Put([]byte(step.Key), []byte(value))
}

// writes reports whether an operation has written a key.
func writes(op *check.Op, key string) bool {
	for _, w := range op.Writes {
		if w.Key == key {
			return true
		}
	}
	return false
}

func (w lists) check(ops []check.Op, _, final map[string]string) error {
	var errs []error
	for level, l := range listLevels {
		mine := map[string][]string{}
		for _, place := range "gps" {
			for k, v := range final {
				if strings.HasPrefix(k, fmt.Sprintf("%s%c%d.", listPrefix, place, level)) {
					mine[k] = strings.Split(v, ",")
				}
			}
		}
		part := check.Only(ops, listKind(l.check))
		errs = append(errs,
			check.Lists{Level: l.check, Final: mine}.Check(part),
			check.MonotonicReads{}.Check(part), check.MonotonicReads{Everybody: true}.Check(part))
	}
	return errors.Join(errs...)
}
