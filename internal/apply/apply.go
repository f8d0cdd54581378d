package apply

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// headerLen is the version, transaction id and timestamp before the operations.
const headerLen = 1 + 16 + 12

// State is how far a range's log has been applied.
type State struct{ Index, Term uint64 }

func (s State) encode(buf []byte) []byte {
	buf = append(buf, stateVersion)
	buf = binary.BigEndian.AppendUint64(buf, s.Index)
	return binary.BigEndian.AppendUint64(buf, s.Term)
}

func decodeState(p []byte) (State, error) {
	if len(p) < 17 {
		return State{}, fmt.Errorf("apply: applied state is too short (%x)", p)
	}
	if p[0] != stateVersion {
		return State{}, fmt.Errorf("apply: applied state has format version %d, this program reads %d", p[0], stateVersion)
	}
	return State{Index: binary.BigEndian.Uint64(p[1:]), Term: binary.BigEndian.Uint64(p[9:])}, nil
}

// LoadState reads a range's applied state in the state of the engine that r reads: the
// newest, or the durable one.
func LoadState(r storage.Reader, id kvpb.RangeID) (State, error) {
	p, ok, err := r.GetUnversioned(keys.RangeAppliedState(uint64(id)), nil)
	if err != nil {
		return State{}, err
	}
	if !ok {
		return State{}, fmt.Errorf("range %d: %w", id, ErrNoState)
	}
	return decodeState(p)
}

// ErrNoState says that a range has no applied state.
var ErrNoState = fmt.Errorf("apply: no applied state")

// WriteState puts a range's applied state into a batch: how a new range begins.
func WriteState(b *storage.Batch, id kvpb.RangeID, s State) error {
	return b.Set(keys.RangeAppliedState(uint64(id)), s.encode(nil))
}

// LoadThreshold reads a range's collection threshold, zero if it has none yet.
func LoadThreshold(r storage.Reader, id kvpb.RangeID) (hlc.Timestamp, error) {
	p, ok, err := r.GetUnversioned(keys.RangeGCThreshold(uint64(id)), nil)
	if err != nil || !ok {
		return hlc.Timestamp{}, err
	}
	ts, ok := timestamp(p)
	if !ok {
		return ts, fmt.Errorf("range %d: collection threshold: %w", id, ErrDamaged)
	}
	return ts, nil
}

// Applier applies a range's entries in order. The zero value is not ready: call
// Reset first.
type Applier struct {
	eng       *storage.Engine
	id        kvpb.RangeID
	store     kvpb.StoreID
	boundsGen uint64
	gen       uint64
	state     State
	batch     *storage.Batch
	key       []byte // of the applied state
	scratch   []byte
	trigger   *Trigger
	check     *CheckID
	// threshold is the collection threshold that the batch sets, empty if it sets none.
	threshold hlc.Timestamp
	note      func(c Applied)
	prepared  *Tables // nil: there are none
}

// Trigger is what an entry says about the range itself.
type Trigger struct {
	Desc *kvpb.RangeDescriptor
	// Right is the range that a split makes, nil if there was none.
	Right *kvpb.RangeDescriptor
	// Merge is the range that a merge subsumes, nil if there was none. Absorb completes the merge.
	Merge *Merge
}

// Reset prepares the Applier for the entry after st on a store. d is the range's descriptor
// as of st.
func (a *Applier) Reset(eng *storage.Engine, store kvpb.StoreID, d *kvpb.RangeDescriptor, st State) {
	*a = Applier{
		eng: eng, id: d.RangeID, store: store, state: st, boundsGen: d.BoundsGen, gen: d.Generation,
		key: keys.RangeAppliedState(uint64(d.RangeID)), prepared: a.prepared,
	}
}

// State returns how far entries have been applied.
func (a *Applier) State() State { return a.state }

// Applied describes one applied command.
type Applied struct {
	Txn  kvpb.TxnID    // the transaction that it belongs to, zero if there is none
	TS   hlc.Timestamp // at which it wrote
	Ends bool          // it ends the transaction
	// Effects: it took effect. A command that was evaluated under other bounds does not.
	Effects bool
	// InArea: it wrote versions of keys of one area, and did nothing else but drop earlier ones.
	InArea bool
	Area   keys.Area
}

// note takes in an operation of the command.
func (c *Applied) note(kind opKind, key []byte, first bool) {
	switch area := keys.AreaOf(key); {
	case kind != opPut && kind != opTombstone && kind != opCollect:
		c.InArea = false
	case first:
		c.InArea, c.Area = true, area
	default:
		c.InArea = c.InArea && c.Area == area
	}
}

// Entry adds the effects of the next entry to the batch, and calls note with each of its commands,
// in order.
func (a *Applier) Entry(index, term uint64, data []byte, note func(c Applied)) error {
	if index != a.state.Index+1 || term < a.state.Term {
		return fmt.Errorf("range %d: A3: entry %d of term %d after %d of term %d",
			a.id, index, term, a.state.Index, a.state.Term)
	}
	if a.batch == nil {
		a.batch = a.newBatch(data)
	}
	a.trigger, a.check, a.note = nil, nil, note
	if err := Commands(data, a.command); err != nil {
		return fmt.Errorf("range %d: entry %d: %w", a.id, index, err)
	}
	a.state = State{Index: index, Term: term}
	return nil
}

// newBatch returns a batch whose first entry is this one: with room for it, if it is long.
func (a *Applier) newBatch(entry []byte) *storage.Batch {
	if len(entry) < LongCommand || HasTable(entry) {
		return a.eng.NewBatch()
	}
	return a.eng.NewBatchOf(len(entry))
}

// Threshold returns the collection threshold that the entries since the last Finish set,
// empty if they set none.
func (a *Applier) Threshold() hlc.Timestamp { return a.threshold }

// Trigger returns the last entry's change of the range itself, nil if it had none.
func (a *Applier) Trigger() *Trigger { return a.trigger }

// Check returns the checksum that the last entry asked for, nil if it asked for none.
func (a *Applier) Check() *CheckID { return a.check }

// Finish commits the batch of the entries since the last Finish.
func (a *Applier) Finish() error {
	if a.batch == nil {
		return nil
	}
	a.scratch = a.state.encode(a.scratch[:0])
	err := a.batch.Set(a.key, a.scratch)
	if err == nil {
		err = a.batch.Commit()
	}
	a.batch.Close()
	a.batch, a.threshold = nil, hlc.Timestamp{}
	return err
}

// raiseThreshold raises the collection threshold; it never falls (invariant A4): a
// command that was proposed before a merge may be applied after it.
func (a *Applier) raiseThreshold(th hlc.Timestamp) error {
	present, err := a.presentThreshold()
	if err != nil || th.LessEq(present) {
		return err
	}
	a.threshold = th
	return a.batch.Set(keys.RangeGCThreshold(uint64(a.id)), appendTimestamp(nil, th))
}

func (a *Applier) command(boundsGen uint64, cmd []byte) error {
	if len(cmd) == 0 { // a barrier
		a.note(Applied{Effects: true})
		return nil
	}
	if cmd[0] != Version && cmd[0] != priorVersion {
		return fmt.Errorf("apply: command has format version %d, this program reads %d and %d", cmd[0], priorVersion, Version)
	}
	if len(cmd) < headerLen {
		return ErrDamaged
	}
	c := Applied{Txn: kvpb.TxnID{Hi: binary.BigEndian.Uint64(cmd[1:]), Lo: binary.BigEndian.Uint64(cmd[9:])}}
	c.TS, _ = timestamp(cmd[17:headerLen])
	c.Ends = !c.Txn.IsZero() && !isProvisional(cmd)
	ok := boundsGen == AnyBounds || boundsGen == a.boundsGen
	if ok && isTable(cmd) && (a.batch.Empty() || plant.On(plant.TableJoinsBatch)) {
		done, err := a.table(c.TS, cmd)
		if err != nil {
			return err
		}
		if done {
			c.Effects = true
			a.note(c)
			return nil
		}
	}
	for p := cmd[headerLen:]; ok && len(p) > 0; {
		var o operation
		var err error
		first := len(p) == len(cmd)-headerLen
		if o, p, err = nextOperation(p); err != nil {
			return err
		}
		if first || c.InArea {
			c.note(o.kind, o.key, first)
		}
		if o.kind == opDescriptor || o.kind == opSplit || o.kind == opMerge {
			ok, err = a.describe(o.kind, o.key, o.value)
		} else {
			err = a.operation(o.kind, c.TS, o.key, o.value)
		}
		if err != nil {
			return err
		}
	}
	c.Effects = ok
	a.note(c)
	return nil
}

// isProvisional reports whether a command leaves its transaction open.
func isProvisional(cmd []byte) bool {
	return len(cmd) > headerLen && opKind(cmd[headerLen]) == opProvisional
}

// isTime reports whether a version may have a timestamp. The command of an abort has a negative one
// (package txnintent), and writes no versions.
func isTime(ts hlc.Timestamp) bool { return hlc.Timestamp{}.Less(ts) }

func (a *Applier) operation(kind opKind, ts hlc.Timestamp, key, value []byte) error {
	if (kind == opPut || kind == opTombstone) && !isTime(ts) {
		return fmt.Errorf("%w: a version without a time", ErrDamaged)
	}
	switch kind {
	case opTable, opProvisional:
		return nil // markers. The puts behind opTable get here if table has refused them.
	case opPut:
		return mvcc.PutVersion(a.batch, key, ts, value)
	case opTombstone:
		return mvcc.DeleteVersion(a.batch, key, ts)
	case opCollect:
		g, ok := garbage(value)
		if !ok || !isTime(g.TS) {
			return ErrDamaged
		}
		return mvcc.DropVersion(a.batch, key, g)
	case opSetRaw:
		return a.batch.Set(key, value)
	case opDeleteRaw:
		return a.batch.Delete(key)
	case opClearSpan:
		return a.batch.DeleteRange(key, value)
	case opCheck:
		if len(key) != len(CheckID{}) {
			return ErrDamaged
		}
		a.check = new(CheckID)
		copy(a.check[:], key)
		return nil
	case opThreshold:
		th, ok := timestamp(value)
		if !ok {
			return ErrDamaged
		}
		return a.raiseThreshold(th)
	}
	return fmt.Errorf("%w: operation %d", ErrDamaged, kind)
}

// StateIn reads a range's applied state and its collection threshold from the state of the
// engine that a reader sees. It returns false if the range is not there.
func StateIn(r *mvcc.Reader, id kvpb.RangeID) (st State, threshold hlc.Timestamp, ok bool, err error) {
	state, bound := keys.RangeAppliedState(uint64(id)), keys.RangeGCThreshold(uint64(id))
	err = r.Each(keys.RangeLocalSpan(uint64(id)), func(key, value []byte) (bool, error) {
		switch {
		case bytes.Equal(key, state):
			if st, err = decodeState(value); err != nil {
				return false, err
			}
			ok = true
		case bytes.Equal(key, bound):
			var whole bool
			if threshold, whole = timestamp(value); !whole {
				return false, fmt.Errorf("range %d: collection threshold: %w", id, ErrDamaged)
			}
		}
		return true, nil
	})
	return st, threshold, ok, err
}
