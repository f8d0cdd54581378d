package apply

import (
	"encoding/binary"
	"errors"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// A command that begins with opTable holds versions of keys that nobody has written before. Its
// puts do not pass through the batch, the memtable and its flush: the replica makes a sorted table of
// them, which the engine takes over.
//
// The engine makes a table durable at once, ahead of the applied state and of what was applied before
// it. That does no harm (invariant A5): a replay from the durable applied state carries out the same
// entries again, in their order, and so ends in the same state. docs/decisions/0016-ingestion.md says
// why nobody notices the state in between.

// HasTable reports whether an entry begins with a command for a table. Its effects do
// not join those of earlier entries: these must be finished before.
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

// table carries out a command for a table. It reports false, and has done nothing, if the puts have to go
// into the batch: the disk is full, or there is something else than ascending puts.
func (a *Applier) table(ts hlc.Timestamp, cmd []byte) (done bool, err error) {
	if !isTime(ts) {
		return false, nil // the operations say so
	}
	t, err := a.eng.NewVersionTable()
	if err != nil {
		return false, exceptFull(err)
	}
	defer t.Close()
	ordered, err := putAll(t, ts, cmd[headerLen:])
	if err != nil || !ordered {
		return false, exceptFull(err)
	}
	if err = t.Finish(); err == nil {
		err = a.eng.AddTable(t)
	}
	if err != nil {
		t.Remove()
		return false, exceptFull(err)
	}
	return true, nil
}

// putAll puts the versions of the operations into a table; ordered is false if they are not ascending puts.
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

// exceptFull returns an error that is not for want of space.
func exceptFull(err error) error {
	if errors.Is(err, storage.ErrDiskFull) {
		return nil
	}
	return err
}
