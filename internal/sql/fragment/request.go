package fragment

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/kvwire"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Version is that of requests and answers. A change of the format, of a tag's meaning or of what a function computes is a
// new version.
const Version = 2

// maxObservations bounds the clock readings of an answer.
const maxObservations = 1 << 10

// Request asks a node to run a fragment over the rows in some spans. Each request stands for itself: the node
// keeps nothing between two of them.
type Request struct {
	Table *catalog.Table
	// Descriptor and Plan are what EncodeTable and Encode have written.
	Descriptor []byte
	Plan       []byte
	// Txn is the transaction in whose snapshot the node reads, Observed the clock readings that it has.
	Txn      kvpb.TxnMeta
	Observed []kvpb.Observation
	Spans    []kvpb.Span // sorted, disjoint
	// ReadBytes is how much the node reads at most, about, and AnswerBytes how large its answer becomes: then it says where it
	// has stopped. WorkMem is the memory of an operator from which on it uses temporary files.
	ReadBytes, AnswerBytes, WorkMem int64
	// BatchRows bounds batches of rows; 0: no bound but the usual one.
	BatchRows int
}

// AppendRequest appends a request.
func AppendRequest(dst []byte, q *Request) []byte {
	dst = append(dst, Version)
	dst = binary.AppendUvarint(dst, uint64(q.Table.ID))
	dst = encoding.AppendLenBytes(dst, q.Descriptor)
	dst = encoding.AppendLenBytes(dst, q.Plan)
	scan := kvpb.ScanRequest{Txn: &q.Txn, Spans: q.Spans, Observed: q.Observed}
	dst = encoding.AppendLenBytes(dst, kvwire.AppendScan(nil, &scan))
	for _, v := range []int64{q.ReadBytes, q.AnswerBytes, q.WorkMem, int64(q.BatchRows)} {
		dst = binary.AppendVarint(dst, v)
	}
	return dst
}

// DecodeRequest reads what AppendRequest wrote, and validates what the reader passes on to ranges: no timestamp may be later
// than latest. Its spans alias b.
func DecodeRequest(b []byte, latest hlc.Timestamp) (*Request, error) {
	if len(b) == 0 {
		return nil, errDamaged
	}
	if b[0] != Version {
		return nil, &VersionError{Version: b[0]}
	}
	r := encoding.NewReader(b[1:])
	id := catalog.ID(r.Uvarint())
	q := &Request{Descriptor: r.LenBytes(), Plan: r.LenBytes()}
	scan := kvpb.ScanRequest{Txn: &q.Txn}
	if err := kvwire.DecodeScan(r.LenBytes(), &scan); err != nil {
		return nil, err
	}
	q.Spans, q.Observed = scan.Spans, scan.Observed
	q.ReadBytes, q.AnswerBytes, q.WorkMem, q.BatchRows = r.Varint(), r.Varint(), r.Varint(), int(r.Varint())
	if r.Bad() || r.Len() > 0 || len(q.Spans) == 0 || q.ReadBytes <= 0 || q.AnswerBytes <= 0 || q.BatchRows < 0 {
		return nil, errDamaged
	}
	scan.Start, scan.End = kvpb.Bounds(q.Spans)
	if err := scan.Validate(latest); err != nil {
		return nil, err
	}
	var err error
	q.Table, err = catalog.DecodeTable(id, q.Descriptor)
	return q, err
}

// Answer is what a fragment yields for the spans of a request, or for the first of them.
type Answer struct {
	// Rest is where the node has stopped: what lies from there on must be asked for again. Nil if nothing is left.
	Rest []byte
	// Observed are the first readings of the clocks of leaders that it has met.
	Observed []kvpb.Observation
	// Entries is how many entries of tables and indexes were read, Waited how long for other transactions was waited.
	Entries int64
	Waited  time.Duration
	// Batches are the rows, as vector.AppendEncoded writes them, one batch after the other.
	Batches []byte
}

// The kinds of answers.
const (
	answerRows byte = iota
	answerKVError
	answerSQLError
	answerVersion
)

// AppendAnswer appends an answer.
func AppendAnswer(dst []byte, a *Answer) []byte {
	dst = append(dst, Version, answerRows)
	if a.Rest == nil {
		dst = append(dst, 0)
	} else {
		dst = encoding.AppendLenBytes(append(dst, 1), a.Rest)
	}
	dst = binary.AppendUvarint(dst, uint64(len(a.Observed)))
	for _, o := range a.Observed {
		dst = binary.AppendUvarint(dst, uint64(o.Node))
		dst = binary.AppendUvarint(dst, uint64(o.TS.WallTime))
		dst = binary.AppendUvarint(dst, uint64(o.TS.Logical))
	}
	dst = binary.AppendUvarint(dst, uint64(a.Entries))
	dst = binary.AppendUvarint(dst, uint64(a.Waited))
	return append(dst, a.Batches...)
}

// AppendFailure appends the answer to a request that failed.
func AppendFailure(dst []byte, err error) []byte {
	dst = append(dst, Version)
	if v := new(VersionError); errors.As(err, &v) {
		return append(dst, answerVersion, v.Version)
	}
	if e := new(pgerr.Error); errors.As(err, &e) {
		c := *e
		c.Cause = nil
		if text, err := json.Marshal(&c); err == nil {
			return append(append(dst, answerSQLError), text...)
		}
	}
	return kvwire.AppendError(append(dst, answerKVError), err)
}

// DecodeAnswer reads an answer, whose parts alias b, or returns the error that the request has failed with: those of SQL and
// of the key-value layers as they were, or a VersionError.
func DecodeAnswer(b []byte) (*Answer, error) {
	if len(b) < 2 {
		return nil, errDamaged
	}
	if b[0] != Version {
		return nil, &VersionError{Version: b[0]}
	}
	kind, body := b[1], b[2:]
	switch kind {
	case answerRows:
		return decodeRows(body)
	case answerKVError:
		failure, err := kvwire.DecodeError(body)
		if err != nil {
			return nil, err
		}
		return nil, failure
	case answerSQLError:
		e := &pgerr.Error{}
		if json.Unmarshal(body, e) != nil || e.Code == "" {
			return nil, errDamaged
		}
		return nil, e
	case answerVersion:
		return nil, &VersionError{Version: Version}
	}
	return nil, errDamaged
}

func decodeRows(b []byte) (*Answer, error) {
	r := encoding.NewReader(b)
	a := &Answer{}
	switch r.Byte() {
	case 0:
	case 1:
		a.Rest = r.LenBytes()
	default:
		r.Fail()
	}
	n := r.Count(3)
	if n > maxObservations {
		return nil, errDamaged
	}
	for range n {
		o := kvpb.Observation{Node: kvpb.NodeID(r.Uvarint())}
		o.TS = hlc.Timestamp{WallTime: int64(r.Uvarint()), Logical: uint32(r.Uvarint())}
		a.Observed = append(a.Observed, o)
	}
	a.Entries, a.Waited = int64(r.Uvarint()), time.Duration(r.Uvarint())
	if r.Bad() || a.Entries < 0 || a.Waited < 0 {
		return nil, errDamaged
	}
	a.Batches = r.Rest()
	return a, nil
}

// VersionError says that a message has a version that this node, or the other one, does not know.
type VersionError struct{ Version byte }

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("fragments of version %d are not known everywhere: this node has version %d", e.Version, Version)
}
