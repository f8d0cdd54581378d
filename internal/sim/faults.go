package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
)

// FaultKind names what goes wrong.
type FaultKind uint8

// The kinds of faults. What each means to the parts of a cluster is in Environment.
const (
	// Split cuts Nodes off from all others.
	Split FaultKind = iota
	// OneWay cuts the link from the first of Nodes to the second.
	OneWay
	// Flapping cuts the link of two nodes again and again; Amount is the mean
	// stretch in nanoseconds.
	Flapping
	// SlowLinks delays all that a node sends by about Amount nanoseconds.
	SlowLinks
	// LossyLinks loses Amount of a thousand packets that a node sends, and sends
	// as many messages twice.
	LossyLinks
	// Kill ends a node's process; it starts again in the end.
	Kill
	// PowerOff ends a node and loses what it had not synced.
	PowerOff
	// PowerOffAll does so to all nodes at once.
	PowerOffAll
	// Restart ends a node in good order; it starts again in the end.
	Restart
	// ClockJump sets a node's clock forward by Amount nanoseconds, and back in the
	// end.
	ClockJump
	// ClockDrift makes a node's clock run faster by Amount millionths; what it
	// gained it keeps.
	ClockDrift
	// SlowDisk makes the syncs of a node take about Amount nanoseconds.
	SlowDisk
	// StallDisk stops the disk of a node.
	StallDisk
	// FullDisk leaves Amount bytes on the disk of a node.
	FullDisk
	// SplitRange, MergeRanges, MoveReplica and MoveLeader change a range, FlushStore
	// writes a node's memtable out: no faults but work that goes on beside them.
	// Which range it is and what becomes of it follows from Amount. They begin at their
	// time and end when they are done, which may fail.
	SplitRange
	MergeRanges
	MoveReplica
	MoveLeader
	FlushStore
	faultKinds
)

var faultNames = [faultKinds]string{"split", "one-way", "flapping", "slow-links", "lossy-links", "kill", "power-off",
	"power-off-all", "restart", "clock-jump", "clock-drift", "slow-disk", "stall-disk", "full-disk",
	"split-range", "merge-ranges", "move-replica", "move-leader", "flush-store"}

// String returns the name of the kind.
func (k FaultKind) String() string { return faultNames[k] }

// Fault is something that goes wrong for a while.
type Fault struct {
	At     time.Duration // since the start of the plan
	For    time.Duration
	Kind   FaultKind
	Nodes  []kvpb.NodeID
	Amount int64
}

// String prints the fault in one line, which ParseFault reads.
func (f Fault) String() string {
	nodes := make([]string, len(f.Nodes))
	for i, n := range f.Nodes {
		nodes[i] = strconv.FormatUint(uint64(n), 10)
	}
	return fmt.Sprintf("at=%v for=%v %v nodes=%s amount=%d", f.At, f.For, f.Kind, strings.Join(nodes, ","), f.Amount)
}

// ParseFault reads what String printed.
func ParseFault(line string) (Fault, error) {
	var f Fault
	var at, last, kind, nodes string
	if _, err := fmt.Sscanf(line, "at=%s for=%s %s nodes=%s amount=%d", &at, &last, &kind, &nodes, &f.Amount); err != nil {
		return f, fmt.Errorf("sim: fault %q: %w", line, err)
	}
	k := slices.Index(faultNames[:], kind)
	if k < 0 {
		return f, fmt.Errorf("sim: no fault is called %q", kind)
	}
	f.Kind = FaultKind(k)
	var err error
	if f.At, err = time.ParseDuration(at); err != nil {
		return f, fmt.Errorf("sim: fault %q: %w", line, err)
	}
	if f.For, err = time.ParseDuration(last); err != nil {
		return f, fmt.Errorf("sim: fault %q: %w", line, err)
	}
	for _, s := range strings.Split(nodes, ",") {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return f, fmt.Errorf("sim: fault %q: %w", line, err)
		}
		f.Nodes = append(f.Nodes, kvpb.NodeID(n))
	}
	return f, nil
}

// Plan is a schedule of faults, in the order in which they begin.
type Plan []Fault

// String prints a fault a line.
func (p Plan) String() string {
	var b strings.Builder
	for _, f := range p {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// ParsePlan reads what String printed.
func ParsePlan(text string) (Plan, error) {
	var p Plan
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f, err := ParseFault(line)
		if err != nil {
			return nil, err
		}
		p = append(p, f)
	}
	return p, nil
}

// PlanOptions say what may go wrong.
type PlanOptions struct {
	Nodes  []kvpb.NodeID
	Length time.Duration // all faults are over by then
	// Pause is the mean time from the beginning of one fault to that of the next;
	// 0: two seconds.
	Pause time.Duration
	// MaxFor is the longest fault; 0: five seconds.
	MaxFor time.Duration
	// MaxJump bounds jumps of clocks; 0: five seconds. MaxDrift is in millionths;
	// 0: a thousand.
	MaxJump  time.Duration
	MaxDrift int64
	// MaxDown is how many nodes may be dead at once, but for PowerOffAll; 0: a
	// minority.
	MaxDown int
	// Weights say how often each kind happens; nil: all but PowerOffAll equally
	// often, that a third as often.
	Weights map[FaultKind]int
	// Quorum is the least part of the time in which no more than MaxDown nodes are in
	// trouble, so that a run gets something done; 0: none.
	Quorum float64
}

func (o *PlanOptions) setDefaults() {
	if o.Pause <= 0 {
		o.Pause = 2 * time.Second
	}
	if o.MaxFor <= 0 {
		o.MaxFor = 5 * time.Second
	}
	if o.MaxJump <= 0 {
		o.MaxJump = 5 * time.Second
	}
	if o.MaxDrift <= 0 {
		o.MaxDrift = 1000
	}
	if o.MaxDown <= 0 {
		o.MaxDown = max((len(o.Nodes)-1)/2, 1)
	}
	if o.Weights == nil {
		o.Weights = map[FaultKind]int{}
		for k := range faultKinds {
			o.Weights[k] = 3
		}
		o.Weights[PowerOffAll] = 1
	}
}

// planner draws a plan.
type planner struct {
	PlanOptions
	rng  *rand.Rand
	plan Plan
}

// NewPlan draws a plan from a seed: the same plan for the same seed and options.
// No two faults of one kind overlap at one node, nor any two that end its process.
func NewPlan(seed uint64, o PlanOptions) Plan {
	o.setDefaults()
	p := &planner{PlanOptions: o, rng: rand.New(rand.NewPCG(seed, 0x6661756c7473))}
	total := 0
	for k := range faultKinds {
		total += o.Weights[k]
	}
	if total == 0 || len(o.Nodes) == 0 {
		return nil
	}
	for at := p.pause(); at < o.Length; at += p.pause() {
		f := p.draw(at, total)
		if f.For > 0 && p.fits(f) {
			p.plan = append(p.plan, f)
		}
	}
	return p.plan
}

func (p *planner) pause() time.Duration {
	return time.Duration(p.rng.ExpFloat64()*float64(p.Pause)) + 1
}

func (p *planner) draw(at time.Duration, total int) Fault {
	f := Fault{At: at}
	n := p.rng.IntN(total)
	for n >= p.Weights[f.Kind] {
		n -= p.Weights[f.Kind]
		f.Kind++
	}
	f.For = min(time.Duration(p.rng.Int64N(int64(p.MaxFor)))+1, p.Length-at)
	f.Nodes = p.nodes(f.Kind)
	signed := func(limit int64) int64 { return p.rng.Int64N(2*limit+1) - limit }
	switch f.Kind {
	case Flapping:
		f.Amount = int64(time.Millisecond) * (10 + p.rng.Int64N(500))
	case SlowLinks, SlowDisk:
		f.Amount = int64(time.Millisecond) * (1 + p.rng.Int64N(300))
	case LossyLinks:
		f.Amount = 1 + p.rng.Int64N(300)
	case ClockJump:
		f.Amount = signed(int64(p.MaxJump))
	case ClockDrift:
		f.Amount = signed(p.MaxDrift)
	case FullDisk:
		f.Amount = p.rng.Int64N(64 << 10)
	case SplitRange, MergeRanges, MoveReplica, MoveLeader, FlushStore:
		f.Amount = p.rng.Int64()
	}
	return f
}

// nodes draws the nodes of a fault.
func (p *planner) nodes(k FaultKind) []kvpb.NodeID {
	all := slices.Clone(p.Nodes)
	p.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	n := 1
	switch k {
	case PowerOffAll:
		return slices.Clone(p.Nodes)
	case Split:
		n = 1 + p.rng.IntN(max(len(all)/2, 1))
	case OneWay, Flapping:
		n = min(2, len(all))
	}
	return all[:n:n]
}

func (f Fault) endsProcess() bool {
	return f.Kind == Kill || f.Kind == PowerOff || f.Kind == PowerOffAll || f.Kind == Restart
}

// fits reports whether a fault goes with those planned before it.
func (p *planner) fits(f Fault) bool {
	if (f.Kind == OneWay || f.Kind == Flapping || f.Kind == Split) && len(p.Nodes) < 2 {
		return false
	}
	down := 0
	for _, g := range p.plan {
		if g.At+g.For < f.At {
			continue // over; earlier ones can't begin after f
		}
		same := slices.ContainsFunc(f.Nodes, func(n kvpb.NodeID) bool { return slices.Contains(g.Nodes, n) })
		if same && (f.Kind == g.Kind || f.endsProcess() && g.endsProcess()) {
			return false
		}
		if g.endsProcess() {
			down += len(g.Nodes)
		}
	}
	if f.endsProcess() && f.Kind != PowerOffAll && down+1 > p.MaxDown {
		return false
	}
	return p.Quorum == 0 || p.troubled(f) <= time.Duration(float64(p.Length)*(1-p.Quorum))
}

// How long after a fault its nodes are still of no use: a process waits for its clock
// and catches up, a link brings heartbeats again.
const (
	restartRecovers = 4 * time.Second
	linkRecovers    = 2 * time.Second
	// badLoss is from how much loss, in thousandths, a node is in trouble.
	badLoss = 100
)

// trouble returns the nodes that can't be counted on because of a fault, and for how
// much longer than it lasts.
func (f Fault) trouble() ([]kvpb.NodeID, time.Duration) {
	switch f.Kind {
	case Kill, PowerOff, PowerOffAll, Restart:
		return f.Nodes, restartRecovers
	case OneWay, Flapping:
		return f.Nodes[:1], linkRecovers
	case LossyLinks:
		if f.Amount < badLoss {
			return nil, 0
		}
		return f.Nodes, linkRecovers
	case Split, StallDisk, FullDisk:
		return f.Nodes, linkRecovers
	}
	return nil, 0
}

// troubled returns how long in all more than MaxDown nodes are in trouble, if f
// happens too.
func (p *planner) troubled(f Fault) (sum time.Duration) {
	type edge struct {
		at   time.Duration
		node kvpb.NodeID
		by   int
	}
	var edges []edge
	for _, g := range append(slices.Clone(p.plan), f) {
		nodes, after := g.trouble()
		for _, n := range nodes {
			edges = append(edges, edge{g.At, n, 1}, edge{g.At + g.For + after, n, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return int(a.at - b.at) })
	faults, nodes, since := map[kvpb.NodeID]int{}, 0, time.Duration(0)
	for _, e := range edges {
		if nodes > p.MaxDown {
			sum += e.at - since
		}
		since = e.at
		if before := faults[e.node]; before == 0 {
			nodes++
		} else if before+e.by == 0 {
			nodes--
		}
		faults[e.node] += e.by
	}
	return sum
}
