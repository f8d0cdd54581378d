package store_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

// A gateway believes that two keys are in one range, which has been split since. Its transaction reads one and writes the
// other, while a transaction of another gateway reads and writes them the other way round. Only one of them may commit:
// the left half can't know whether the read in the right half still holds.
func TestCommitAfterSplitElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10d", "0")
		c.Put(1, "\x10m", "0")
		leader := c.Leading(1)
		far := c.Other(leader)
		skewed := begin(t, far.Gateway(), "\x10m")
		c.Split(1, "\x10g", 2)
		<-time.After(time.Second) // the right half has its leader
		other := begin(t, leader.Gateway(), "\x10d")
		outcomes := []error{write(t, skewed, "\x10d"), write(t, other, "\x10m")}
		for i, err := range outcomes {
			if err != nil && kvpb.Classify(err) != kvpb.ClassRetry {
				t.Errorf("transaction %d: %v", i, err)
			}
		}
		if (outcomes[0] == nil) == (outcomes[1] == nil) {
			t.Errorf("the outcomes are %v", outcomes)
		}
	})
}

// The same gateway has spilled writes into both halves: the commit decides all of them.
func TestCommitOfSpillAfterSplitElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		leader := c.Leading(1)
		db := c.Other(leader).Gateway()
		db.SetSpill(100)
		txn := db.Begin(kv.TxnOptions{})
		txn.BeginStatement()
		value := bytes.Repeat([]byte("v"), 1000)
		for _, key := range []string{"\x10d", "\x10m", "\x10d2", "\x10m2"} {
			if err := errors.Join(txn.Put([]byte(key), value), txn.SpillRest(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		c.Split(1, "\x10g", 2)
		<-time.After(time.Second)
		if err := txn.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		reader := leader.Gateway().Begin(kv.TxnOptions{})
		reader.BeginStatement()
		for _, key := range []string{"\x10d", "\x10m", "\x10d2", "\x10m2"} {
			if _, ok, err := reader.Get(t.Context(), []byte(key)); err != nil || !ok {
				t.Errorf("%q is lost: %v", key, err)
			}
		}
	})
}

// begin returns a transaction that has read a key.
func begin(t *testing.T, db *kv.DB, key string) *kv.Txn {
	t.Helper()
	txn := db.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	if v, ok, err := txn.Get(t.Context(), []byte(key)); err != nil || !ok || string(v) != "0" {
		t.Fatalf("%q, %v, %v", v, ok, err)
	}
	return txn
}

// write writes a key and commits.
func write(t *testing.T, txn *kv.Txn, key string) error {
	t.Helper()
	txn.BeginStatement()
	if err := txn.Put([]byte(key), []byte("1")); err != nil {
		t.Fatal(err)
	}
	return txn.Commit(t.Context())
}
