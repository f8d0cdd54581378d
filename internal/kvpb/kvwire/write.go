package kvwire

import (
	"bytes"

	"github.com/lichendb/lichen/internal/kvpb"
)

// AppendCommit appends the fields of a request.
func AppendCommit(b []byte, req *kvpb.CommitRequest) []byte {
	b = appendFlags(appendTxn(b, req.Txn), req.AllReadsHere, req.Spilled, req.Resent, req.AtSnapshot, req.Ingest)
	b = appendTimestamp(appendTimestamp(b, req.MinTS), req.At)
	b = appendSpan(appendBytes(b, req.Anchor), req.SpillSpan)
	b = appendWrites(b, req.Writes)
	b = appendSpans(b, req.Reads)
	b = appendUints(appendUint(b, req.LockTableID), req.LockTableIDs)
	return appendTimestamp(appendKeys(b, req.Locks), req.Deadline)
}

// DecodeCommit reads what AppendCommit wrote.
func DecodeCommit(b []byte, req *kvpb.CommitRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	f.flags(&req.AllReadsHere, &req.Spilled, &req.Resent, &req.AtSnapshot, &req.Ingest)
	req.MinTS, req.At = f.timestamp(), f.timestamp()
	req.Anchor, req.SpillSpan = f.bytes(), f.span()
	req.Writes = f.writes(req.Writes)
	req.Reads = f.spans(req.Reads)
	req.LockTableID, req.LockTableIDs = f.Uvarint(), f.uints(req.LockTableIDs)
	req.Locks = f.keys(req.Locks)
	if f.more() {
		req.Deadline = f.timestamp()
	}
	return f.err()
}

// AppendCommitResponse appends the fields of a response.
func AppendCommitResponse(b []byte, resp *kvpb.CommitResponse) []byte {
	return appendDuration(appendTimestamp(appendTimestamp(b, resp.CommitTS), resp.Lowest), resp.Waited)
}

// DecodeCommitResponse reads what AppendCommitResponse wrote.
func DecodeCommitResponse(b []byte, resp *kvpb.CommitResponse) error {
	f := read(b)
	resp.CommitTS, resp.Lowest = f.timestamp(), f.timestamp()
	resp.Waited = f.lastDuration()
	return f.err()
}

// AppendRelease appends the fields of a request.
func AppendRelease(b []byte, req *kvpb.ReleaseRequest) []byte {
	return appendKeys(appendFlags(appendTxn(b, req.Txn), req.Committed, req.Abandoned), req.Locks)
}

// DecodeRelease reads what AppendRelease wrote.
func DecodeRelease(b []byte, req *kvpb.ReleaseRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	f.flags(&req.Committed, &req.Abandoned)
	req.Locks = f.keys(req.Locks)
	return f.err()
}

// AppendSpill appends the fields of a request.
func AppendSpill(b []byte, req *kvpb.SpillRequest) []byte {
	b = appendBytes(appendTxn(b, req.Txn), req.Anchor)
	b = appendUints(appendWrites(b, req.Writes), req.Positions)
	b = appendUint(appendUint(b, req.Keep), req.Statement)
	b = appendUints(appendKeys(b, req.Locks), req.LockTableIDs)
	return appendFlags(b, req.AtSnapshot)
}

// DecodeSpill reads what AppendSpill wrote.
func DecodeSpill(b []byte, req *kvpb.SpillRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	req.Anchor = f.bytes()
	req.Writes, req.Positions = f.writes(req.Writes), f.uints(req.Positions)
	if len(req.Positions) != len(req.Writes) {
		f.Fail()
	}
	req.Keep, req.Statement = f.Uvarint(), f.Uvarint()
	req.Locks = f.keys(req.Locks)
	if f.more() {
		req.LockTableIDs = f.uints(req.LockTableIDs)
	}
	if f.more() {
		f.flags(&req.AtSnapshot)
	}
	return f.err()
}

// AppendSpilled appends the fields of a request.
func AppendSpilled(b []byte, req *kvpb.SpilledRequest) []byte {
	b = appendUint(appendSpan(appendTxn(b, req.Txn), req.Span), req.Below)
	return appendFlags(appendUint(b, uint64(req.MaxBytes)), req.Reverse)
}

// DecodeSpilled reads what AppendSpilled wrote.
func DecodeSpilled(b []byte, req *kvpb.SpilledRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	req.Span = f.span()
	req.Below = f.Uvarint()
	req.MaxBytes = int(f.Uvarint())
	f.flags(&req.Reverse)
	return f.err()
}

// AppendSpilledResponse appends the answer to a SpilledRequest.
func AppendSpilledResponse(b []byte, resp *kvpb.SpilledResponse) []byte {
	b = appendUint(appendBytes(b, resp.Resume), uint64(len(resp.Writes)))
	for i := range resp.Writes {
		w := &resp.Writes[i]
		b = appendBytes(appendBytes(b, w.Key), w.Value)
		b = appendUint(appendFlags(b, w.Deleted), w.Position)
	}
	return b
}

// DecodeSpilledResponse reads what AppendSpilledResponse wrote.
func DecodeSpilledResponse(b []byte, resp *kvpb.SpilledResponse) error {
	f := read(bytes.Clone(b))
	*resp = kvpb.SpilledResponse{Resume: f.bytes()}
	for n := f.Count(4); n > 0; n-- {
		w := kvpb.SpilledWrite{Key: f.bytes(), Value: f.bytes()}
		f.flags(&w.Deleted)
		w.Position = f.Uvarint()
		resp.Writes = append(resp.Writes, w)
	}
	return f.err()
}

// AppendUnspill appends the fields of a request.
func AppendUnspill(b []byte, req *kvpb.UnspillRequest) []byte {
	b = appendFlags(appendTxn(b, req.Txn), req.Abort)
	return appendUint(appendSpan(appendBytes(b, req.Anchor), req.Span), req.From)
}

// DecodeUnspill reads what AppendUnspill wrote.
func DecodeUnspill(b []byte, req *kvpb.UnspillRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	f.flags(&req.Abort)
	req.Anchor, req.Span = f.bytes(), f.span()
	req.From = f.Uvarint()
	return f.err()
}
