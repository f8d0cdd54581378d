package fs

import (
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// OpKind says what an operation does.
type OpKind uint8

// The operations a hook sees. Those from OpCreate on can change what is stored.
const (
	OpOpen OpKind = iota
	OpOpenDir
	OpList
	OpStat
	OpDiskUsage
	OpRead
	OpClose
	OpCreate
	OpOpenReadWrite // creates the file if there is none
	OpLink
	OpRemove
	OpRemoveAll
	OpRename
	OpReuse
	OpMkdirAll
	OpLock
	OpWrite
	OpPreallocate
	OpSync
)

var opNames = [...]string{"open", "opendir", "list", "stat", "diskusage", "read", "close", "create", "openrw",
	"link", "remove", "removeall", "rename", "reuse", "mkdir", "lock", "write", "preallocate", "sync"}

// String returns the name of the operation.
func (k OpKind) String() string { return opNames[k] }

// Mutates reports whether the operation can change what is stored.
func (k OpKind) Mutates() bool { return k >= OpCreate }

// Op is an operation about to happen.
type Op struct {
	Kind OpKind
	Path string
	// Offset and Bytes describe reads and writes. The offset of a sequential
	// one is counted from where the file was opened.
	Offset int64
	Bytes  int
	// Grow is by how much a write extends its file.
	Grow int64
	// Short, set by a hook that refuses a write, is how many bytes of it
	// happen nevertheless.
	Short int
}

// Hook is called before an operation. An error refuses it and is what
// the caller gets. A hook may block, to stall the operation.
type Hook func(op *Op) error

// WithHooks returns a file system on which each operation is first shown to
// the hooks, in order, until one refuses it.
func WithHooks(inner FS, hooks ...Hook) FS { return &hookFS{inner, hooks} }

type hookFS struct {
	inner FS
	hooks []Hook
}

var _ FS = (*hookFS)(nil)

func (h *hookFS) call(op *Op) error {
	for _, hook := range h.hooks {
		if err := hook(op); err != nil {
			return err
		}
	}
	return nil
}

func (h *hookFS) op(kind OpKind, path string) error {
	return h.call(&Op{Kind: kind, Path: path})
}

// file wraps what an operation that opens a file returned.
func (h *hookFS) file(f File, err error, path string) (File, error) {
	if err != nil {
		return nil, err
	}
	return &hookFile{File: f, fs: h, path: path}, nil
}

func (h *hookFS) Create(name string, c WriteCategory) (File, error) {
	if err := h.op(OpCreate, name); err != nil {
		return nil, err
	}
	f, err := h.inner.Create(name, c)
	return h.file(f, err, name)
}

func (h *hookFS) Open(name string, opts ...OpenOption) (File, error) {
	if err := h.op(OpOpen, name); err != nil {
		return nil, err
	}
	f, err := h.inner.Open(name, opts...)
	return h.file(f, err, name)
}

func (h *hookFS) OpenReadWrite(name string, c WriteCategory, opts ...OpenOption) (File, error) {
	if err := h.op(OpOpenReadWrite, name); err != nil {
		return nil, err
	}
	f, err := h.inner.OpenReadWrite(name, c, opts...)
	return h.file(f, err, name)
}

func (h *hookFS) OpenDir(name string) (File, error) {
	if err := h.op(OpOpenDir, name); err != nil {
		return nil, err
	}
	f, err := h.inner.OpenDir(name)
	return h.file(f, err, name)
}

func (h *hookFS) ReuseForWrite(oldname, newname string, c WriteCategory) (File, error) {
	if err := h.op(OpReuse, newname); err != nil {
		return nil, err
	}
	f, err := h.inner.ReuseForWrite(oldname, newname, c)
	return h.file(f, err, newname)
}

func (h *hookFS) Link(oldname, newname string) error {
	if err := h.op(OpLink, newname); err != nil {
		return err
	}
	return h.inner.Link(oldname, newname)
}

func (h *hookFS) Remove(name string) error {
	if err := h.op(OpRemove, name); err != nil {
		return err
	}
	return h.inner.Remove(name)
}

func (h *hookFS) RemoveAll(name string) error {
	if err := h.op(OpRemoveAll, name); err != nil {
		return err
	}
	return h.inner.RemoveAll(name)
}

func (h *hookFS) Rename(oldname, newname string) error {
	if err := h.op(OpRename, newname); err != nil {
		return err
	}
	return h.inner.Rename(oldname, newname)
}

func (h *hookFS) MkdirAll(dir string, perm os.FileMode) error {
	if err := h.op(OpMkdirAll, dir); err != nil {
		return err
	}
	return h.inner.MkdirAll(dir, perm)
}

func (h *hookFS) Lock(name string) (io.Closer, error) {
	if err := h.op(OpLock, name); err != nil {
		return nil, err
	}
	return h.inner.Lock(name)
}

func (h *hookFS) List(dir string) ([]string, error) {
	if err := h.op(OpList, dir); err != nil {
		return nil, err
	}
	return h.inner.List(dir)
}

func (h *hookFS) Stat(name string) (FileInfo, error) {
	if err := h.op(OpStat, name); err != nil {
		return nil, err
	}
	return h.inner.Stat(name)
}

func (h *hookFS) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	if err := h.op(OpDiskUsage, path); err != nil {
		return vfs.DiskUsage{}, err
	}
	return h.inner.GetDiskUsage(path)
}

func (h *hookFS) PathBase(path string) string    { return h.inner.PathBase(path) }
func (h *hookFS) PathJoin(elem ...string) string { return h.inner.PathJoin(elem...) }
func (h *hookFS) PathDir(path string) string     { return h.inner.PathDir(path) }
func (h *hookFS) Unwrap() FS                     { return h.inner }
