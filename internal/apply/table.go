package apply

import (
	"encoding/binary"
	"errors"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// A command that begins with opTable holds versions of keys that had none. Its puts bypass the
// batch, the memtable and its flush: the replica makes a sorted table of them, which the engine
// ingests.
//
// The engine makes a table durable at once, ahead of the applied state and of the effects of earlier
// entries. That does no harm (invariant A5): a replay from the durable applied state applies the same
// entries again, in their order, and so ends in the same state. docs/decisions/0016-ingestion.md says
// why no reader sees the state in between.

// HasTable reports whether an entry begins with a command for a table. Such an entry begins a batch
// of its own: the caller calls Finish before it.
func HasTable(entry []byte) bool {
	if len(entry) == 0 || entry[0] != entryVersion {
		return false
	}
	_, w := binary.Uvarint(entry[1:])
	if w <= 0 {
		return false
	}
	cmd, _, err := encoding.DecodeLenBytes(entry[1+w:])
	return err == nil && isTable(cmd)
}

func isTable(cmd []byte) bool { return len(cmd) > headerLen && opKind(cmd[headerLen]) == opTable }

// table has the engine ingest a command's puts as a table. It returns false, without an effect, if
// the puts must go into the batch instead: the disk is full, or the operations are not puts in
// ascending order.
func (a *Applier) table(ts hlc.Timestamp, cmd []byte) (done bool, err error) {
	if !isTime(ts) {
		return false, nil // operation reports the damage
	}
	t := a.prepared.take(cmd)
	if t == nil {
		if t, err = makeTable(a.eng, ts, cmd); err != nil || t == nil {
			return false, exceptFull(err)
		}
	}
	if err = a.eng.AddTable(t); err != nil {
		t.Remove()
		return false, exceptFull(err)
	}
	return true, nil
}

// makeTable makes a table of a command's puts, complete and durable; nil if they are not in ascending order.
func makeTable(e *storage.Engine, ts hlc.Timestamp, cmd []byte) (*storage.TableWriter, error) {
	t, err := e.NewVersionTable()
	if err != nil {
		return nil, err
	}
	defer t.Close()
	ordered, err := putAll(t, ts, cmd[headerLen:])
	if err != nil || !ordered {
		return nil, err
	}
	if err = t.Finish(); err != nil {
		t.Remove()
		return nil, err
	}
	return t, nil
}

// putAll puts the operations' versions into a table. It returns false if they are not puts in
// ascending order.
func putAll(t *storage.TableWriter, ts hlc.Timestamp, ops []byte) (ordered bool, err error) {
	for p := ops; len(p) > 0; {
		var o operation
		if o, p, err = nextOperation(p); err != nil {
			return false, err
		}
		switch o.kind {
		case opTable:
			continue
		case opPut:
		default:
			return false, nil
		}
		switch err := mvcc.PutInTable(t, o.key, ts, o.value); {
		case errors.Is(err, storage.ErrKeyOrder):
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// exceptFull returns err, but nil if err says that the disk is full.
func exceptFull(err error) error {
	if errors.Is(err, storage.ErrDiskFull) {
		return nil
	}
	return err
}
