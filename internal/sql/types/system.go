package types

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
)

// The types of PostgreSQL's own bookkeeping. Those that are numbers are integers to everything
// else: cid; tid, the block above 16 bits of the offset; xid8 and pg_lsn, which are unsigned,
// less 2^63, which orders as they do.

// NewUint64 returns an xid8 or pg_lsn.
func NewUint64(u uint64) Datum { return NewInt(int64(u ^ 1<<63)) }

// Uint64 returns the value of an xid8 or pg_lsn.
func (d Datum) Uint64() uint64 { return uint64(d.n) ^ 1<<63 }

// NewTID returns a tid.
func NewTID(block uint32, offset uint16) Datum { return NewInt(int64(block)<<16 | int64(offset)) }

// SnapshotValue is a pg_snapshot: transactions below Xmin have ended, none from Xmax on had begun,
// and those of Xip, which rise, were going on.
type SnapshotValue struct {
	Xmin, Xmax uint64
	Xip        []uint64
}

// Valid reports whether the numbers of v are in the order that a snapshot has them in.
func (v SnapshotValue) Valid() bool {
	if v.Xmin == 0 || v.Xmin > v.Xmax || v.Xmax > math.MaxInt64 {
		return false
	}
	last := v.Xmin
	for _, x := range v.Xip {
		if x < last || x >= v.Xmax {
			return false
		}
		last = x
	}
	return true
}

// Sees reports whether what transaction id did is visible in the snapshot.
func (v SnapshotValue) Sees(id uint64) bool {
	_, going := slices.BinarySearch(v.Xip, id)
	return id < v.Xmin || id < v.Xmax && !going
}

// NewOpaque returns a refcursor or a cstring.
func NewOpaque(s string) Datum { return Datum{fam: OpaqueFamily, s: s} }

// NewSnapshot returns a pg_snapshot.
func NewSnapshot(v SnapshotValue) Datum {
	b := strconv.AppendUint(nil, v.Xmin, 10)
	b = append(strconv.AppendUint(append(b, ':'), v.Xmax, 10), ':')
	for i, x := range slices.Compact(v.Xip) {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, x, 10)
	}
	return Datum{fam: OpaqueFamily, s: string(b)}
}

// Snapshot returns the value of a pg_snapshot.
func (d Datum) Snapshot() SnapshotValue {
	v, _ := ScanSnapshot(d.s)
	return v
}

// ScanSnapshot reads "xmin:xmax:xip,xip".
func ScanSnapshot(s string) (v SnapshotValue, ok bool) {
	if v.Xmin, s = ascii.ScanUint(s, 10); !strings.HasPrefix(s, ":") {
		return v, false
	}
	if v.Xmax, s = ascii.ScanUint(s[1:], 10); !strings.HasPrefix(s, ":") {
		return v, false
	}
	for s = s[1:]; s != ""; {
		x, rest := ascii.ScanUint(s, 10)
		if rest != "" && rest[0] != ',' {
			return v, false
		}
		v.Xip = append(v.Xip, x)
		s = strings.TrimPrefix(rest, ",")
	}
	return v, v.Valid()
}
