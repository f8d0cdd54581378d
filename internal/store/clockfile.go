package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/storage"
)

// The clock file stores the clock's bound while the log has no room. It has two slots, which are written
// in turn and in place, so that a write needs no space. If a write tears one slot, the other still has
// the last acknowledged bound. A slot is the magic number, the bound and a zero, each of 8 bytes in
// little-endian order, and their CRC-32.
const (
	// ClockFile names the clock file in the store's directory. It is written in place.
	ClockFile      = "CLOCK"
	clockFileMagic = 0x4c6963686e436c31 // "LichnCl1"
	clockSlotStep  = 4096
	clockSlotBytes = 28
)

// clockFile is the clock file. Without it the clock stops at its bound when the log is full.
type clockFile struct {
	f    fs.File
	next int // slot
}

// openClockFile opens a store's clock file. It creates the file if there is none and the disk has room.
func openClockFile(o *Options) (c clockFile, bound int64) {
	path := o.FS.PathJoin(o.Dir, ClockFile)
	if _, err := o.FS.Stat(path); err != nil {
		if err := makeClockFile(o, path); err != nil {
			o.Logger.Warn("no file for the clock's bound on a full disk", "dir", o.Dir, "err", err)
			return c, 0
		}
	}
	f, err := o.FS.OpenReadWrite(path, fs.WriteUnspecified)
	if err != nil {
		o.Logger.Warn("no file for the clock's bound on a full disk", "dir", o.Dir, "err", err)
		return c, 0
	}
	c.f = f
	for i := range 2 {
		var b [clockSlotBytes]byte
		if _, err := f.ReadAt(b[:], int64(i)*clockSlotStep); err != nil {
			continue
		}
		if v, ok := decodeClockSlot(b[:]); ok && v > bound {
			bound, c.next = v, 1-i
		}
	}
	return c, bound
}

// makeClockFile creates the file under a temporary name, so that the clock file is never too short.
func makeClockFile(o *Options, path string) error {
	temp := path + ".tmp"
	f, err := o.FS.Create(temp, fs.WriteUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 2*clockSlotStep))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = o.FS.Rename(temp, path)
	}
	if err != nil {
		_ = o.FS.Remove(temp)
		return err
	}
	return fs.SyncDir(o.FS, o.Dir)
}

func encodeClockSlot(bound int64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, clockFileMagic)
	b = binary.LittleEndian.AppendUint64(b, uint64(bound))
	b = binary.LittleEndian.AppendUint64(b, 0)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func decodeClockSlot(b []byte) (bound int64, ok bool) {
	if len(b) != clockSlotBytes || binary.LittleEndian.Uint64(b) != clockFileMagic ||
		binary.LittleEndian.Uint32(b[clockSlotBytes-4:]) != crc32.ChecksumIEEE(b[:clockSlotBytes-4]) {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(b[8:])), true
}

// write makes a bound durable. The clock never makes two calls at the same time.
func (c *clockFile) write(bound int64) error {
	if _, err := c.f.WriteAt(encodeClockSlot(bound), int64(c.next)*clockSlotStep); err != nil {
		return err
	}
	if err := c.f.Sync(); err != nil {
		return err
	}
	c.next = 1 - c.next
	return nil
}

func (c *clockFile) close() error {
	if c.f == nil {
		return nil
	}
	return c.f.Close()
}

// persistClock makes a bound of the clock durable (invariant S3).
func (s *Store) persistClock(bound int64) error {
	err := s.log.Append([]raftlog.Write{{
		Group: clockGroup, Replica: 1, HardState: &raftlog.HardState{Term: uint64(bound)},
	}})
	if s.clock.f != nil && (errors.Is(err, raftlog.ErrDiskFull) || errors.Is(err, storage.ErrDiskFull)) {
		return s.clock.write(bound)
	}
	return err
}

// clockBound returns the last bound of the clock that this store persisted.
func (s *Store) clockBound() int64 {
	hs, _ := s.log.HardState(clockGroup)
	return max(int64(hs.Term), s.clockFrom)
}
