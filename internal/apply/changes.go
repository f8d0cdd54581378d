package apply

import (
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
)

// ChangeKind says what a Change is.
type ChangeKind uint8

// The kinds of changes.
const (
	Wrote        ChangeKind = iota // a version with a value
	Deleted                        // a tombstone was written
	Dropped                        // a version was collected
	Locked                         // a durable lock was set
	Unlocked                       // a durable lock was removed
	UnlockedSpan                   // all durable locks from Key up to Value were removed
)

// Change is what a command did to a key. TS is the command's timestamp.
type Change struct {
	Kind       ChangeKind
	Key, Value []byte
	TS         hlc.Timestamp
}

// Changes calls fn with each change by the commands of an entry, and end after each command. took
// says which of the commands took effect. Keys and values alias the entry.
func Changes(entry []byte, took []bool, fn func(Change), end func() error) error {
	return Commands(entry, func(_ uint64, cmd []byte) error {
		var effect bool
		if len(took) > 0 {
			effect, took = took[0], took[1:]
		}
		if !effect || len(cmd) < headerLen {
			return nil
		}
		ts, _ := timestamp(cmd[headerLen-12 : headerLen])
		for p := cmd[headerLen:]; len(p) > 0; {
			var o operation
			var err error
			if o, p, err = nextOperation(p); err != nil {
				return err
			}
			if c := (Change{Key: o.key, Value: o.value, TS: ts}); c.classify(o.kind) {
				fn(c)
			}
		}
		return end()
	})
}

func (c *Change) classify(kind opKind) bool {
	switch kind {
	case opPut:
		c.Kind = Wrote
		return true
	case opTombstone:
		c.Kind = Deleted
		return true
	case opCollect:
		c.Kind = Dropped
		return true
	case opSetRaw, opDeleteRaw:
		key, ok := keys.DecodeLock(c.Key)
		if !ok {
			return false
		}
		if c.Kind, c.Key = Locked, key; kind == opDeleteRaw {
			c.Kind = Unlocked
		}
		return true
	case opClearSpan:
		start, locks := keys.DecodeLock(c.Key)
		end, ok := keys.DecodeLock(c.Value)
		c.Kind, c.Key, c.Value = UnlockedSpan, start, end
		return locks && ok
	}
	return false
}
