package fs

import "fmt"

// FlipBit inverts one bit of a file, as a failing disk might, and makes the
// change durable.
func FlipBit(fs FS, path string, offset int64, bit uint) error {
	f, err := fs.OpenReadWrite(path, WriteUnspecified)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var b [1]byte
	if _, err := f.ReadAt(b[:], offset); err != nil {
		return fmt.Errorf("read %s at %d: %w", path, offset, err)
	}
	b[0] ^= 1 << (bit % 8)
	if _, err := f.WriteAt(b[:], offset); err != nil {
		return fmt.Errorf("write %s at %d: %w", path, offset, err)
	}
	return f.Sync()
}
