package lease

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/scripttest"
)

// TestScripts runs the stories of testdata/leases. A step is an event at a leader, whose replica is 1,
// on store 1, or at the gate of its row locks. Replica n is on store n. Times are in seconds.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/leases", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			scripttest.File(t, path, func(t *testing.T, _ *datadriven.TestData) scripttest.Step {
				s := &script{t: t, cells: map[kvpb.StoreID]*liveness.Cell{}, gate: NewLockGate(), inside: map[string]bool{}}
				return func(words []string) []string { return scripttest.Line(s.op(words)) }
			})
		})
	})
}

type script struct {
	t       *testing.T
	desc    kvpb.RangeDescriptor
	cells   map[kvpb.StoreID]*liveness.Cell
	lease   *Lease
	seen    *Supporters
	applied bool // all that is known to be committed
	down    *StepDown

	gate     LockGate
	inside   map[string]bool
	exported []byte
}

func (s *script) num(f string) int64 {
	n, err := strconv.ParseInt(f, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) time(f string) hlc.Timestamp {
	return hlc.Timestamp{WallTime: s.num(f) * int64(time.Second)}
}

func (s *script) from(id kvpb.StoreID) *liveness.Cell {
	if s.cells[id] == nil {
		s.cells[id] = new(liveness.Cell)
	}
	return s.cells[id]
}

var types = map[byte]kvpb.ReplicaType{'v': kvpb.Voter, 'i': kvpb.VoterIncoming, 'o': kvpb.VoterOutgoing, 'l': kvpb.Learner}

func (s *script) op(f []string) string {
	switch f[0] {
	case "range": // range ID 1v 2v 3l...: voter, incoming, outgoing, learner
		s.desc = kvpb.RangeDescriptor{RangeID: kvpb.RangeID(s.num(f[1]))}
		for _, r := range f[2:] {
			id := s.num(r[:len(r)-1])
			s.desc.Replicas = append(s.desc.Replicas, kvpb.ReplicaDescriptor{
				Node: kvpb.NodeID(id), Store: kvpb.StoreID(id), Replica: kvpb.ReplicaID(id), Type: types[r[len(r)-1]],
			})
		}
		if s.lease != nil {
			s.lease = New(s.lease.Term, s.lease.Revoked, 1, &s.desc, s.lease, s.from)
		}
	case "lead": // lead TERM
		s.lease, s.applied = New(uint64(s.num(f[1])), new(atomic.Bool), 1, &s.desc, nil, s.from), true
	case "support": // support STORE EPOCH UNTIL
		s.from(kvpb.StoreID(s.num(f[1]))).Set(&liveness.Support{Epoch: s.num(f[2]), Until: s.time(f[3])})
	case "answer": // answer REPLICA EPOCH
		if v, ok := s.lease.Supporter(kvpb.ReplicaID(s.num(f[1]))); ok {
			v.NoteAnswer(s.num(f[2]), func() bool { return s.applied })
		}
	case "match": // match REPLICA INDEX
		if v, ok := s.lease.Supporter(kvpb.ReplicaID(s.num(f[1]))); ok {
			v.NoteMatch(uint64(s.num(f[2])))
		}
	case "behind":
		s.applied = false
	case "caught-up":
		s.applied = true
	case "revoke":
		s.lease.Revoked.Store(true)
	case "read": // read TIME [OFFSET]
		return map[bool]string{true: "answered", false: "refused"}[s.lease.Covers(s.time(f[1]), s.offset(f[2:]))]
	case "supporters":
		s.seen = s.lease.Supporters(0)
	case "close": // close TIME for all ranges with these supporters
		return map[bool]string{true: "closed", false: "not covered"}[s.seen.Cover(s.time(f[1]))]
	case "rank", "electable", "candidates":
		return s.elect(f[0], f[1:])
	case "step-down", "tick":
		return s.stepDown(f)
	default:
		return s.transfer(f)
	}
	return ""
}

func (s *script) offset(f []string) time.Duration {
	if len(f) == 0 {
		return 0
	}
	return time.Duration(s.num(f[0])) * time.Second
}

// elect answers for the stores that are there; with a d, those of nodes that drain.
func (s *script) elect(what string, there []string) string {
	standing := func(id kvpb.StoreID) Standing {
		switch {
		case slices.Contains(there, fmt.Sprint(id)):
			return Staying
		case slices.Contains(there, fmt.Sprint(id, "d")):
			return Leaving
		}
		return Absent
	}
	is := func(id kvpb.StoreID) bool { return standing(id) != Absent }
	switch what {
	case "electable":
		return fmt.Sprint(Electable(&s.desc, is))
	case "candidates":
		var ids []kvpb.ReplicaID
		for _, d := range s.lease.Candidates(&s.desc, 1, standing) {
			ids = append(ids, d.Replica)
		}
		return fmt.Sprint(ids)
	}
	var out []string
	for _, d := range s.desc.Replicas {
		if n, ok := Rank(&s.desc, d.Replica, standing); ok && is(d.Store) {
			out = append(out, fmt.Sprintf("%d after %d others", d.Replica, n))
		}
	}
	return strings.Join(out, ", ")
}

func (s *script) stepDown(f []string) string {
	if f[0] == "step-down" {
		s.down = &StepDown{}
		for _, id := range f[1:] {
			s.down.Candidates = append(s.down.Candidates, kvpb.ReplicaID(s.num(id)))
		}
	} else if !s.down.Due() {
		return ""
	}
	to, ok := s.down.Ask()
	if !ok {
		return "nobody is left"
	}
	return fmt.Sprintf("TimeoutNow to %d", to)
}

func (s *script) transfer(f []string) string {
	switch f[0] {
	case "enter":
		if s.inside[f[1]] = s.gate.Enter(); s.inside[f[1]] {
			return "inside"
		}
		return "refused"
	case "reenter":
		s.inside[f[1]] = true
		if s.gate.Reenter() {
			return "inside"
		}
		return "the locks may have left"
	case "leave":
		delete(s.inside, f[1])
		s.gate.Leave()
	case "begin":
		return map[bool]string{true: "", false: "another transfer is under way"}[s.gate.Begin()]
	case "shut":
		s.gate.Shut()
	case "drain": // drain SECONDS
		return map[bool]string{true: "nobody is inside", false: "requests take too long"}[s.gate.Drained(s.offset(f[1:]))]
	case "export": // export TERM KEY...
		tr := Transfer{Term: uint64(s.num(f[1])), LockTableID: 7, Subsumed: []uint64{3}, Abandoned: []kvpb.TxnID{{Lo: 9}}}
		for _, k := range f[2:] {
			tr.Locks = append(tr.Locks, concurrency.Lock{Key: []byte(k), Txn: concurrency.TxnID{Lo: 1}, Strength: lock.Update})
		}
		s.exported = tr.Encode()
	case "import": // import TERM
		return s.importLocks(uint64(s.num(f[1])))
	case "damage":
		s.exported = s.exported[:len(s.exported)-1]
	case "exporting": // exporting yes|no
		if f[1] == "yes" {
			s.gate.BeginExport()
		} else {
			s.gate.EndExport()
		}
	case "reclaim": // reclaim [transferring]
		return map[bool]string{true: "campaigns again", false: "waits"}[s.lease.Reclaims(&s.gate, len(f) > 1)]
	case "removed":
		s.gate.Removed(uint64(s.num(f[1])))
		s.exported = nil
	case "open":
		s.gate.Open()
	default:
		s.t.Fatalf("unknown event %q", f[0])
	}
	return ""
}

func (s *script) importLocks(term uint64) string {
	s.gate.Imported(0)
	if s.exported == nil {
		return "no record"
	}
	tr, err := DecodeTransfer(s.exported)
	if err != nil {
		return err.Error()
	}
	s.gate.Imported(term)
	var held []string
	for _, l := range tr.Locks {
		held = append(held, string(l.Key))
	}
	return fmt.Sprintf("locks %v of table %d, subsumed %v, abandoned %d, of term %d", held, tr.LockTableID, tr.Subsumed, len(tr.Abandoned), tr.Term)
}
