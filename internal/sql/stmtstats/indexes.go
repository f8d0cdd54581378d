package stmtstats

import (
	"sync"
	"sync/atomic"
)

// MaxIndexes is how many indexes a node counts the use of; those that come later are not counted.
const MaxIndexes = 20_000

// lastUseStep is how exactly the last use of an index is known, in nanoseconds.
const lastUseStep = 1e6

// IndexKey is an index of a table, by their ids.
type IndexKey struct{ Table, Index uint64 }

// IndexUse counts the executions of statements that read an index.
type IndexUse struct {
	keyed, full atomic.Int64
	last        atomic.Int64 // Unix nanoseconds
}

// Note counts an execution; full says that it reads all of the index.
func (u *IndexUse) Note(full bool, at int64) {
	if full {
		u.full.Add(1)
	} else {
		u.keyed.Add(1)
	}
	if at-u.last.Load() >= lastUseStep { // so that the processors share the line more often than not
		u.last.Store(at)
	}
}

// Indexes counts the use of a node's indexes. The zero value is empty. It is safe for concurrent use.
type Indexes struct {
	by    sync.Map // IndexKey → *IndexUse
	count atomic.Int64
}

// Use returns the counter of an index; nil: there are too many.
func (x *Indexes) Use(k IndexKey) *IndexUse {
	if u, ok := x.by.Load(k); ok {
		return u.(*IndexUse)
	}
	if x.count.Load() >= MaxIndexes {
		return nil
	}
	u, was := x.by.LoadOrStore(k, &IndexUse{})
	if !was {
		x.count.Add(1)
	}
	return u.(*IndexUse)
}

// IndexRow is how an index was used, as it travels between nodes.
type IndexRow struct {
	IndexKey
	Keyed, Full, Last int64
}

// List returns how the indexes were used that were.
func (x *Indexes) List() (out []IndexRow) {
	x.by.Range(func(k, v any) bool {
		u := v.(*IndexUse)
		out = append(out, IndexRow{k.(IndexKey), u.keyed.Load(), u.full.Load(), u.last.Load()})
		return true
	})
	return out
}
