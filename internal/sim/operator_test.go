package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/nettest"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/rpc"
)

const (
	// operatorID is the machine from which a cluster is operated.
	operatorID = 1000
	// operatePause is the mean pause between two operations, operatePoll that between two looks at how far
	// one is.
	operatePause = 3 * time.Second
	operatePoll  = 200 * time.Millisecond
	// askTimeout bounds one question to a node, drainWithin a drain, moveWithin how long replicas
	// may take to move off a node.
	askTimeout  = 5 * time.Second
	drainWithin = time.Minute
	moveWithin  = 3 * time.Minute
	// electWithin is how long a range may have no leader.
	electWithin = 10 * time.Second
	// passedOnWithin is how long a drained node that was elected may lead.
	passedOnWithin = 3 * time.Second
	// quietBefore is how long before an operation faults must have ended for it to have to succeed.
	quietBefore = restartRecovers + linkRecovers
)

// operator does to the nodes of a cluster what an operator does, as the command line does it: it drains and
// restarts nodes, decommissions them and has new ones join in their place, and gives up machines
// that have lost their disk.
type operator struct {
	c    *cluster
	rng  *rand.Rand
	rpc  *rpc.Node
	fail func(error)
	// undisturbed reports whether no fault has disturbed the cluster since a time.
	undisturbed func(since time.Time) bool

	drained, decommissioned, replaced int
}

func newOperator(c *cluster, seed uint64) *operator {
	ep := c.net.Start(operatorID, nettest.Hooks{})
	return &operator{
		c: c, rng: rand.New(rand.NewPCG(seed, 0x6f70)), fail: func(err error) { c.t.Error(err) }, undisturbed: func(time.Time) bool { return true },
		rpc: rpc.New(rpc.Options{Version: node.Version, Dial: ep.Dial, Logger: slog.New(slog.DiscardHandler)}),
	}
}

// close ends the operator's connections.
func (o *operator) close() {
	o.c.net.Crash(operatorID, nettest.Killed)
	o.rpc.Close()
}

// ask asks the node of a machine.
func (o *operator) ask(on *machine, m rpc.Method, req, answer any) error {
	p, err := json.Marshal(req)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	if p, err = o.rpc.CallAddr(ctx, nettest.Addr(on.id), m, p); err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(p, answer)
}

// askAny asks the nodes of other machines, until one answers or the time is over.
func (o *operator) askAny(but *machine, m rpc.Method, req, answer any) (err error) {
	err = errLeft
	for began := time.Now(); time.Since(began) < drainWithin; <-time.After(operatePoll) {
		for _, on := range o.c.nodes {
			if on == but || on.current() == nil {
				continue
			}
			if err = o.ask(on, m, req, answer); err == nil {
				return nil
			}
		}
	}
	return err
}

// run operates until done is closed.
func (o *operator) run(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(o.rng.Int64N(int64(2 * operatePause)))):
		}
		on := o.c.nodes[o.rng.IntN(len(o.c.nodes))]
		kind := o.rng.IntN(3)
		if on.current() == nil || len(o.c.running()) <= replicas {
			continue
		}
		switch kind {
		case 0:
			o.drain(on)
		case 1:
			o.decommission(on)
		case 2:
			o.replace(on)
		}
	}
}

// drain drains the node of a machine, stops and starts it.
func (o *operator) drain(on *machine) {
	inc, began := on.current(), time.Now()
	if inc == nil {
		return
	}
	o.c.story.Addf("operator: node %d drains", inc.kv.ID())
	if !o.awaitDrained(inc, began) {
		return
	}
	if leads := inc.leadsForLong(); leads > 0 && o.undisturbed(began) {
		o.fail(fmt.Errorf("node %d has drained and leads %d ranges", inc.kv.ID(), leads))
	}
	o.restart(inc, false)
	o.drained++
}

// awaitDrained drains a node and reports whether it has drained.
func (o *operator) awaitDrained(inc *incarnation, began time.Time) bool {
	var s node.DrainStatus
	for !s.Done {
		if time.Since(began) > drainWithin {
			if o.undisturbed(began) {
				o.fail(fmt.Errorf("node %d does not drain within %v: %+v", inc.kv.ID(), drainWithin, s))
			}
			return false
		}
		if inc.node.current() != inc {
			return false // it was killed
		}
		_ = o.ask(inc.node, node.MethodDrain, node.NodeRequest{}, &s) // it is asked again
		<-time.After(operatePoll)
	}
	return true
}

// leads counts the ranges that a node leads.
func (inc *incarnation) leads() (n int) {
	if !inc.use() {
		return 0
	}
	defer inc.running.Done()
	for _, r := range inc.store.Replicas() {
		if r.Leads() {
			n++
		}
	}
	return n
}

// leadsForLong counts the ranges that a node still leads after passedOnWithin, or none before.
func (inc *incarnation) leadsForLong() (n int) {
	for began := time.Now(); ; <-time.After(operatePoll) {
		if n = inc.leads(); n == 0 || time.Since(began) > passedOnWithin {
			return n
		}
	}
}

// restart stops a node and starts the machine's next one; wiped says that it begins with an empty disk.
func (o *operator) restart(inc *incarnation, wiped bool) {
	on := inc.node
	on.keepDown(true)
	if err := o.c.leaveWhole(inc); err != nil {
		o.c.story.Addf("operator: machine %d: %v", on.id, err)
	}
	if wiped {
		on.disk.Replace()
	}
	on.keepDown(false)
	o.c.boot(on, nil)
}

// keepDown says whether the machine is kept down.
func (n *machine) keepDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

// decommission takes a node out of the cluster for good, and has a new one join in its place. A
// node that may still have replicas stays: wiping it could take away what a fault needs later.
func (o *operator) decommission(on *machine) {
	inc, began := on.current(), time.Now()
	if inc == nil {
		return
	}
	id := inc.kv.ID()
	o.c.story.Addf("operator: node %d is decommissioned", id)
	if !o.takeOut(on, id) {
		return
	}
	if err := o.elsewhere(id); err != nil {
		if o.undisturbed(began) {
			o.fail(fmt.Errorf("node %d was decommissioned, but: %w", id, o.c.explained(err)))
		}
		o.takeBack(on, id)
		return
	}
	if o.askAny(on, node.MethodMembership, node.MembershipRequest{Node: id, To: node.Decommissioned}, nil) != nil {
		return
	}
	if on.current() == inc {
		o.restart(inc, true)
	} else {
		o.wipe(on)
	}
	o.decommissioned++
}

// elsewhere answers whether all ranges have their replicas on other nodes than one, once they are led.
func (o *operator) elsewhere(id kvpb.NodeID) (err error) {
	for began := time.Now(); time.Since(began) < electWithin; <-time.After(changePause) {
		if err = o.c.replicated(id); err == nil {
			return nil
		}
	}
	return err
}

// wipe puts an empty disk into a machine whose node is not there, or was killed meanwhile.
func (o *operator) wipe(on *machine) {
	on.keepDown(true)
	o.c.stopHard(on)
	on.disk.Replace()
	on.keepDown(false)
	o.c.boot(on, nil)
}

// takeOut has the replicas of a node move to others, and reports whether they have.
func (o *operator) takeOut(on *machine, id kvpb.NodeID) bool {
	began := time.Now()
	if o.askAny(on, node.MethodMembership, node.MembershipRequest{Node: id, To: node.Decommissioning}, nil) != nil {
		return false
	}
	var h node.Remaining
	for time.Since(began) < moveWithin {
		h = node.Remaining{Ranges: 1}
		if err := o.askAny(on, node.MethodRemaining, node.RemainingRequest{Node: id, Why: true}, &h); err == nil && h.Ranges == 0 {
			return true
		}
		<-time.After(operatePoll)
	}
	if o.undisturbed(began) {
		o.fail(fmt.Errorf("node %d still has %d replicas %v after it was decommissioned: %q", id, h.Ranges, moveWithin, h.Reasons))
	}
	o.takeBack(on, id)
	return false
}

// takeBack has a node stay that was to leave; a lost request leaves it decommissioning.
func (o *operator) takeBack(on *machine, id kvpb.NodeID) {
	_ = o.askAny(on, node.MethodMembership, node.MembershipRequest{Node: id, To: node.Active}, nil)
}

// replace takes the disk from a machine, has its node's replicas placed elsewhere, and a new node
// join in its place.
func (o *operator) replace(on *machine) {
	inc := on.current()
	if inc == nil || o.c.replicated(0) != nil {
		return // what has too few replicas may not lose another one
	}
	id, began := inc.kv.ID(), time.Now()
	on.keepDown(true)
	o.c.story.Addf("operator: node %d has lost its disk", id)
	o.c.stopHard(on)
	on.disk.Replace()
	for err := errLeft; err != nil; err = o.c.replicated(id) {
		if time.Since(began) > moveWithin {
			o.fail(fmt.Errorf("node %d, which is gone, was not replaced within %v: %w", id, moveWithin, o.c.explained(err)))
			break
		}
		<-time.After(operatePoll)
	}
	if err := o.askAny(on, node.MethodMembership, node.MembershipRequest{Node: id, To: node.Decommissioned}, nil); err != nil {
		o.fail(fmt.Errorf("node %d, which is gone, can't be decommissioned: %w", id, err))
	}
	on.keepDown(false)
	o.c.boot(on, nil)
	o.replaced++
}

// stopHard ends the process of a machine as a crash does.
func (c *cluster) stopHard(on *machine) {
	on.disk.Kill()
	c.net.Crash(on.id, nettest.Killed)
	c.stop(on.id)
}

// wellPlaced answers whether a range has its voters, none of them on a node.
func wellPlaced(d *kvpb.RangeDescriptor, without kvpb.NodeID) error {
	if d.Joint() || len(d.Replicas) != replicas {
		return fmt.Errorf("%s has not %d voters", describe(d), replicas)
	}
	for _, r := range d.Replicas {
		if r.Type != kvpb.Voter || r.Node == without {
			return errors.New(describe(d))
		}
	}
	return nil
}
