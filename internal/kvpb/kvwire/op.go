package kvwire

import (
	"fmt"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Version is the format of requests; a node refuses another by name. Fields that
// are added at the end of a message need no new version.
const Version = 1

// Op is the type of a message's request.
type Op uint8

// The types of requests. Numbers are never reused. Those from 32 to 63 are for commits
// across ranges, see commit.go.
const (
	OpGet     Op = 1
	OpScan    Op = 2
	OpLock    Op = 3
	OpRefresh Op = 4
	OpCommit  Op = 5
	OpRelease Op = 6
	OpSpill   Op = 7
	OpSpilled Op = 8
	OpUnspill Op = 9
	OpFeed    Op = 10
	// OpLockMany is a Lock of many keys.
	OpLockMany Op = 11
	OpReserve  Op = 12

	OpWaits Op = 64 // of no range
)

// opNames are the names of requests for people.
var opNames = map[Op]string{
	OpGet: "get", OpScan: "scan", OpLock: "lock", OpRefresh: "refresh", OpReserve: "reserve", OpCommit: "commit", OpRelease: "release", OpSpill: "spill", OpSpilled: "spilled",
	OpUnspill: "unspill", OpFeed: "feed", OpLockMany: "lock many", OpStage: "stage", OpEndTxn: "end", OpResolve: "resolve", OpPush: "push",
	OpQueryStaged: "query staged", OpWaits: "waits",
}

// String returns the name of a request.
func (o Op) String() string {
	if name := opNames[o]; name != "" {
		return name
	}
	return fmt.Sprintf("%d", uint8(o))
}

// AppendRequest appends the header of a request; the fields of the request follow.
func AppendRequest(dst []byte, op Op, r kvpb.RangeID) []byte {
	return appendUint(append(dst, Version, byte(op)), uint64(r))
}

// DecodeRequest splits a request. body, the fields, aliases b.
func DecodeRequest(b []byte) (op Op, r kvpb.RangeID, body []byte, err error) {
	if len(b) > 0 && b[0] != Version {
		return 0, 0, nil, fmt.Errorf("kvwire: request has format version %d, this program reads %d", b[0], Version)
	}
	f := read(b)
	f.Byte()
	op = Op(f.Byte())
	r = kvpb.RangeID(f.Uvarint())
	return op, r, f.Rest(), f.err()
}

// The first byte of a response.
const (
	statusOK    byte = 0
	statusError byte = 1
)

// AppendOK begins the response to a request that succeeded; the fields of the
// response follow, if it has any.
func AppendOK(dst []byte) []byte { return append(dst, statusOK) }

// AppendFailure appends the whole response to a request that failed.
func AppendFailure(dst []byte, err error) []byte {
	return AppendError(append(dst, statusError), err)
}

// DecodeResponse returns the fields of a response, which alias b, or the error
// with which the request failed. Bytes that are no response give ErrDamaged.
func DecodeResponse(b []byte) (body []byte, err error) {
	if len(b) == 0 {
		return nil, ErrDamaged
	}
	switch b[0] {
	case statusOK:
		return b[1:], nil
	case statusError:
		remote, err := DecodeError(b[1:])
		if err != nil {
			return nil, err
		}
		return nil, remote
	}
	return nil, ErrDamaged
}
