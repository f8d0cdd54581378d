package fs

import "sync/atomic"

// hookFile shows the operations on a file to the hooks. Close always reaches
// the file below, so that a fault leaks nothing.
type hookFile struct {
	File
	fs   *hookFS
	path string
	pos  atomic.Int64 // of sequential reads and writes
}

var _ File = (*hookFile)(nil)

func (f *hookFile) op(kind OpKind) error { return f.fs.op(kind, f.path) }

func (f *hookFile) Close() error {
	err := f.op(OpClose)
	if cerr := f.File.Close(); err == nil {
		err = cerr
	}
	return err
}

func (f *hookFile) Read(p []byte) (int, error) {
	if err := f.fs.call(&Op{Kind: OpRead, Path: f.path, Offset: f.pos.Load(), Bytes: len(p)}); err != nil {
		return 0, err
	}
	n, err := f.File.Read(p)
	f.pos.Add(int64(n))
	return n, err
}

func (f *hookFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.call(&Op{Kind: OpRead, Path: f.path, Offset: off, Bytes: len(p)}); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *hookFile) Write(p []byte) (int, error) {
	n, err := f.write(p, f.pos.Load(), f.File.Write)
	f.pos.Add(int64(n))
	return n, err
}

func (f *hookFile) WriteAt(p []byte, off int64) (int, error) {
	return f.write(p, off, func(p []byte) (int, error) { return f.File.WriteAt(p, off) })
}

// write performs a write that the hooks let pass, or the part they leave of it.
func (f *hookFile) write(p []byte, off int64, do func([]byte) (int, error)) (int, error) {
	op := Op{Kind: OpWrite, Path: f.path, Offset: off, Bytes: len(p)}
	if st, err := f.File.Stat(); err == nil {
		op.Grow = min(max(off+int64(len(p))-st.Size(), 0), int64(len(p)))
	}
	if err := f.fs.call(&op); err != nil {
		n := 0
		if op.Short > 0 {
			n, _ = do(p[:min(op.Short, len(p))])
		}
		return n, err
	}
	return do(p)
}

func (f *hookFile) Preallocate(offset, length int64) error {
	if err := f.op(OpPreallocate); err != nil {
		return err
	}
	return f.File.Preallocate(offset, length)
}

// Rewrite implements Rewriter.
func (f *hookFile) Rewrite(from int64) error { return Rewrite(f.File, from) }

func (f *hookFile) Stat() (FileInfo, error) {
	if err := f.op(OpStat); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *hookFile) Sync() error {
	if err := f.op(OpSync); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *hookFile) SyncData() error {
	if err := f.op(OpSync); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f *hookFile) SyncTo(length int64) (bool, error) {
	if err := f.op(OpSync); err != nil {
		return false, err
	}
	return f.File.SyncTo(length)
}
