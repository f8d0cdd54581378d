package fs

import (
	"io"
	"os"
	"sync/atomic"
	"time"
)

// Watch is a file system that knows how long its operations take: those that change
// what is stored are noted while they are under way. It is also where a fault can be
// put between a running node and its disk. Reads pass through unseen, but not past a
// fault.
type Watch struct {
	FS
	start time.Time
	slots [watchSlots]atomic.Int64 // when the operation in it began, 0 for none
	next  atomic.Uint32
	// worst is the longest operation that has ended since it was last asked for.
	worst atomic.Int64
	// noSpace is when an operation last failed for want of space, 0 if none did.
	noSpace atomic.Int64
	fault   atomic.Pointer[Hook]
}

// watchSlots bounds the operations that are noted at a time; more are not timed.
const watchSlots = 128

var _ FS = (*Watch)(nil)

// NewWatch returns inner with a watch.
func NewWatch(inner FS) *Watch { return &Watch{FS: inner, start: time.Now()} }

// SetFault has each operation shown to hook first, which may delay or refuse it. Nil
// ends that.
func (w *Watch) SetFault(hook Hook) {
	if hook == nil {
		w.fault.Store(nil)
		return
	}
	w.fault.Store(&hook)
}

// now is the time since the watch was made, above 0.
func (w *Watch) now() int64 { return int64(time.Since(w.start)) + 1 }

// Oldest returns how long the oldest operation under way has been at it, 0 if there is
// none.
func (w *Watch) Oldest() time.Duration {
	now, oldest := w.now(), int64(0)
	for i := range w.slots {
		if at := w.slots[i].Load(); at != 0 {
			oldest = max(oldest, now-at)
		}
	}
	return time.Duration(oldest)
}

// Worst returns how long the slowest operation took that has ended since the last
// call.
func (w *Watch) Worst() time.Duration { return time.Duration(w.worst.Swap(0)) }

// NoSpaceWithin reports whether an operation failed for want of space in the last d.
func (w *Watch) NoSpaceWithin(d time.Duration) bool {
	at := w.noSpace.Load()
	return at != 0 && w.now()-at < int64(d)
}

// do performs an operation.
func (w *Watch) do(op *Op, fn func() error) error {
	slot, began := w.begin()
	defer w.end(slot, began)
	if h := w.fault.Load(); h != nil {
		if err := (*h)(op); err != nil {
			return w.judge(err)
		}
	}
	return w.judge(fn())
}

func (w *Watch) begin() (slot *atomic.Int64, began int64) {
	began = w.now()
	at := w.next.Add(1)
	for range watchSlots {
		if s := &w.slots[at%watchSlots]; s.CompareAndSwap(0, began) {
			return s, began
		}
		at++
	}
	return nil, began
}

func (w *Watch) end(slot *atomic.Int64, began int64) {
	if slot != nil {
		slot.Store(0)
	}
	took := w.now() - began
	for {
		worst := w.worst.Load()
		if took <= worst || w.worst.CompareAndSwap(worst, took) {
			return
		}
	}
}

func (w *Watch) judge(err error) error {
	if err != nil && IsDiskFull(err) {
		w.noSpace.Store(w.now())
	}
	return err
}

// pass shows an operation that is not timed to the fault.
func (w *Watch) pass(kind OpKind, path string) error {
	if h := w.fault.Load(); h != nil {
		return w.judge((*h)(&Op{Kind: kind, Path: path}))
	}
	return nil
}

// open performs an operation that opens a file.
func (w *Watch) open(kind OpKind, path string, fn func() (File, error)) (f File, err error) {
	fn2 := func() error {
		f, err = fn()
		return err
	}
	if kind.Mutates() {
		err = w.do(&Op{Kind: kind, Path: path}, fn2)
	} else if err = w.pass(kind, path); err == nil {
		err = fn2()
	}
	if err != nil {
		return nil, err
	}
	return &watchFile{File: f, w: w, path: path}, nil
}

// Create is part of FS, as are those that follow.
func (w *Watch) Create(name string, c WriteCategory) (File, error) {
	return w.open(OpCreate, name, func() (File, error) { return w.FS.Create(name, c) })
}

// Open opens a file to be read.
func (w *Watch) Open(name string, opts ...OpenOption) (File, error) {
	return w.open(OpOpen, name, func() (File, error) { return w.FS.Open(name, opts...) })
}

// OpenReadWrite opens a file to be read and written.
func (w *Watch) OpenReadWrite(name string, c WriteCategory, opts ...OpenOption) (File, error) {
	return w.open(OpOpenReadWrite, name, func() (File, error) { return w.FS.OpenReadWrite(name, c, opts...) })
}

// OpenDir opens a directory to be synced.
func (w *Watch) OpenDir(name string) (File, error) {
	return w.open(OpOpenDir, name, func() (File, error) { return w.FS.OpenDir(name) })
}

// ReuseForWrite renames a file and opens it.
func (w *Watch) ReuseForWrite(oldname, newname string, c WriteCategory) (File, error) {
	return w.open(OpReuse, newname, func() (File, error) { return w.FS.ReuseForWrite(oldname, newname, c) })
}

// Link gives a file another name.
func (w *Watch) Link(oldname, newname string) error {
	return w.do(&Op{Kind: OpLink, Path: newname}, func() error { return w.FS.Link(oldname, newname) })
}

// Remove removes a file.
func (w *Watch) Remove(name string) error {
	return w.do(&Op{Kind: OpRemove, Path: name}, func() error { return w.FS.Remove(name) })
}

// RemoveAll removes a directory and what is in it.
func (w *Watch) RemoveAll(name string) error {
	return w.do(&Op{Kind: OpRemoveAll, Path: name}, func() error { return w.FS.RemoveAll(name) })
}

// Rename gives a file a new name.
func (w *Watch) Rename(oldname, newname string) error {
	return w.do(&Op{Kind: OpRename, Path: newname}, func() error { return w.FS.Rename(oldname, newname) })
}

// MkdirAll makes a directory.
func (w *Watch) MkdirAll(dir string, perm os.FileMode) error {
	return w.do(&Op{Kind: OpMkdirAll, Path: dir}, func() error { return w.FS.MkdirAll(dir, perm) })
}

// Lock locks a file.
func (w *Watch) Lock(name string) (c io.Closer, err error) {
	err = w.do(&Op{Kind: OpLock, Path: name}, func() error {
		c, err = w.FS.Lock(name)
		return err
	})
	return c, err
}

// GetDiskUsage returns how full the disk is. A fault for want of space shows in it.
func (w *Watch) GetDiskUsage(path string) (DiskUsage, error) {
	u, err := w.FS.GetDiskUsage(path)
	if h := w.fault.Load(); h != nil {
		if ferr := (*h)(&Op{Kind: OpDiskUsage, Path: path}); IsDiskFull(ferr) {
			u.AvailBytes = 0
		} else if ferr != nil {
			err = ferr
		}
	}
	return u, err
}

// Unwrap returns the file system below.
func (w *Watch) Unwrap() FS { return w.FS }

// watchFile is a file of a Watch.
type watchFile struct {
	File
	w    *Watch
	path string
}

func (f *watchFile) Read(p []byte) (int, error) {
	if err := f.w.pass(OpRead, f.path); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *watchFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.w.pass(OpRead, f.path); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *watchFile) Write(p []byte) (n int, err error) {
	err = f.w.do(&Op{Kind: OpWrite, Path: f.path, Bytes: len(p), Grow: int64(len(p))}, func() error {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f *watchFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.w.do(&Op{Kind: OpWrite, Path: f.path, Offset: off, Bytes: len(p)}, func() error {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *watchFile) Preallocate(offset, length int64) error {
	return f.w.do(&Op{Kind: OpPreallocate, Path: f.path}, func() error { return f.File.Preallocate(offset, length) })
}

// Rewrite implements Rewriter.
func (f *watchFile) Rewrite(from int64) error {
	r, ok := f.File.(Rewriter)
	if !ok {
		return nil
	}
	return f.w.do(&Op{Kind: OpWrite, Path: f.path, Offset: from}, func() error { return r.Rewrite(from) })
}

func (f *watchFile) Sync() error {
	return f.w.do(&Op{Kind: OpSync, Path: f.path}, f.File.Sync)
}

func (f *watchFile) SyncData() error {
	return f.w.do(&Op{Kind: OpSync, Path: f.path}, f.File.SyncData)
}

func (f *watchFile) SyncTo(length int64) (full bool, err error) {
	err = f.w.do(&Op{Kind: OpSync, Path: f.path}, func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}
