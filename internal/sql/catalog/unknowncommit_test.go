package catalog

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

// answerLoser loses the answer to the commit of a transaction. The request itself arrives before
// that or, with late, when arrive is called.
type answerLoser struct {
	kvpb.Sender
	victim atomic.Pointer[kvpb.TxnID]
	late   bool
	arrive func() error
}

func (l *answerLoser) Commit(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	if v := l.victim.Load(); v == nil || *v != req.Txn.ID {
		return l.Sender.Commit(ctx, req, resp)
	}
	req.RenewDeadline()
	copied, meta := *req, *req.Txn
	copied.Txn, copied.Renew, copied.Writes = &meta, nil, slices.Clone(req.Writes)
	for i := range copied.Writes {
		w := &copied.Writes[i]
		w.Key, w.Value = bytes.Clone(w.Key), bytes.Clone(w.Value)
	}
	l.arrive = func() error { return l.Sender.Commit(context.Background(), &copied, new(kvpb.CommitResponse)) }
	if !l.late {
		if err := l.arrive(); err != nil {
			return err
		}
	}
	return &kvpb.AmbiguousCommitError{Cause: errors.New("no answer")}
}

// unknownCommit has a session write a row under a table's descriptor. The answer to its commit is
// lost, and the session ends. Another session, whose snapshot is older, changes the table then, or
// once the first one's gateway has stopped, and reads the row as an index build would. It returns
// whether that found the row, and whether the row is there in the end.
func unknownCommit(t *testing.T, late, stop bool) (seen, there bool) {
	loser := &answerLoser{late: late}
	c := openGatewaysOver(openNodeBehind(t, fs.NewMem(), func(s kvpb.Sender) kvpb.Sender {
		loser.Sender = s
		return loser
	}), t, 2, 5*time.Second)
	defer c.close()
	c.table("a")
	row := append(keys.DatabasePrefix(900), 'r')
	changer, writer := c.nodes[0].session(t), c.nodes[1].session(t)
	changer.begin(kv.TxnOptions{})
	if _, _, err := changer.txn.Get(ctx, append(keys.DatabasePrefix(900), 'x')); err != nil {
		t.Fatal(err)
	}
	writer.begin(kv.TxnOptions{})
	writer.find("a")
	if err := writer.txn.Put(row, []byte("under the old descriptor")); err != nil {
		t.Fatal(err)
	}
	id := writer.txn.ID()
	loser.victim.Store(&id)
	writer.txn.Renew = writer.CommitDeadline
	if err := writer.tryCommit(); kvpb.Classify(err) != kvpb.ClassAmbiguous {
		t.Fatal(err)
	}
	writer.Close()
	if stop {
		if err := c.nodes[1].cat.StopGateway(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := changer.comment("a", "new"); err != nil {
		t.Fatal(err)
	}
	_, seen, err := changer.txn.Get(ctx, row)
	if err != nil {
		t.Fatal(err)
	}
	if err := changer.tryCommit(); err != nil {
		t.Fatal(err)
	}
	if late {
		_ = loser.arrive() // it may be too late
	}
	changer.begin(kv.TxnOptions{})
	defer changer.rollback()
	if _, there, err = changer.txn.Get(ctx, row); err != nil {
		t.Fatal(err)
	}
	return seen, there
}

// TestUnknownCommit: who changes a table sees the rows of commits with an unknown outcome, however
// late they happen, or they do not happen.
func TestUnknownCommit(t *testing.T) {
	for _, c := range []struct {
		name       string
		late, stop bool
		there      bool
	}{
		{name: "answer lost", there: true},
		{name: "answer lost, gateway stopped", stop: true, there: true},
		{name: "request late", late: true},
		{name: "request late, gateway stopped", late: true, stop: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if seen, there := unknownCommit(t, c.late, c.stop); seen != there || there != c.there {
					t.Errorf("the change saw the row: %v; it is there: %v", seen, there)
				}
			})
		})
	}
}

// TestAwaitTimeOfStoppedClock: a node whose clock hands out no timestamps any more still ends its sessions.
func TestAwaitTimeOfStoppedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := openNode(t, fs.NewMem())
		defer n.close(t)
		begin := time.Now()
		n.db.Clock().Stop()
		if err := n.cat.awaitTime(ctx, begin.Add(5*time.Second).UnixNano()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begin); waited < 5*time.Second || waited > 6*time.Second {
			t.Errorf("waited for %v", waited)
		}
	})
}
