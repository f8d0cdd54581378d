package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/store"
)

// blind is a key that transactions write without a lock of its own, as they do with entries of indexes.
const blind = "\x10index"

// inFlight is a range whose leader holds a command in its log that no follower hears of.
type inFlight struct {
	*cluster
	leader *replica.Replica
	txns   uint64
}

func newInFlight(t *testing.T) *inFlight {
	c := newCluster(t, 3)
	c.Replicate(1)
	c.Put(1, blind, "before")
	return &inFlight{cluster: c, leader: c.Leader(1), txns: 1 << 40}
}

func (f *inFlight) txn() *kvpb.TxnMeta {
	f.txns++
	m := f.Leading(1).Txn(f.txns)
	m.Isolation = kvpb.ReadCommitted
	return m
}

// silence keeps new entries of the leader's log from the followers, or ends that. The leader goes on to lead.
func (f *inFlight) silence(on bool) {
	if !on {
		f.Net.Lose(nil)
		return
	}
	from := f.Leading(1).ID
	f.Net.Lose(func(n, _ kvpb.NodeID, m rpc.Method, msg []byte) bool {
		return n == from && m == store.MethodRaft && bringsEntries(f.T, msg)
	})
}

func stageOf(m *kvpb.TxnMeta, ts hlc.Timestamp, value string) *kvpb.StageRequest {
	return &kvpb.StageRequest{
		Txn: m, TS: ts, Attempt: 1, Anchor: []byte("\x20row"), Writes: []kvpb.Write{{Key: []byte(blind), Value: []byte(value)}},
	}
}

func (f *inFlight) stage(m *kvpb.TxnMeta, ts hlc.Timestamp, value string) chan error {
	done := make(chan error, 1)
	go func() {
		var resp kvpb.StageResponse
		err := f.leader.Stage(context.Background(), stageOf(m, ts, value), &resp)
		if err == nil && !resp.Lowest.IsEmpty() {
			err = fmt.Errorf("the least possible timestamp is %v", resp.Lowest)
		}
		done <- err
	}()
	return done
}

func (f *inFlight) resolve(m *kvpb.TxnMeta, commit bool, ts hlc.Timestamp) error {
	return f.leader.Resolve(context.Background(), &kvpb.ResolveRequest{Txn: m.ID, Commit: commit, TS: ts, Keys: [][]byte{[]byte(blind)}})
}

// stageBehindAborted stages a key while an earlier transaction's command that writes it is in the log. The
// earlier transaction has lost its row lock in another range, and is aborted as soon as its command is applied.
func stageBehindAborted(t *testing.T) (err error) {
	synctest.Test(t, func(t *testing.T) {
		f := newInFlight(t)
		defer f.CloseAll()
		early, late := f.txn(), f.txn()
		f.silence(true)
		first := f.stage(early, early.ReadTS, "aborted")
		synctest.Wait()
		ts := late.ReadTS
		second := f.stage(late, ts, "committed")
		synctest.Wait()
		f.silence(false)
		if err = <-first; err != nil {
			return
		}
		go func() { _ = f.resolve(early, false, hlc.Timestamp{}) }()
		if err = <-second; err != nil {
			return
		}
		<-time.After(time.Second)
		var staged kvpb.QueryStagedResponse
		req := &kvpb.QueryStagedRequest{Txn: late.ID, Keys: [][]byte{[]byte(blind)}, TS: ts, Attempt: 1, Peek: true}
		if err = f.leader.QueryStaged(context.Background(), req, &staged); err != nil {
			return
		}
		if !staged.Present {
			err = errors.New("the second transaction's intent is gone")
			return
		}
		if err = f.resolve(late, true, ts); err == nil && f.Get(1, blind) != "committed" {
			err = fmt.Errorf("the value is %q", f.Get(1, blind))
		}
	})
	return err
}

func TestStageBehindAborted(t *testing.T) {
	if err := stageBehindAborted(t); err != nil {
		t.Error(err)
	}
}

// A transaction whose command has an unknown outcome is aborted. Its intents are resolved when the outcome is
// known, not before: else the command could still write them.
func TestAbortWaitsForOutcome(t *testing.T) {
	for _, spilled := range []bool{false, true} {
		t.Run(fmt.Sprintf("spilled=%t", spilled), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { abortWithUnknownOutcome(t, spilled) })
		})
	}
}

func abortWithUnknownOutcome(t *testing.T, spilled bool) {
	f := newInFlight(t)
	defer f.CloseAll()
	m := f.txn()
	f.silence(true)
	var err error
	if spilled {
		err = f.leader.Spill(context.Background(), &kvpb.SpillRequest{
			Txn: m, Anchor: []byte(blind), Writes: []kvpb.Write{{Key: []byte(blind), Value: []byte("aborted")}}, Positions: []uint64{1},
		})
	} else {
		err = <-f.stage(m, m.ReadTS, "aborted")
	}
	var unknown *kvpb.AmbiguousCommitError
	if !errors.As(err, &unknown) {
		t.Fatalf("the command ended with %v", err)
	}
	aborted := make(chan error, 1)
	go func() {
		if spilled {
			aborted <- f.leader.Unspill(context.Background(), &kvpb.UnspillRequest{Txn: m, Abort: true})
			return
		}
		aborted <- f.resolve(m, false, hlc.Timestamp{})
	}()
	synctest.Wait()
	f.silence(false)
	if err := <-aborted; err != nil {
		t.Fatal(err)
	}
	<-time.After(30 * time.Second)
	if v := f.Get(1, blind); v != "before" {
		t.Errorf("the value is %q", v)
	}
	if n, _ := f.leader.Provisional(); n > 0 {
		t.Errorf("%d transactions have intents", n)
	}
	if f.leader != f.Leader(1) {
		t.Error("the leadership changed: the test shows nothing")
	}
}
