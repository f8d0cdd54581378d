package kvwire

import (
	"math"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// AppendGet appends the fields of a request.
func AppendGet(b []byte, req *kvpb.GetRequest) []byte {
	b = appendBytes(appendTxn(b, req.Txn), req.Key)
	return appendObservations(appendFlags(b, req.MayMove), req.Observed)
}

// DecodeGet reads what AppendGet wrote. As in all requests, the transaction is
// read into *req.Txn if that is set, and keys alias b.
func DecodeGet(b []byte, req *kvpb.GetRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	req.Key = f.bytes()
	f.flags(&req.MayMove)
	req.Observed = f.observations(req.Observed)
	return f.err()
}

// AppendGetResponse appends the fields of a response.
func AppendGetResponse(b []byte, resp *kvpb.GetResponse) []byte {
	b = appendTimestamp(appendFlags(b, resp.Found), resp.TS)
	b = appendTimestamp(b, resp.ReadTS)
	return appendDuration(appendObservation(appendBytes(b, resp.Value), resp.Observed), resp.Waited)
}

// DecodeGetResponse reads what AppendGetResponse wrote.
func DecodeGetResponse(b []byte, resp *kvpb.GetResponse) error {
	f := read(b)
	f.flags(&resp.Found)
	resp.TS = f.timestamp()
	resp.ReadTS = f.timestamp()
	resp.Value = append(resp.Value[:0], f.bytes()...)
	resp.Observed = f.observation()
	resp.Waited = f.lastDuration()
	return f.err()
}

// AppendScan appends the fields of a request.
func AppendScan(b []byte, req *kvpb.ScanRequest) []byte {
	b = appendBytes(appendBytes(appendTxn(b, req.Txn), req.Start), req.End)
	b = appendInt(appendInt(b, int64(req.MaxKeys)), int64(req.MaxBytes))
	b = appendSpans(appendFlags(b, req.Reverse, req.MayMove), req.Spans)
	return appendObservations(appendTimestamp(b, req.ChangedSince), req.Observed)
}

// DecodeScan reads what AppendScan wrote.
func DecodeScan(b []byte, req *kvpb.ScanRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	req.Start, req.End = f.bytes(), f.bytes()
	req.MaxKeys, req.MaxBytes = int(f.Varint()), int(f.Varint())
	f.flags(&req.Reverse, &req.MayMove)
	req.Spans = f.spans(req.Spans)
	req.ChangedSince = f.timestamp()
	req.Observed = f.observations(req.Observed)
	return f.err()
}

// AppendScanResponse appends the fields of a response: how long each key and
// value is, then the keys and values.
func AppendScanResponse(b []byte, resp *kvpb.ScanResponse) []byte {
	b = appendTimestamp(appendBytes(b, resp.Resume), resp.ReadTS)
	b = appendUint(b, uint64(resp.Len()))
	o := resp.Offsets
	whole := true // the rows follow each other without gaps
	for i := 0; i+2 < len(o); i += 3 {
		b = appendUint(appendUint(b, uint64(o[i+1]-o[i])), uint64(o[i+2]-o[i+1]))
		whole = whole && (i == 0 || o[i] == o[i-1])
	}
	if len(o) >= 3 && whole {
		b = append(b, resp.Arena[o[0]:o[len(o)-1]]...)
	} else {
		for i := range resp.Len() {
			b = append(append(b, resp.Key(i)...), resp.Value(i)...)
		}
	}
	return appendDuration(appendObservation(b, resp.Observed), resp.Waited)
}

// DecodeScanResponse reads what AppendScanResponse wrote.
func DecodeScanResponse(b []byte, resp *kvpb.ScanResponse) error {
	f := read(b)
	resp.Reset()
	if p := f.bytes(); p != nil {
		resp.Resume = append([]byte{}, p...)
	}
	resp.ReadTS = f.timestamp()
	end := uint64(0)
	for n := f.Count(2); n > 0; n-- {
		key, value := f.Uvarint(), f.Uvarint()
		if key > math.MaxUint32 || value > math.MaxUint32 || end+key+value > math.MaxUint32 {
			f.Fail()
			break
		}
		resp.Offsets = append(resp.Offsets, uint32(end), uint32(end+key), uint32(end+key+value))
		end += key + value
	}
	resp.Arena = append(resp.Arena, f.Take(end)...)
	resp.Observed = f.observation()
	resp.Waited = f.lastDuration()
	if f.Bad() {
		resp.Reset() // its offsets may lie outside the arena
	}
	return f.err()
}

// AppendLock appends the fields of a request.
func AppendLock(b []byte, req *kvpb.LockRequest) []byte {
	b = appendBytes(appendTxn(b, req.Txn), req.Key)
	b = append(b, byte(req.Strength), byte(req.Wait))
	return appendInt(appendFlags(b, req.HoldsLocks), int64(req.Timeout))
}

// DecodeLock reads what AppendLock wrote.
func DecodeLock(b []byte, req *kvpb.LockRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	req.Key = f.bytes()
	req.Strength = enum(&f, lock.KeyShare, lock.NumStrengths-1)
	req.Wait = enum(&f, lock.WaitBlock, lock.WaitSkip)
	f.flags(&req.HoldsLocks)
	req.Timeout = time.Duration(f.Varint())
	return f.err()
}

// AppendLockResponse appends the fields of a response.
func AppendLockResponse(b []byte, resp *kvpb.LockResponse) []byte {
	return appendDuration(appendLockResponse(b, resp), resp.Waited)
}

// appendLockResponse leaves out what one of many has not.
func appendLockResponse(b []byte, resp *kvpb.LockResponse) []byte {
	b = appendFlags(b, resp.Found, resp.Skipped, resp.Acquired, resp.Resent)
	b = appendUint(appendTimestamp(b, resp.TS), resp.LockTableID)
	return appendBytes(b, resp.Value)
}

// DecodeLockResponse reads what AppendLockResponse wrote.
func DecodeLockResponse(b []byte, resp *kvpb.LockResponse) error {
	f := read(b)
	f.lockResponse(resp)
	resp.Waited = f.lastDuration()
	return f.err()
}

func (f *reader) lockResponse(resp *kvpb.LockResponse) {
	f.flags(&resp.Found, &resp.Skipped, &resp.Acquired, &resp.Resent)
	resp.TS = f.timestamp()
	resp.LockTableID = f.Uvarint()
	resp.Value = append(resp.Value[:0], f.bytes()...)
}

// AppendLockMany appends the fields of a request.
func AppendLockMany(b []byte, req *kvpb.LockManyRequest) []byte {
	b = append(appendTxn(b, req.Txn), byte(req.Strength))
	return appendKeys(appendFlags(b, req.HoldsLocks, req.Seen), req.Keys)
}

// DecodeLockMany reads what AppendLockMany wrote.
func DecodeLockMany(b []byte, req *kvpb.LockManyRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	req.Strength = enum(&f, lock.KeyShare, lock.NumStrengths-1)
	f.flags(&req.HoldsLocks, &req.Seen)
	req.Keys = f.keys(req.Keys)
	return f.err()
}

// AppendLockManyResponse appends the fields of a response.
func AppendLockManyResponse(b []byte, resp *kvpb.LockManyResponse) []byte {
	b = appendUint(b, uint64(len(resp.Locks)))
	for i := range resp.Locks {
		b = appendLockResponse(b, &resp.Locks[i])
	}
	return b
}

// DecodeLockManyResponse reads what AppendLockManyResponse wrote.
func DecodeLockManyResponse(b []byte, resp *kvpb.LockManyResponse) error {
	f := read(b)
	resp.Locks = nil
	if n := f.Count(minLockResponse); n > 0 {
		resp.Locks = make([]kvpb.LockResponse, n)
	}
	for i := range resp.Locks {
		f.lockResponse(&resp.Locks[i])
	}
	return f.err()
}

// minLockResponse is the least size of an encoded LockResponse.
const minLockResponse = 4

// AppendRefresh appends the fields of a request.
func AppendRefresh(b []byte, req *kvpb.RefreshRequest) []byte {
	b = appendTimestamp(appendTimestamp(appendTxn(b, req.Txn), req.From), req.To)
	return appendSpans(appendUint(b, 0), req.Spans) // 0: the request was a reservation once, for a time
}

// DecodeRefresh reads what AppendRefresh wrote.
func DecodeRefresh(b []byte, req *kvpb.RefreshRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	req.From, req.To = f.timestamp(), f.timestamp()
	f.Uvarint()
	req.Spans = f.spans(req.Spans)
	return f.err()
}

// AppendReserve appends the fields of a request.
func AppendReserve(b []byte, req *kvpb.ReserveRequest) []byte {
	return appendSpans(appendUint(appendTxn(b, req.Txn), uint64(req.Hold)), req.Spans)
}

// DecodeReserve reads what AppendReserve wrote.
func DecodeReserve(b []byte, req *kvpb.ReserveRequest) error {
	f := read(b)
	req.Txn = f.txn(req.Txn)
	req.Hold = time.Duration(f.Uvarint())
	req.Spans = f.spans(req.Spans)
	return f.err()
}
