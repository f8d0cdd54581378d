package kv_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
)

// draw makes requests of one range with few keys, transactions and timestamps, so that requests
// meet each other. Now and then a field has a value that no gateway gives it.
type draw struct {
	*rand.Rand
	made  uint64 // requests: transactions come and go
	id    kvpb.RangeID
	keys  map[kvpb.RangeID][][]byte
	times []hlc.Timestamp // of which the last two are odd
}

// oddFields is how many fields there are to an odd one.
const oddFields = 24

func (d *draw) odd() bool { return d.IntN(oddFields) == 0 }

func oneOf[T any](d *draw, all ...T) T { return all[d.IntN(len(all))] }

func (d *draw) key() []byte {
	if d.odd() {
		return oneOf(d, nil, []byte{}, []byte{0xff, 0xff}, d.keys[3-d.id][0])
	}
	return oneOf(d, d.keys[d.id]...)
}

// sorted returns up to three keys, in the order in which most requests have them.
func (d *draw) sorted(least int) (out [][]byte) {
	for range least + d.IntN(4-least) {
		out = append(out, d.key())
	}
	if !d.odd() {
		slices.SortFunc(out, bytes.Compare)
		out = slices.CompactFunc(out, bytes.Equal)
	}
	return out
}

func (d *draw) span() kvpb.Span {
	ends := d.sorted(2)
	return kvpb.Span{Key: ends[0], EndKey: ends[len(ends)-1]}
}

func (d *draw) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case hlc.Timestamp:
		n := len(d.times)
		if !d.odd() {
			n -= 2
		}
		v.Set(reflect.ValueOf(d.times[d.IntN(n)]))
	case kvpb.TxnID:
		v.Set(reflect.ValueOf(kvpb.TxnID{Hi: 1 << 48, Lo: 1 + d.made/100 + d.Uint64N(4)}))
		if d.odd() {
			v.SetZero()
		}
	case kvpb.Span:
		v.Set(reflect.ValueOf(d.span()))
	case []byte:
		v.SetBytes(d.key())
	case [][]byte:
		v.Set(reflect.ValueOf(d.sorted(0)))
	default:
		d.fillKind(v)
	}
}

func (d *draw) fillKind(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			d.fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.fill(v.Elem())
	case reflect.Bool:
		v.SetBool(d.IntN(2) == 0)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(oneOf[uint64](d, 1, 2))
		if d.odd() {
			v.SetUint(oneOf[uint64](d, 0, 3, 4, 200))
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(oneOf[int64](d, 0, 1, 100))
		if d.odd() {
			v.SetInt(-1)
		}
	case reflect.Slice:
		n := d.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			d.fill(v.Index(i))
		}
	}
}

func (d *draw) writes() (out []kvpb.Write) {
	for _, k := range d.sorted(0) {
		out = append(out, kvpb.Write{Key: k, Value: oneOf(d, nil, []byte("value"))})
	}
	return out
}

// fit makes the parts of a request fit each other, as those of most do.
func (d *draw) fit(req any) {
	var locks [][]byte
	var tables *[]uint64
	switch r := req.(type) {
	case *kvpb.ScanRequest:
		s := d.span()
		r.Start, r.End = s.Key, s.EndKey
		if !d.odd() {
			r.Spans = nil
		}
	case *kvpb.CommitRequest:
		r.Writes, locks, tables = d.writes(), r.Locks, &r.LockTableIDs
	case *kvpb.StageRequest:
		r.Writes, locks, tables = d.writes(), r.Locks, &r.LockTableIDs
	case *kvpb.SpillRequest:
		r.Writes, locks, tables = d.writes(), r.Locks, &r.LockTableIDs
		r.Positions = make([]uint64, len(r.Writes))
		for i := range r.Positions {
			r.Positions[i] = d.Uint64N(4)
		}
	}
	if tables != nil && len(locks) != len(*tables) && !d.odd() {
		*tables = nil
	}
}

// damaged returns one request of a kind, every tenth with a bit that is wrong.
func damaged[T any](d *draw, op kvwire.Op, encode func([]byte, *T) []byte) []byte {
	req := new(T)
	d.made++
	d.id = oneOf[kvpb.RangeID](d, 1, 2)
	d.fill(reflect.ValueOf(req).Elem())
	d.fit(req)
	p := encode(kvwire.AppendRequest(nil, op, d.id), req)
	if d.IntN(10) == 0 {
		p[3+d.IntN(len(p)-3)] ^= 1 << d.IntN(8)
	}
	return p
}

func (d *draw) request() []byte {
	switch d.IntN(16) {
	case 0:
		return damaged(d, kvwire.OpGet, kvwire.AppendGet)
	case 1:
		return damaged(d, kvwire.OpScan, kvwire.AppendScan)
	case 2:
		return damaged(d, kvwire.OpLock, kvwire.AppendLock)
	case 3:
		return damaged(d, kvwire.OpLockMany, kvwire.AppendLockMany)
	case 4:
		return damaged(d, kvwire.OpRefresh, kvwire.AppendRefresh)
	case 5:
		return damaged(d, kvwire.OpCommit, kvwire.AppendCommit)
	case 6:
		return damaged(d, kvwire.OpRelease, kvwire.AppendRelease)
	case 7:
		return damaged(d, kvwire.OpSpill, kvwire.AppendSpill)
	case 8:
		return damaged(d, kvwire.OpSpilled, kvwire.AppendSpilled)
	case 9:
		return damaged(d, kvwire.OpUnspill, kvwire.AppendUnspill)
	case 10:
		return damaged(d, kvwire.OpStage, kvwire.AppendStage)
	case 11:
		return damaged(d, kvwire.OpEndTxn, kvwire.AppendEndTxn)
	case 12:
		return damaged(d, kvwire.OpResolve, kvwire.AppendResolve)
	case 13:
		return damaged(d, kvwire.OpPush, kvwire.AppendPush)
	case 14:
		return damaged(d, kvwire.OpQueryStaged, kvwire.AppendQueryStaged)
	}
	return damaged(d, kvwire.OpFeed, kvwire.AppendFeed)
}

// damagedTimeout is how long a request that waits for another may wait.
const damagedTimeout = time.Millisecond

// Whatever another node asks for, the answer is a response or an error: nothing panics, and
// afterwards the store serves as before.
func TestDamagedRequests(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { serveDamaged(t, seed, 2000) })
	}
}

func serveDamaged(t *testing.T, seed uint64, n int) {
	c := newRanges(t, fs.NewMem(), "m")
	defer c.close()
	ctx, clock := context.Background(), hlc.NewSystem(time.Second)
	now := clock.Now()
	d := &draw{
		Rand: rand.New(rand.NewPCG(seed, 0)),
		keys: map[kvpb.RangeID][][]byte{1: {key("a"), key("b"), key("c")}, 2: {key("m"), key("n"), key("o")}},
		times: []hlc.Timestamp{
			{}, {WallTime: 1}, now, now.Next(), {WallTime: now.WallTime + 1e6}, {WallTime: now.WallTime + 1e15}, hlc.MaxTimestamp,
		},
	}
	find := func(id kvpb.RangeID) (kvpb.Sender, error) {
		r, ok := c.store.Replica(id)
		if !ok {
			return nil, &kvpb.RangeMismatchError{Range: id}
		}
		return r, nil
	}
	for range n {
		p := d.request()
		ctx, cancel := context.WithTimeout(ctx, damagedTimeout)
		out := dist.Serve(ctx, clock, nil, find, p)
		cancel()
		if len(out) == 0 {
			t.Fatalf("no answer to %x", p)
		}
	}
	c.gateway().mustSet("after", "d", "x") // which no request has met
}
