package dist

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
	"github.com/lichendb/lichen/internal/kvpb/sendertest"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/rpc"
)

// mirror records the request, and answers with the response that the test sets.
type mirror struct {
	asked   any
	value   []byte
	spilled []kvpb.SpilledWrite
	err     error
}

// keep copies a request, whose bytes belong to the message.
func keep[T any](m *mirror, enc []byte, decode func([]byte, *T) error) {
	v := new(T)
	if err := decode(bytes.Clone(enc), v); err != nil {
		panic(err)
	}
	m.asked = v
}

// sender is what answers.
func (m *mirror) sender() kvpb.Sender {
	return sendertest.Script(func(_ context.Context, req, resp any) error {
		m.note(req)
		switch resp := resp.(type) {
		case *kvpb.GetResponse:
			resp.Value, resp.Found, resp.TS = append(resp.Value, m.value...), true, hlc.Timestamp{WallTime: 5}
		case *kvpb.ScanResponse:
			resp.Append([]byte("k"), m.value)
			resp.Resume = []byte("l")
		case *kvpb.LockResponse:
			resp.Value, resp.LockTableID, resp.Acquired = append(resp.Value, m.value...), 3, true
		case *kvpb.CommitResponse:
			resp.CommitTS.WallTime = 8
		case *kvpb.SpilledResponse:
			*resp = kvpb.SpilledResponse{Writes: m.spilled, Resume: []byte("m")}
		}
		return m.err
	})
}

func (m *mirror) note(req any) {
	switch req := req.(type) {
	case *kvpb.GetRequest:
		keep(m, kvwire.AppendGet(nil, req), kvwire.DecodeGet)
	case *kvpb.ScanRequest:
		keep(m, kvwire.AppendScan(nil, req), kvwire.DecodeScan)
	case *kvpb.LockRequest:
		keep(m, kvwire.AppendLock(nil, req), kvwire.DecodeLock)
	case *kvpb.RefreshRequest:
		keep(m, kvwire.AppendRefresh(nil, req), kvwire.DecodeRefresh)
	case *kvpb.ReserveRequest:
		keep(m, kvwire.AppendReserve(nil, req), kvwire.DecodeReserve)
	case *kvpb.CommitRequest:
		keep(m, kvwire.AppendCommit(nil, req), kvwire.DecodeCommit)
	case *kvpb.ReleaseRequest:
		keep(m, kvwire.AppendRelease(nil, req), kvwire.DecodeRelease)
	case *kvpb.SpillRequest:
		keep(m, kvwire.AppendSpill(nil, req), kvwire.DecodeSpill)
	case *kvpb.SpilledRequest:
		keep(m, kvwire.AppendSpilled(nil, req), kvwire.DecodeSpilled)
	case *kvpb.UnspillRequest:
		keep(m, kvwire.AppendUnspill(nil, req), kvwire.DecodeUnspill)
	}
}

type callFunc func(req []byte) ([]byte, error)

func (f callFunc) Call(_ context.Context, _ kvpb.NodeID, _ rpc.Method, req []byte) ([]byte, error) {
	return f(req)
}

// remoteTo returns a Remote that reaches s.
func remoteTo(s kvpb.Sender) *Remote {
	return &Remote{Node: 2, Range: 9, Caller: callFunc(func(req []byte) ([]byte, error) {
		req = bytes.Clone(req)
		out := Serve(context.Background(), hlc.NewSystem(0), nil, func(id kvpb.RangeID) (kvpb.Sender, error) {
			if id != 9 {
				return nil, &kvpb.RangeMismatchError{Range: id}
			}
			return s, nil
		}, req)
		clear(req) // what the message held may not be used any more
		return out, nil
	})}
}

// Every request, response and error survives the way between Remote and Serve.
func TestRemoteAndServe(t *testing.T) {
	ctx := context.Background()
	txn := &kvpb.TxnMeta{ID: kvpb.TxnID{Hi: 1, Lo: 2}, ReadTS: hlc.Timestamp{WallTime: 7}}
	m := &mirror{value: []byte("value"), spilled: []kvpb.SpilledWrite{{Key: []byte("k"), Deleted: true, Position: 4}}}
	r := remoteTo(m.sender())
	var (
		got  kvpb.GetResponse
		rows kvpb.ScanResponse
		held kvpb.LockResponse
		done kvpb.CommitResponse
		back kvpb.SpilledResponse
	)
	k := []byte("k")
	get := &kvpb.GetRequest{Txn: txn, Key: k, MayMove: true}
	scan := &kvpb.ScanRequest{Txn: txn, Start: k, End: []byte("m"), MaxKeys: 3, Spans: []kvpb.Span{{Key: k}, {Key: []byte("l"), EndKey: []byte("lx")}}}
	locks := &kvpb.LockRequest{Txn: txn, Key: k, Strength: lock.Update, Wait: lock.WaitSkip, Timeout: 5}
	reverse := &kvpb.ScanRequest{Txn: txn, Start: k, End: []byte("m"), Reverse: true}
	refresh := &kvpb.RefreshRequest{Txn: txn, Spans: spansOf("b", "cd"), To: hlc.Timestamp{WallTime: 9}}
	reserve := &kvpb.ReserveRequest{Txn: txn, Spans: spansOf("b", "cd"), Hold: 7}
	commit := &kvpb.CommitRequest{Txn: txn, Writes: []kvpb.Write{{Key: k, Value: k}, {Key: []byte("l")}}, AllReadsHere: true}
	release := &kvpb.ReleaseRequest{Txn: txn, Locks: [][]byte{k}, Committed: true}
	spill := &kvpb.SpillRequest{Txn: txn, Writes: []kvpb.Write{{Key: k}}, Positions: []uint64{7}}
	spilled := &kvpb.SpilledRequest{Txn: txn, Span: kvpb.Span{Key: k}, Below: 3, MaxBytes: 5, Reverse: true}
	unspill := &kvpb.UnspillRequest{Txn: txn, Anchor: k, From: 3, Abort: true}
	calls := []struct {
		want any
		do   func() error
	}{
		{get, func() error { return r.Get(ctx, get, &got) }},
		{scan, func() error { return r.Scan(ctx, scan, &rows) }},
		{reverse, func() error { return r.Scan(ctx, reverse, &rows) }},
		{locks, func() error { return r.Lock(ctx, locks, &held) }},
		{refresh, func() error { return r.Refresh(ctx, refresh) }},
		{reserve, func() error { return r.Reserve(ctx, reserve) }},
		{commit, func() error { return r.Commit(ctx, commit, &done) }},
		{release, func() error { return r.Release(ctx, release) }},
		{spill, func() error { return r.Spill(ctx, spill) }},
		{spilled, func() (err error) { back, err = r.Spilled(ctx, spilled); return err }},
		{unspill, func() error { return r.Unspill(ctx, unspill) }},
	}
	for range 2 { // with memory that was used before, too
		for _, c := range calls {
			if err := c.do(); err != nil || !reflect.DeepEqual(m.asked, c.want) {
				t.Errorf("%v: asked %+v, want %+v", err, m.asked, c.want)
			}
		}
		if string(got.Value) != "value" || !got.Found || rows.Len() != 1 || string(rows.Value(0)) != "value" ||
			string(rows.Resume) != "l" || string(held.Value) != "value" || held.LockTableID != 3 || done.CommitTS.WallTime != 8 ||
			!reflect.DeepEqual(back.Writes, m.spilled) || string(back.Resume) != "m" {
			t.Errorf("got %+v %+v %+v %+v %+v", got, rows, held, done, back)
		}
	}
	m.err = &kvpb.RetryError{Reason: "no"}
	for _, c := range calls {
		if err := c.do(); !reflect.DeepEqual(err, m.err) {
			t.Errorf("got %v, want %v", err, m.err)
		}
	}
	r.Range = 8
	var mismatch *kvpb.RangeMismatchError
	if err := r.Get(ctx, get, &got); !errors.As(err, &mismatch) || mismatch.Range != 8 {
		t.Errorf("a range that is not there: %v", err)
	}
}

func TestServeDamage(t *testing.T) {
	all := func(kvpb.RangeID) (kvpb.Sender, error) { return new(mirror).sender(), nil }
	for _, req := range [][]byte{nil, {1}, {1, 1, 1}, {1, 250, 1}, {9, 1, 1}, {1, 2, 1, 255}} {
		body, err := kvwire.DecodeResponse(Serve(context.Background(), hlc.NewSystem(0), nil, all, req))
		if err == nil || body != nil {
			t.Errorf("%x: %x, %v", req, body, err)
		}
	}
}

// After a damaged response the outcome is unknown.
func TestDamagedAnswer(t *testing.T) {
	for _, answer := range [][]byte{nil, {7}, {0}, {1}, {0, 255}} {
		r := &Remote{Node: 2, Caller: callFunc(func([]byte) ([]byte, error) { return answer, nil })}
		var call *callError
		err := r.Commit(context.Background(), &kvpb.CommitRequest{}, &kvpb.CommitResponse{})
		if !errors.As(err, &call) || call.notSent() || !strings.Contains(err.Error(), "node 2") {
			t.Errorf("%x: %v", answer, err)
		}
	}
}

// A large response fails if the node has no memory for it. A small one needs no reservation.
func TestServeReservesResponses(t *testing.T) {
	mem := quota.NewPool("node", 100<<10)
	for _, c := range []struct {
		size    int
		refused bool
	}{{1 << 10, false}, {quota.LargeValue, false}, {200 << 10, true}} {
		m := &mirror{value: make([]byte, c.size)}
		all := func(kvpb.RangeID) (kvpb.Sender, error) { return m.sender(), nil }
		req := kvwire.AppendGet(kvwire.AppendRequest(nil, kvwire.OpGet, 1), &kvpb.GetRequest{Txn: &kvpb.TxnMeta{}, Key: []byte("k")})
		_, err := kvwire.DecodeResponse(Serve(context.Background(), hlc.NewSystem(0), quota.NewValues(mem), all, req))
		var exceeded *quota.ExceededError
		if errors.As(err, &exceeded) != c.refused || err != nil && !c.refused {
			t.Errorf("%d bytes: %v", c.size, err)
		}
	}
}
