package kvwire

import "github.com/lichendb/lichen/internal/kvpb"

func appendTxnIDs(b []byte, ids []kvpb.TxnID) []byte {
	b = appendUint(b, uint64(len(ids)))
	for _, id := range ids {
		b = appendTxnID(b, id)
	}
	return b
}

func (f *reader) txnIDs() []kvpb.TxnID {
	var out []kvpb.TxnID
	for n := f.Count(2); n > 0; n-- {
		out = append(out, f.txnID())
	}
	return out
}

// AppendWaits appends the fields of a request.
func AppendWaits(b []byte, req *kvpb.WaitsRequest) []byte {
	return appendTxnIDs(appendFlags(b, req.Exact), req.Txns)
}

// DecodeWaits reads what AppendWaits wrote.
func DecodeWaits(b []byte, req *kvpb.WaitsRequest) error {
	f := read(b)
	f.flags(&req.Exact)
	req.Txns = f.txnIDs()
	return f.err()
}

// AppendWaitsResponse appends the fields of a response.
func AppendWaitsResponse(b []byte, resp *kvpb.WaitsResponse) []byte {
	b = appendUint(b, uint64(len(resp.Waits)))
	for i := range resp.Waits {
		w := &resp.Waits[i]
		b = appendTimestamp(appendTxnID(b, w.Txn), w.StartTS)
		b = appendTxnIDs(appendUint(b, w.Number), w.Blockers)
	}
	b = appendUint(b, uint64(len(resp.RemoteWaits)))
	for _, a := range resp.RemoteWaits {
		b = appendUint(appendTxnID(b, a.Txn), uint64(a.Node))
	}
	return appendTxnIDs(b, resp.Ended)
}

// DecodeWaitsResponse reads what AppendWaitsResponse wrote.
func DecodeWaitsResponse(b []byte, resp *kvpb.WaitsResponse) error {
	f := read(b)
	resp.Waits, resp.RemoteWaits = nil, nil
	for n := f.Count(6); n > 0; n-- {
		w := kvpb.Wait{Txn: f.txnID(), StartTS: f.timestamp(), Number: f.Uvarint()}
		w.Blockers = f.txnIDs()
		resp.Waits = append(resp.Waits, w)
	}
	for n := f.Count(3); n > 0; n-- {
		resp.RemoteWaits = append(resp.RemoteWaits, kvpb.RemoteWait{Txn: f.txnID(), Node: kvpb.NodeID(f.Uvarint())})
	}
	if resp.Ended = nil; f.Len() > 0 { // otherwise an older node has sent it
		resp.Ended = f.txnIDs()
	}
	return f.err()
}
