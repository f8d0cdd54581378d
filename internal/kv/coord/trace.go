package coord

import (
	"time"
)

// TracedRequest is a request that a transaction made of ranges.
type TracedRequest struct {
	Kind string // get, scan, lock or commit
	// Start is its key, or where its keys begin, and End where they end, nil of a single one. Both are valid during the call.
	Start, End []byte
	Began      time.Time
	Entries    int // that were read
	Err        error
}

// SetTrace has f told of each request from now on, once it is answered, until the transaction ends; nil: nobody is. Pages that
// are read ahead are not among them.
func (t *Txn) SetTrace(f func(*TracedRequest)) { t.trace = f }

// begins returns when a request begins, if that is traced.
func (t *Txn) begins() (at time.Time) {
	if t.trace != nil {
		at = time.Now()
	}
	return at
}

// ended tells of a request that began at a time.
func (t *Txn) ended(began time.Time, kind string, start, end []byte, entries int, err error) {
	if t.trace != nil {
		t.trace(&TracedRequest{Kind: kind, Start: start, End: end, Began: began, Entries: entries, Err: err})
	}
}
