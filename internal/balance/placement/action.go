package placement

import (
	"fmt"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Kind says what an Action does.
type Kind uint8

// The kinds of actions.
const (
	None           Kind = iota
	Unavailable         // the range lost its quorum: reported, not touched
	FinishJoint         // leave a joint configuration that was left standing
	AddVoter            // or make a voter of the learner there
	RemoveVoter         //
	ReplaceVoter        // From → To in one joint change
	AddLearner          //
	RemoveLearner       //
	ReplaceLearner      // From → To in one change
	TransferLeader      // From → To
)

var kindNames = [...]string{"none", "unavailable", "finish joint change", "add voter", "remove voter", "replace voter",
	"add learner", "remove learner", "replace learner", "transfer leader"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Kinds is how many kinds there are.
const Kinds = len(kindNames)

// Class says how pressing an action is.
type Class uint8

// The classes of actions.
const (
	Balance Class = iota // evens out: may wait
	Comply               // does what the configuration asks
	Repair               // restores or keeps fault tolerance, or empties a node
)

func (c Class) String() string { return [...]string{"balance", "comply", "repair"}[min(c, Repair)] }

// Priorities of the steps; a higher one goes first.
const (
	prioFinish       = 1000
	prioDrain        = 900
	prioSlow         = 850
	prioUnder        = 800
	prioDead         = 700
	prioDecommission = 600
	prioSurplus      = 500
	prioComply       = 400
	prioDisk         = 350
	prioLearner      = 300
	prioLease        = 250
	prioImprove      = 200
	prioSpace        = 160
	prioCount        = 150
	prioLoad         = 140
	prioLeaders      = 100
)

// Target is a store and its node.
type Target struct {
	Node  kvpb.NodeID
	Store kvpb.StoreID
}

func (t Target) String() string { return fmt.Sprintf("s%d (n%d)", t.Store, t.Node) }

// Action is the next thing to do for a range.
type Action struct {
	Kind     Kind
	From, To Target // as the kind needs them; From of AddVoter, if any, leaves later
	Class    Class
	Priority int
	// Patient says that nothing is lost if it takes its time although it is a repair:
	// it empties a node that works.
	Patient bool
	// Headroom is how many actions like this one would be of use, for those that
	// even out: when several leaders see the same store out of balance they should
	// not all act.
	Headroom float64
	Reason   string // for people
	// Blocked says what should be done for the range and can't be.
	Blocked string
}

func (a Action) String() string {
	switch a.Kind {
	case None, Unavailable, FinishJoint:
		return a.Kind.String()
	case AddVoter, AddLearner:
		return fmt.Sprintf("%v on %v", a.Kind, a.To)
	case RemoveVoter, RemoveLearner:
		return fmt.Sprintf("%v on %v", a.Kind, a.From)
	}
	return fmt.Sprintf("%v %v → %v", a.Kind, a.From, a.To)
}

// Change is one part of a membership change. Kind is AddVoter, RemoveVoter,
// AddLearner or RemoveLearner.
type Change struct {
	Kind Kind
	Target
}

// Changes lists the membership changes of an action, to be made in one step; nil
// for the kinds that change no membership and for FinishJoint.
func (a Action) Changes() []Change {
	switch a.Kind {
	case AddVoter, AddLearner:
		return []Change{{a.Kind, a.To}}
	case RemoveVoter, RemoveLearner:
		return []Change{{a.Kind, a.From}}
	case ReplaceVoter:
		return []Change{{AddVoter, a.To}, {RemoveVoter, a.From}}
	case ReplaceLearner:
		return []Change{{AddLearner, a.To}, {RemoveLearner, a.From}}
	}
	return nil
}

// CopiesData reports whether the action sends a snapshot of the range to a store.
func (a Action) CopiesData(d *kvpb.RangeDescriptor) bool {
	switch a.Kind {
	case AddVoter, AddLearner, ReplaceVoter, ReplaceLearner:
		_, there := d.Replica(a.To.Store)
		return !there
	}
	return false
}
