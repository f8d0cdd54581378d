package pgcatalog

import (
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/statview"
)

// Activity is what a session does.
type Activity struct {
	Node              kvpb.NodeID
	PID               int32
	Session           string // its id in the cluster
	QueryID           string // of the running statement, "" if none runs
	User, Database    string
	Application       string
	Remote            string
	Encryption        *Encryption // nil: in clear
	State, Query      string
	Started           time.Time
	QueryStart, Since time.Time // of the last statement; of the state
	XactStart         time.Time // zero outside a transaction
	Txn               kvpb.TxnID
	Advisory          kvpb.TxnID // what holds its advisory locks; zero if it has none
}

// Encryption is what protects a session's connection.
type Encryption struct {
	Version, Cipher string
	Bits            int
	// ClientDN names the client's certificate, Serial is its number and IssuerDN who signed it;
	// empty if the client showed none.
	ClientDN, Serial, IssuerDN string
}

// Lock is a lock on a key, held or waited for.
type Lock struct {
	Node     kvpb.NodeID
	Range    kvpb.RangeID
	Key      []byte
	Txn      kvpb.TxnID
	Strength lock.Strength
	Waiting  bool
}

// Wait is a transaction's wait for others.
type Wait struct {
	Node     kvpb.NodeID
	Txn      kvpb.TxnID
	Since    time.Time
	Blockers []kvpb.TxnID
}

// ReportRequest says what a Report is about.
type ReportRequest struct {
	// Here leaves out the other nodes.
	Here            bool
	Sessions, Locks bool
	Stats           statview.Request
}

// Report is what the nodes of the cluster reported of their sessions, locks and waits.
type Report struct {
	Sessions []Activity
	Locks    []Lock
	Waits    []Wait
	// Stats has the figures of each node, if they were asked for.
	Stats []statview.Node
	// Cut says that there are more locks or waits than were reported.
	Cut bool
}

// byTxn finds the session of a transaction.
func (r *Report) byTxn() map[kvpb.TxnID]*Activity {
	m := make(map[kvpb.TxnID]*Activity, len(r.Sessions))
	for i := range r.Sessions {
		a := &r.Sessions[i]
		for _, id := range []kvpb.TxnID{a.Txn, a.Advisory} {
			if !id.IsZero() {
				m[id] = a
			}
		}
	}
	return m
}

// waitOf finds the wait of a transaction.
func (r *Report) waitOf() map[kvpb.TxnID]*Wait {
	m := make(map[kvpb.TxnID]*Wait, len(r.Waits))
	for i := range r.Waits {
		m[r.Waits[i].Txn] = &r.Waits[i]
	}
	return m
}

// BlockingPIDs returns the process ids of the sessions that one waits for.
func (r *Report) BlockingPIDs(pid int32) (out []int32) {
	sessions, waits := r.byTxn(), r.waitOf()
	for i := range r.Sessions {
		a := &r.Sessions[i]
		w, ok := a.wait(waits)
		if a.PID != pid || !ok {
			continue
		}
		for _, b := range w.Blockers {
			if o := sessions[b]; o != nil && !slices.Contains(out, o.PID) {
				out = append(out, o.PID)
			}
		}
	}
	return out
}

// report asks for what a relation's rows are made from. A relation about more than the
// answering nodes know says so in a warning.
func (s *snapshot) report(req ReportRequest) (*Report, error) {
	if s.c.h.Report == nil {
		return &Report{}, nil
	}
	r, err := s.c.h.Report(s.ctx, req)
	if err == nil && r.Cut && s.c.h.Warn != nil {
		s.c.h.Warn(pgerr.New(pgerr.Warning, "there are more locks or waits than are shown"))
	}
	return r, err
}

// catalogTxn is a transaction's id as the catalog's own locks print it.
func catalogTxn(id kvpb.TxnID) string { return concurrency.TxnID(id).String() }
