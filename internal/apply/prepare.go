package apply

import (
	"bytes"
	"slices"
	"sync"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/storage"
)

// maxPrepared bounds the tables of a range that wait for their commands.
const maxPrepared = 4

// Tables are finished tables of commands that this node has proposed and that are not applied yet. To write and sync a
// table takes longer than all else that its application does: the proposers do it at once, each for its own
// command, while earlier commands are synced and applied. Whoever has no table of a command makes it when
// the command is applied, with the same contents. The zero value is empty. All methods may be called concurrently.
type Tables struct {
	mu     sync.Mutex
	list   []preparedTable
	making int // that are not in list yet
}

type preparedTable struct {
	command []byte
	table   *storage.TableWriter
}

// Prepare makes the table of a command that begins with Table, and must not change until Drop. It does nothing if there are too
// many tables, or the table can't be made: the application finds out why.
func (t *Tables) Prepare(e *storage.Engine, command []byte) {
	if !isTable(command) {
		return
	}
	ts, ok := timestamp(command[17:headerLen])
	if !ok || !isTime(ts) || !t.begin() {
		return
	}
	w, err := makeTable(e, ts, command)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.making--; err == nil && w != nil {
		t.list = append(t.list, preparedTable{command, w})
	}
}

// begin makes room for a table that is about to be made, and reports whether there is any.
func (t *Tables) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list)+t.making == maxPrepared {
		return false
	}
	t.making++
	return true
}

// take returns the table of a command, which is the caller's then; nil if there is none.
func (t *Tables) take(command []byte) *storage.TableWriter {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.list, func(p preparedTable) bool {
		if plant.On(plant.TableOfAnother) {
			return true
		}
		return bytes.Equal(p.command, command)
	})
	if i < 0 {
		return nil
	}
	w := t.list[i].table
	t.list = slices.Delete(t.list, i, i+1)
	return w
}

// Drop removes the table of a command for which its proposer does not wait any more, if it was not applied.
func (t *Tables) Drop(command []byte) {
	if w := t.take(command); w != nil {
		w.Remove()
	}
}

// Use has the Applier take tables from those that were prepared.
func (a *Applier) Use(t *Tables) { a.prepared = t }
