package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/store"
)

// Bounds of a stop.
const (
	// stopTimeout is how long what uses the store may take to end by itself when the
	// node stops; stopWithoutQuorum is that without a quorum.
	stopTimeout       = leaveTimeout + time.Second
	stopWithoutQuorum = 500 * time.Millisecond
	// stuckStop is how long a stop waits for a disk that stands still, and closeLimit how
	// long all may take beside the drain.
	stuckStop  = 5 * time.Second
	closeLimit = time.Minute
)

// Stop stops the node: others take over the ranges that it leads, running statements
// get the drain time, then end with 57P01; the store is flushed and closed. It returns
// in any case: a disk that stands still is not waited for, nor anything else that does
// not end. The process is to end then, as after a crash.
func (n *Node) Stop(ctx context.Context) error {
	n.BeginDrain()
	ended := make(chan error, 1)
	drained := make(chan struct{})
	go func() { ended <- n.end(ctx, drained) }()
	return n.awaitEnd(ended, drained)
}

// end is Stop without its bounds.
func (n *Node) end(ctx context.Context, drained chan<- struct{}) error {
	var err error
	select {
	case <-n.drain.done:
		err = n.drain.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	close(drained)
	return errors.Join(err, n.shut())
}

// giveUp closes what a start that failed has opened.
func (n *Node) giveUp() error {
	ended, drained := make(chan error, 1), make(chan struct{})
	close(drained) // nobody was served
	go func() { ended <- n.shut() }()
	return n.awaitEnd(ended, drained)
}

// shut closes the parts, as far as there are any.
func (n *Node) shut() error {
	_ = n.o.Listeners.CloseClients() // they are not used again
	n.cancel()
	if n.KV.Router != nil {
		n.KV.Router.FailFast()
	}
	n.endUsers()
	err := n.o.Listeners.CloseHTTP()
	n.KV.Disconnect()
	n.RPC.Close() // and with it the requests of other nodes, which use the store
	return errors.Join(err, n.KV.Store.Close())
}

// awaitEnd waits for end, within bounds.
func (n *Node) awaitEnd(ended <-chan error, drained <-chan struct{}) error {
	t := time.NewTicker(quorumPoll)
	defer t.Stop()
	var limit <-chan time.Time
	var stuck time.Time // since when the stop may wait for a disk
	for {
		select {
		case err := <-ended:
			return err
		case <-drained:
			drained, limit = nil, time.After(closeLimit)
		case <-limit:
			return fmt.Errorf("the node did not end within %v of being drained: what it has acknowledged is in its log", closeLimit)
		case <-t.C:
		}
		// While one disk of several answers, what is on it can still be drained.
		dirs, all := n.stuckDisks()
		switch {
		case len(dirs) == 0 || !all && drained != nil:
			stuck = time.Time{}
		case stuck.IsZero():
			stuck = time.Now()
		case time.Since(stuck) > stuckStop:
			return fmt.Errorf("the disk of %s does not answer: the node ends without it; what it has acknowledged is in its log", strings.Join(dirs, " and "))
		}
	}
}

// stuckDisks returns the directories of the stores whose disks stand still.
func (n *Node) stuckDisks() (dirs []string, all bool) {
	for _, st := range n.KV.Store.Stores() {
		if st.DiskWatch().Oldest() > store.StallAfter {
			dirs = append(dirs, st.Dir())
		}
	}
	return dirs, len(dirs) == len(n.KV.Store.Stores())
}

// leaveTimeout bounds how long a stopping node takes to tell that it serves SQL no
// more; without that the others wait until its registration has expired.
const leaveTimeout = 3 * time.Second

// closeSQL ends the SQL part. Without a quorum it does not wait for an answer.
func (n *Node) closeSQL() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	go n.cutWithoutQuorum(ctx, cancel)
	if err := n.SQL.Close(ctx); err != nil {
		n.log.Warn("the others do not know yet that this node serves SQL no more", "err", err)
	}
}

// endUsers waits until nothing of this node uses the store any more. A command that
// waits for a quorum that does not answer is made to fail: the replicas stop.
func (n *Node) endUsers() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.background.Wait()
		n.closeSQL()
	}()
	begun := time.Now()
	t := time.NewTicker(quorumPoll)
	defer t.Stop()
	for passed := time.Duration(0); passed < stopTimeout && (passed < stopWithoutQuorum || !n.quorumGone()); passed = time.Since(begun) {
		select {
		case <-done:
			return
		case <-t.C:
		}
	}
	n.log.Warn("stopping without an answer of the cluster: other nodes wait until this node's leases have expired")
	for _, r := range n.KV.Store.Replicas() {
		r.Refuse()
	}
	<-done
}
