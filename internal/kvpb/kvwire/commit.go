package kvwire

import (
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// The requests of commits across ranges.
const (
	OpStage       Op = 32
	OpEndTxn      Op = 33
	OpResolve     Op = 34
	OpPush        Op = 35
	OpQueryStaged Op = 36
)

func appendUints(b []byte, v []uint64) []byte {
	b = appendUint(b, uint64(len(v)))
	for _, u := range v {
		b = appendUint(b, u)
	}
	return b
}

func (f *reader) uints(old []uint64) []uint64 {
	out := old[:0]
	for n := f.Count(1); n > 0; n-- {
		out = append(out, f.Uvarint())
	}
	return out
}

// AppendStage appends the fields of a request.
func AppendStage(b []byte, req *kvpb.StageRequest) []byte {
	b = appendFlags(appendTxn(b, req.Txn), req.Spilled, req.Record, req.Recorded)
	b = appendUint(appendTimestamp(b, req.TS), uint64(req.Attempt))
	b = appendWrites(appendBytes(b, req.Anchor), req.Writes)
	b = appendUints(appendKeys(b, req.Locks), req.LockTableIDs)
	return appendTimestamp(appendSpan(appendKeys(b, req.Keys), req.Span), req.Deadline)
}

// DecodeStage reads what AppendStage wrote.
func DecodeStage(b []byte, req *kvpb.StageRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	f.flags(&req.Spilled, &req.Record, &req.Recorded)
	req.TS, req.Attempt = f.timestamp(), f.uint32()
	req.Anchor = f.bytes()
	req.Writes = f.writes(req.Writes)
	req.Locks = f.keys(req.Locks)
	req.LockTableIDs = f.uints(req.LockTableIDs)
	req.Keys = f.keys(req.Keys)
	req.Span = f.span()
	if f.more() {
		req.Deadline = f.timestamp()
	}
	return f.err()
}

func (f *reader) uint32() uint32 {
	v := f.Uvarint()
	if v > 1<<32-1 {
		f.Fail()
		return 0
	}
	return uint32(v)
}

// AppendStageResponse appends the fields of a response.
func AppendStageResponse(b []byte, resp *kvpb.StageResponse) []byte {
	b = appendFlags(appendTimestamp(appendTimestamp(b, resp.Lowest), resp.CommitTS), resp.Queried)
	return appendDuration(b, resp.Waited)
}

// DecodeStageResponse reads what AppendStageResponse wrote.
func DecodeStageResponse(b []byte, resp *kvpb.StageResponse) error {
	f := read(b)
	resp.Lowest, resp.CommitTS = f.timestamp(), f.timestamp()
	if f.more() {
		f.flags(&resp.Queried)
	}
	resp.Waited = f.lastDuration()
	return f.err()
}

// AppendEndTxn appends the fields of a request.
func AppendEndTxn(b []byte, req *kvpb.EndTxnRequest) []byte {
	b = append(appendBytes(appendTxn(b, req.Txn), req.Anchor), byte(req.Action))
	b = appendTimestamp(appendUint(appendTimestamp(b, req.TS), uint64(req.Attempt)), req.Since)
	return appendFlags(b, req.Deferrable)
}

// DecodeEndTxn reads what AppendEndTxn wrote.
func DecodeEndTxn(b []byte, req *kvpb.EndTxnRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	req.Anchor = f.bytes()
	req.Action = enum(&f, kvpb.EndCommit, kvpb.EndForget)
	req.TS, req.Attempt = f.timestamp(), f.uint32()
	req.Since = f.timestamp()
	if f.more() {
		f.flags(&req.Deferrable)
	}
	return f.err()
}

// AppendEndTxnResponse appends the fields of a response.
func AppendEndTxnResponse(b []byte, resp *kvpb.EndTxnResponse) []byte {
	b = appendTimestamp(appendTimestamp(append(b, byte(resp.Status)), resp.CommitTS), resp.Lowest)
	return appendFlags(b, resp.Forgotten)
}

// DecodeEndTxnResponse reads what AppendEndTxnResponse wrote.
func DecodeEndTxnResponse(b []byte, resp *kvpb.EndTxnResponse) error {
	f := read(b)
	resp.Status = enum(&f, kvpb.TxnPending, kvpb.TxnAborted)
	resp.CommitTS, resp.Lowest = f.timestamp(), f.timestamp()
	f.flags(&resp.Forgotten)
	return f.err()
}

// AppendResolve appends the fields of a request.
func AppendResolve(b []byte, req *kvpb.ResolveRequest) []byte {
	b = appendTimestamp(appendFlags(appendTxnID(b, req.Txn), req.Commit), req.TS)
	return appendFlags(appendKeys(appendSpan(appendKeys(b, req.Keys), req.Span), req.Locks), req.Deferrable)
}

// DecodeResolve reads what AppendResolve wrote.
func DecodeResolve(b []byte, req *kvpb.ResolveRequest) error {
	f := read(b)
	req.Txn = f.txnID()
	f.flags(&req.Commit)
	req.TS = f.timestamp()
	req.Keys = f.keys(req.Keys)
	req.Span = f.span()
	req.Locks = f.keys(req.Locks)
	if f.more() {
		f.flags(&req.Deferrable)
	}
	return f.err()
}

// AppendPush appends the fields of a request.
func AppendPush(b []byte, req *kvpb.PushRequest) []byte {
	b = appendTimestamp(appendBytes(appendTxnID(b, req.Txn), req.Anchor), req.TS)
	return appendInt(b, int64(req.Waited))
}

// DecodePush reads what AppendPush wrote.
func DecodePush(b []byte, req *kvpb.PushRequest) error {
	f := read(b)
	req.Txn = f.txnID()
	req.Anchor = f.bytes()
	req.TS = f.timestamp()
	req.Waited = time.Duration(f.Varint())
	return f.err()
}

// AppendPushResponse appends the fields of a response.
func AppendPushResponse(b []byte, resp *kvpb.PushResponse) []byte {
	return appendTimestamp(appendFlags(append(b, byte(resp.Status)), resp.Above), resp.CommitTS)
}

// DecodePushResponse reads what AppendPushResponse wrote.
func DecodePushResponse(b []byte, resp *kvpb.PushResponse) error {
	f := read(b)
	resp.Status = enum(&f, kvpb.TxnPending, kvpb.TxnAborted)
	f.flags(&resp.Above)
	resp.CommitTS = f.timestamp()
	return f.err()
}

// AppendQueryStaged appends the fields of a request.
func AppendQueryStaged(b []byte, req *kvpb.QueryStagedRequest) []byte {
	b = appendKeys(appendTxnID(b, req.Txn), req.Keys)
	return appendFlags(appendUint(appendTimestamp(b, req.TS), uint64(req.Attempt)), req.Peek)
}

// DecodeQueryStaged reads what AppendQueryStaged wrote.
func DecodeQueryStaged(b []byte, req *kvpb.QueryStagedRequest) error {
	f := read(b)
	req.Txn = f.txnID()
	req.Keys = f.keys(req.Keys)
	req.TS, req.Attempt = f.timestamp(), f.uint32()
	f.flags(&req.Peek)
	return f.err()
}

// AppendQueryStagedResponse appends the fields of a response.
func AppendQueryStagedResponse(b []byte, resp *kvpb.QueryStagedResponse) []byte {
	return appendFlags(b, resp.Present)
}

// DecodeQueryStagedResponse reads what AppendQueryStagedResponse wrote.
func DecodeQueryStagedResponse(b []byte, resp *kvpb.QueryStagedResponse) error {
	f := read(b)
	f.flags(&resp.Present)
	return f.err()
}
