package sim

import (
	"context"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/nettest"
)

// FaultHooks make faults happen. Run calls them one at a time.
type FaultHooks interface {
	Begin(Fault)
	End(Fault)
}

// Run begins and ends the faults of a plan at their times. When it returns, early
// because ctx ended or not, each fault that began has ended.
func Run(ctx context.Context, plan Plan, hooks FaultHooks, trace *nettest.Trace) {
	start := time.Now()
	waiting := slices.Clone(plan)
	slices.SortStableFunc(waiting, func(a, b Fault) int { return int(a.At - b.At) })
	var active []Fault // by their ends
	end := func() {
		f := active[0]
		active = active[1:]
		trace.Addf("end   %v", f)
		hooks.End(f)
	}
	for len(waiting)+len(active) > 0 && ctx.Err() == nil {
		due, ends := time.Duration(0), len(active) > 0
		if ends {
			due = active[0].At + active[0].For
		}
		if len(waiting) > 0 && (!ends || waiting[0].At < due) {
			due, ends = waiting[0].At, false
		}
		if wait := due - time.Since(start); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			continue
		}
		if ends {
			end()
			continue
		}
		f := waiting[0]
		waiting = waiting[1:]
		trace.Addf("begin %v", f)
		hooks.Begin(f)
		active = append(active, f)
		slices.SortStableFunc(active, func(a, b Fault) int { return int(a.At + a.For - b.At - b.For) })
	}
	for len(active) > 0 {
		end()
	}
}

// Environment is what surrounds the nodes of a cluster, and makes the faults of
// a plan happen to it. Parts that are nil or missing have no faults.
type Environment struct {
	Nodes  []kvpb.NodeID
	Net    *nettest.Network
	Clocks map[kvpb.NodeID]*Clock
	Disks  map[kvpb.NodeID]*Disk
	// Stop stops what remains of a node whose network and disk have ended, Start
	// starts its next incarnation. Both may take their time, in which Run waits.
	Stop, Start func(kvpb.NodeID)
	// Leave stops a node in good order, and waits for it.
	Leave func(kvpb.NodeID)
	// Change begins work on a range or a store, and does not wait for its end.
	Change func(Fault)

	heal map[string]func() // by fault
}

var _ FaultHooks = (*Environment)(nil)

// Begin implements FaultHooks.
func (e *Environment) Begin(f Fault) {
	node, d := f.Nodes[0], time.Duration(f.Amount)
	switch f.Kind {
	case Split, OneWay, Flapping, SlowLinks, LossyLinks:
		e.beginNet(f)
	case Kill:
		e.stop(node, nettest.Killed)
	case PowerOff:
		e.stop(node, nettest.PoweredOff)
	case Restart:
		e.leave(node)
	case PowerOffAll:
		for _, n := range f.Nodes { // the power goes everywhere before anybody is told
			e.cut(n, nettest.PoweredOff)
			<-time.After(1) // what that wakes shall not race with the next
		}
		for _, n := range f.Nodes {
			e.stopNode(n)
		}
	case ClockJump:
		if c := e.Clocks[node]; c != nil {
			c.Jump(d)
		}
	case ClockDrift:
		if c := e.Clocks[node]; c != nil {
			c.SetDrift(f.Amount)
		}
	case SlowDisk, StallDisk, FullDisk:
		e.beginDisk(f)
	case SplitRange, MergeRanges, MoveReplica, MoveLeader, FlushStore:
		if e.Change != nil {
			e.Change(f)
		}
	}
}

func (e *Environment) beginNet(f Fault) {
	if e.Net == nil {
		return
	}
	var undo []func()
	switch f.Kind {
	case Split:
		rest := slices.DeleteFunc(slices.Clone(e.Nodes), func(n kvpb.NodeID) bool { return slices.Contains(f.Nodes, n) })
		undo = append(undo, e.Net.Partition(f.Nodes, rest))
	case OneWay:
		undo = append(undo, e.Net.Cut(f.Nodes[0], f.Nodes[1]))
	case Flapping:
		undo = append(undo, e.Net.Flap(f.Nodes[0], f.Nodes[1], time.Duration(f.Amount), time.Duration(f.Amount)))
	case SlowLinks, LossyLinks:
		worsen := func(q *nettest.Quality) {
			q.Latency, q.Jitter = q.Latency+time.Duration(f.Amount)/2, q.Jitter+time.Duration(f.Amount)
		}
		if f.Kind == LossyLinks {
			worsen = func(q *nettest.Quality) { q.Loss, q.Duplicate = float64(f.Amount)/1000, float64(f.Amount)/1000 }
		}
		for _, to := range e.Nodes {
			if to != f.Nodes[0] {
				undo = append(undo, e.Net.Degrade(f.Nodes[0], to, worsen))
			}
		}
	}
	if e.heal == nil {
		e.heal = map[string]func(){}
	}
	e.heal[f.String()] = func() {
		for _, u := range undo {
			u()
		}
	}
}

func (e *Environment) beginDisk(f Fault) {
	disk := e.Disks[f.Nodes[0]]
	if disk == nil {
		return
	}
	switch f.Kind {
	case SlowDisk:
		disk.SetSlow(time.Duration(f.Amount))
	case StallDisk:
		disk.Stall()
	case FullDisk:
		disk.Fill(f.Amount)
	}
}

func (e *Environment) stop(n kvpb.NodeID, how nettest.End) {
	e.cut(n, how)
	e.stopNode(n)
}

// leave stops a node in good order.
func (e *Environment) leave(n kvpb.NodeID) {
	if e.Leave != nil {
		e.Leave(n)
	}
	if e.Net != nil {
		e.Net.Crash(n, nettest.Killed)
	}
}

func (e *Environment) stopNode(n kvpb.NodeID) {
	if e.Stop != nil {
		e.Stop(n)
	}
}

// cut takes network and disk from a node.
func (e *Environment) cut(n kvpb.NodeID, how nettest.End) {
	if d := e.Disks[n]; d != nil && how == nettest.Killed {
		d.Kill()
	} else if d != nil {
		d.PowerOff()
	}
	if e.Net != nil {
		e.Net.Crash(n, how)
	}
}

// End implements FaultHooks.
func (e *Environment) End(f Fault) {
	switch f.Kind {
	case Split, OneWay, Flapping, SlowLinks, LossyLinks:
		if heal := e.heal[f.String()]; heal != nil {
			heal()
			delete(e.heal, f.String())
		}
	case Kill, PowerOff, PowerOffAll, Restart:
		for _, n := range f.Nodes {
			if d := e.Disks[n]; d != nil { // Run waits for the start, which would wait for the disk
				d.Resume()
				d.Free()
			}
			if e.Start != nil {
				e.Start(n)
			}
		}
	case ClockJump:
		if c := e.Clocks[f.Nodes[0]]; c != nil {
			c.Jump(-time.Duration(f.Amount))
		}
	case ClockDrift:
		if c := e.Clocks[f.Nodes[0]]; c != nil {
			c.SetDrift(0)
		}
	case SlowDisk, StallDisk, FullDisk:
		if d := e.Disks[f.Nodes[0]]; d != nil {
			switch f.Kind {
			case SlowDisk:
				d.SetSlow(0)
			case StallDisk:
				d.Resume()
			case FullDisk:
				d.Free()
			}
		}
	}
}
