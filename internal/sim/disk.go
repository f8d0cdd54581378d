package sim

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

// unlimited is the room on a disk that is not full.
const unlimited = 1 << 62

// Disk is the disk of a store, which outlives its node's processes. Each incarnation opens it
// with FS; a crash ends that file system and leaves what a real disk would.
//
// A stalled or slow operation blocks in virtual time. One who waits for it while
// holding a mutex that others want stops virtual time: under synctest that
// is a hang, and shows code that must not do so. The engine does, so its files neither
// stall nor fill the disk.
type Disk struct {
	mu      sync.Mutex
	rng     *rand.Rand
	mem     *fs.MemFS
	quota   *fs.Quota
	power   *fs.PowerLoss // of this incarnation
	gate    *fs.Gate      // of this incarnation
	stalled bool
	slow    time.Duration // mean of a sync
	crashes int
}

// NewDisk returns an empty disk.
func NewDisk(seed uint64) *Disk {
	d := &Disk{rng: rand.New(rand.NewPCG(seed, 0x6469736b)), mem: fs.NewCrashableMem(), quota: fs.NewQuota(unlimited)}
	d.plugInLocked()
	return d
}

// plugInLocked gives the disk to the next incarnation.
func (d *Disk) plugInLocked() {
	d.power = &fs.PowerLoss{N: unlimited}
	d.gate = fs.NewGate(func(op *fs.Op) bool { return op.Kind.Mutates() && !isEngineFile(op.Path) })
	if d.stalled {
		d.gate.Shut()
	}
}

// FS returns the disk as this incarnation of its node sees it.
func (d *Disk) FS() fs.FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	power := d.power
	off := func(op *fs.Op) error {
		// The engine of a process that has ended may write on, where nobody will ever read:
		// it would try again and again to write a table, which keeps virtual time from
		// passing, and never let go of its mutex when it can't write its manifest. What such a process
		// reads reaches nobody: raft panics where its log can't be read.
		if power.Struck() && (isEngineFile(op.Path) || !op.Kind.Mutates()) {
			return nil
		}
		return power.Hook(op)
	}
	room := func(op *fs.Op) error {
		if isEngineFile(op.Path) {
			return nil // it would try again at once, without end
		}
		return d.quota.Hook(op)
	}
	return fs.WithHooks(d.mem, d.gate.Hook, d.wait, room, off)
}

// engineDir is the directory of a store's engine.
const engineDir = "state"

// isEngineFile reports whether a file is the engine's, which syncs in the background:
// nothing is acknowledged because of it.
func isEngineFile(path string) bool {
	return filepath.Base(path) == engineDir || filepath.Base(filepath.Dir(path)) == engineDir
}

// wait makes a sync as slow as the disk is.
func (d *Disk) wait(op *fs.Op) error {
	if op.Kind != fs.OpSync || isEngineFile(op.Path) {
		return nil // the engine syncs in the background, some of it with a mutex held
	}
	d.mu.Lock()
	var t time.Duration
	if d.slow > 0 {
		t = d.slow/2 + time.Duration(d.rng.Int64N(int64(d.slow)))
	}
	d.mu.Unlock()
	if t > 0 {
		<-time.After(t)
	}
	return nil
}

// Kill ends this incarnation as the death of a process does: nothing it does from now on
// reaches the disk, all it did stays.
func (d *Disk) Kill() { d.crash(func() int { return 100 }) }

// PowerOff ends this incarnation as a power loss does: of what was not synced a random
// part stays, sometimes all or nothing.
func (d *Disk) PowerOff() {
	d.crash(func() int {
		switch d.rng.IntN(3) {
		case 0:
			return 0
		case 1:
			return 100
		}
		return d.rng.IntN(101)
	})
}

func (d *Disk) crash(keepPercent func() int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.power.Strike()
	d.mem = fs.CrashClone(d.mem, keepPercent(), d.rng.Uint64())
	d.gate.Open() // who waits there fails
	d.crashes++
	d.plugInLocked()
}

// Crashes returns how many incarnations have ended.
func (d *Disk) Crashes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.crashes
}

// Replace puts an empty disk in its place. The node is down.
func (d *Disk) Replace() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.power.Strike()
	d.mem = fs.NewCrashableMem()
	d.gate.Open() // who waits there fails
	d.plugInLocked()
}

// Stall makes everything that changes the disk wait, until Resume.
func (d *Disk) Stall() { d.setStalled(true) }

// Resume ends a stall.
func (d *Disk) Resume() { d.setStalled(false) }

func (d *Disk) setStalled(stalled bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stalled = stalled
	if stalled {
		d.gate.Shut()
	} else {
		d.gate.Open()
	}
}

// SetSlow makes every sync take about so long; 0: no time.
func (d *Disk) SetSlow(mean time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow = mean
}

// Fill leaves room for so many bytes more, until Free.
func (d *Disk) Fill(left int64) { d.quota.Set(left) }

// Free makes room.
func (d *Disk) Free() { d.quota.Set(unlimited) }
