package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

// maxDiskDelay is the longest delay of a file operation.
const maxDiskDelay = time.Hour

// diskFault is a file system that tests can make slow, full or broken.
type diskFault struct {
	watch *fs.Watch
	mu    sync.Mutex
	ended chan struct{} // closed when the present fault ends
}

func newDiskFault(w *fs.Watch) *diskFault { return &diskFault{watch: w} }

// set replaces the fault as a request says.
func (d *diskFault) set(delay, fail, path string) error {
	var each time.Duration
	var refused error
	switch {
	case delay != "":
		var err error
		if each, err = time.ParseDuration(delay); err != nil || each <= 0 || each > maxDiskDelay {
			return fmt.Errorf("delay=%s: give a duration of at most %s: delay=500ms", delay, maxDiskDelay)
		}
	case fail == "enospc":
		refused = syscall.ENOSPC
	case fail == "eio":
		refused = syscall.EIO
	case fail == "panic":
		refused = errPanic
	default:
		return errors.New("give delay=DURATION, fail=enospc, fail=eio or fail=panic (which end the node) or off=1; and path=PART for some files only")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	ended := make(chan struct{})
	d.ended = ended
	d.watch.SetFault(func(op *fs.Op) error {
		if path != "" && !strings.Contains(op.Path, path) {
			return nil
		}
		if refused == errPanic && op.Kind != fs.OpSync {
			return nil
		}
		if refused != nil {
			return diskRefuses(op, refused)
		}
		if op.Kind.Mutates() {
			t := time.NewTimer(each)
			defer t.Stop()
			select {
			case <-ended:
			case <-t.C:
			}
		}
		return nil
	})
	return nil
}

// errPanic stands for a panic of the code that writes.
var errPanic = errors.New("asked for by a fault hook")

// diskRefuses returns the error of an operation on a full or broken disk. If the fault is errPanic, the
// next sync panics.
func diskRefuses(op *fs.Op, err error) error {
	switch op.Kind {
	case fs.OpSync:
		if err == errPanic {
			panic(err)
		}
		if err != syscall.ENOSPC {
			return err
		}
	case fs.OpCreate, fs.OpLink, fs.OpMkdirAll, fs.OpPreallocate, fs.OpDiskUsage:
		return err
	case fs.OpWrite:
		if op.Grow > 0 || err != syscall.ENOSPC {
			return err
		}
	}
	return nil
}

// clear ends the fault, and with it the delays. The caller holds d.mu.
func (d *diskFault) clear() {
	d.watch.SetFault(nil)
	if d.ended != nil {
		close(d.ended)
		d.ended = nil
	}
}

// ServeHTTP takes POST /_debug/fault/disk?delay=d|fail=enospc|fail=eio|fail=panic|off=1.
func (d *diskFault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	q := r.URL.Query()
	if q.Has("off") {
		d.mu.Lock()
		d.clear()
		d.mu.Unlock()
		fmt.Fprintln(w, "the disk works")
		return
	}
	if err := d.set(q.Get("delay"), q.Get("fail"), q.Get("path")); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintln(w, "the disk is at fault")
}
