package stringfuncs

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"hash"
	"time"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The name spaces that RFC 9562, section 6.6, gives for version 3 and 5.
const (
	uuidDNS  = "\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"
	uuidURL  = "\x6b\xa7\xb8\x11\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"
	uuidOID  = "\x6b\xa7\xb8\x12\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"
	uuidX500 = "\x6b\xa7\xb8\x14\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"
)

// gregorianTicks is the Unix epoch in units of 100 ns since 15 October 1582, from which
// UUIDs of version 1 count.
const gregorianTicks = 0x01b21dd213814000

// uuidFunctions are those of PostgreSQL's extension uuid-ossp. The node of a version 1
// is always random, so that v1 and v1mc are the same.
func uuidFunctions() []*call.Overload {
	constant := func(name, v string) *call.Overload {
		return call.Fn(name+"() uuid", func(*call.Context, []types.Datum) (types.Datum, error) { return types.NewUUID(v), nil })
	}
	return []*call.Overload{
		call.Fn("uuid_generate_v1() uuid", timeUUID).Volatile(), call.Fn("uuid_generate_v1mc() uuid", timeUUID).Volatile(),
		call.Fn("uuid_generate_v3(uuid,text) uuid", nameUUID(md5.New, 3)), call.Fn("uuid_generate_v4() uuid", randomUUID).Volatile(),
		call.Fn("uuid_generate_v5(uuid,text) uuid", nameUUID(sha1.New, 5)),
		constant("uuid_nil", string(make([]byte, 16))),
		constant("uuid_ns_dns", uuidDNS), constant("uuid_ns_url", uuidURL),
		constant("uuid_ns_oid", uuidOID), constant("uuid_ns_x500", uuidX500),
	}
}

// stamped sets the version and variant of a UUID.
func stamped(b []byte, version byte) types.Datum {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	return types.NewUUID(string(b[:16]))
}

func nameUUID(sum func() hash.Hash, version byte) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		h := sum()
		h.Write([]byte(a[0].Str()))
		h.Write([]byte(a[1].Str()))
		return stamped(h.Sum(nil), version), nil
	}
}

// timeUUID is a version 1 with a random clock sequence and multicast node.
func timeUUID(*call.Context, []types.Datum) (types.Datum, error) {
	var b [16]byte
	_, _ = rand.Read(b[8:]) // ends the process rather than fail
	ticks := uint64(time.Now().UnixNano()/100) + gregorianTicks
	binary.BigEndian.PutUint32(b[0:], uint32(ticks))
	binary.BigEndian.PutUint16(b[4:], uint16(ticks>>32))
	binary.BigEndian.PutUint16(b[6:], uint16(ticks>>48))
	b[10] |= 1
	return stamped(b[:], 1), nil
}
