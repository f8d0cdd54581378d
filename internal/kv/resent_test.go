package kv_test

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
)

// resendable prepares a commit that writes a key under its lock, and returns what
// sends a copy of it.
func resendable(c *ranges, g *gateway, name, value string) (send func(resent bool) (kvpb.CommitResponse, error)) {
	c.t.Helper()
	ctx := context.Background()
	var last *kvpb.CommitRequest
	var to kvpb.Sender
	g.onCommit = func(s kvpb.Sender, req *kvpb.CommitRequest, _ *kvpb.CommitResponse) error {
		last, to = cloneCommit(req), s
		for i := range last.Writes {
			last.Writes[i].Key = append([]byte(nil), last.Writes[i].Key...)
			last.Writes[i].Value = append([]byte(nil), last.Writes[i].Value...)
		}
		for i := range last.Locks {
			last.Locks[i] = append([]byte(nil), last.Locks[i]...)
		}
		return &kvpb.AmbiguousCommitError{Cause: errLost}
	}
	defer func() { g.onCommit = nil }()
	txn := g.begin(kv.TxnOptions{})
	if _, err := txn.Lock(ctx, key(name), lock.Update, lock.WaitBlock); err != nil {
		c.fatal(err)
	}
	if err := txn.Put(key(name), []byte(value)); err != nil {
		c.fatal(err)
	}
	g.set(func(op string, _ []byte, _ bool) error {
		if op == "release" {
			return errLost
		}
		return nil
	})
	if err := txn.Commit(ctx); !kv.IsAmbiguous(err) {
		c.t.Fatalf("the commit returned %v", err)
	}
	g.set(nil)
	return func(resent bool) (resp kvpb.CommitResponse, err error) {
		req := cloneCommit(last)
		req.Resent = resent
		err = to.Commit(ctx, req, &resp)
		return resp, err
	}
}

// A commit that has happened is not taken back because its gateway was silent for so
// long that others take it for dead: it asks again for the answer that got lost.
func TestLostAnswerOfSilentGateway(t *testing.T) {
	c := newRanges(t, fs.NewMem())
	defer c.close()
	g := c.gateway()
	send := resendable(c, g, "a", "1")
	first, err := send(false)
	if err != nil {
		t.Fatal(err)
	}
	c.alive.Store(g.incarnation, false)
	again, err := send(true)
	if err != nil || again.CommitTS != first.CommitTS {
		t.Errorf("sent again: %v at %v, it happened at %v", err, again.CommitTS, first.CommitTS)
	}
}

// When a gateway has heard that the second copy of its commit failed, the first does
// not happen either, however late it comes.
func TestLateFirstCopy(t *testing.T) {
	c := newRanges(t, fs.NewMem())
	defer c.close()
	g := c.gateway()
	send := resendable(c, g, "a", "1")
	c.alive.Store(g.incarnation, false)
	if _, err := send(true); !kv.IsRetryable(err) {
		t.Fatalf("the second copy: %v", err)
	}
	c.alive.Store(g.incarnation, true) // heard of again
	for _, resent := range []bool{false, true} {
		if resp, err := send(resent); err == nil {
			t.Errorf("a late copy (resent: %v) happened at %v", resent, resp.CommitTS)
		}
	}
	if got := c.gateway().get("a"); got != "[]" {
		t.Errorf("the value is %s", got)
	}
}

// A copy that is on its way when the next one came is not carried out beside it.
func TestCopiesAtOnce(t *testing.T) {
	c := newRanges(t, fs.NewMem())
	defer c.close()
	g := c.gateway()
	send := resendable(c, g, "a", "1")
	second, err := send(true)
	if err != nil {
		t.Fatal(err)
	}
	for _, resent := range []bool{false, true} {
		if resp, err := send(resent); err != nil || resp.CommitTS != second.CommitTS {
			t.Errorf("a copy (resent: %v) after it has happened: %v at %v", resent, err, resp.CommitTS)
		}
	}
}
