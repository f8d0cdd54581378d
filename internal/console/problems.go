package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The severities of problems, the worst first.
const (
	critical = "critical" // something is not served
	warning  = "warning"  // something will not be, if more happens
	notice   = "notice"   // something goes on
)

// Problem is something that is not as it should be, with what to do about it.
type Problem struct {
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Detail   string `json:"detail"`
	Action   string `json:"action"`
	Page     string `json:"page"` // of the console, where more is seen
}

// situation is what problems are found in.
type situation struct {
	nodes     []NodeInfo
	health    RangeHealth
	examples  []string
	notReady  string // why this node does not serve
	deadAfter time.Duration
}

// The shares of a disk from which on it is too full.
const (
	diskWarning  = 0.80
	diskCritical = 0.95
)

// findProblems returns what is not as it should be, the worst first.
func findProblems(s *situation) []Problem {
	out := append(s.serving(), s.ofRanges()...)
	for i := range s.nodes {
		out = append(out, s.ofNode(&s.nodes[i])...)
		out = append(out, ofDisks(&s.nodes[i])...)
	}
	out = append(out, s.roomOnDisks()...)
	rank := []string{critical, warning, notice}
	slices.SortStableFunc(out, func(a, b Problem) int { return slices.Index(rank, a.Severity) - slices.Index(rank, b.Severity) })
	if out == nil {
		out = []Problem{}
	}
	return out
}

// serving tells why this node does not serve.
func (s *situation) serving() []Problem {
	switch s.notReady {
	case "no quorum":
		return []Problem{{critical, "The cluster has no quorum", "More than half of the replicas of the ranges that every statement needs do not answer, so that no statement is served.",
			"Start the nodes that are down again, each with the same --store.", "/nodes"}}
	case "clock off":
		return []Problem{{critical, "This node's clock is off", "It differs from those of the other nodes by more than the cluster allows, and the node serves nothing.",
			"Repair the time synchronisation (chrony, ntpd) of its machine.", "/nodes"}}
	case "starting":
		return []Problem{{notice, "This node is starting", "It serves SQL in a moment.", "Wait. If it takes long, its log says what it waits for.", "/nodes"}}
	}
	return nil
}

// ofRanges tells what is wrong with ranges.
func (s *situation) ofRanges() (out []Problem) {
	h := &s.health
	if !h.RangesKnown && s.notReady == "" {
		out = append(out, Problem{warning, "The ranges of the cluster are not known", "They could not be read in time.", "Try again; if it stays so, look whether all nodes answer.", "/nodes"})
	}
	examples := strings.Join(s.examples, "; ")
	if h.Unavailable > 0 {
		out = append(out, Problem{critical, plural(h.Unavailable, "range is", "ranges are") + " unavailable", examples,
			"More than half of their replicas do not answer: start the nodes that hold them.", "/ranges"})
	}
	if h.UnderReplicated > 0 {
		out = append(out, Problem{warning, plural(h.UnderReplicated, "range has", "ranges have") + " too few live replicas", examples,
			fmt.Sprintf("Start the missing nodes. Nodes that stay away for %s are replaced by themselves, if enough others are there.", short(s.deadAfter)), "/ranges"})
	}
	if h.Misplaced > 0 {
		out = append(out, Problem{notice, plural(h.Misplaced, "range is", "ranges are") + " not where the zone configurations ask", examples,
			"They move by themselves while stores have room. If it stays so, the configuration asks for nodes that there are not: SHOW ZONE CONFIGURATIONS.", "/ranges"})
	}
	return out
}

// ofNode tells what is wrong with a node.
func (s *situation) ofNode(n *NodeInfo) []Problem {
	page := "/nodes/" + strconv.FormatUint(n.ID, 10)
	name := "Node " + strconv.FormatUint(n.ID, 10)
	seen := "It was never heard of since this node started."
	if n.LastContact > 0 {
		seen = "It was heard of last at " + time.UnixMilli(n.LastContact).UTC().Format("15:04:05 MST") + "."
	}
	switch n.State {
	case stateSuspect:
		return []Problem{{warning, name + " does not answer", seen,
			fmt.Sprintf("Look at its machine and start it again with the same --store. After %s its replicas are rebuilt on other nodes.", short(s.deadAfter)), page}}
	case stateDead:
		return []Problem{{warning, name + " is dead", seen,
			fmt.Sprintf("Its replicas are rebuilt elsewhere. Start it again, or, if it is lost for good: lichen node decommission %d.", n.ID), page}}
	case stateDraining:
		return []Problem{{notice, name + " is draining", "Its clients and the ranges that it leads go to other nodes.", "Stop its process when it has drained, or start it anew.", page}}
	case stateDecommissioning:
		return []Problem{{notice, name + " is being decommissioned", fmt.Sprintf("It still holds %d replicas.", n.Ranges),
			fmt.Sprintf("Wait until it holds none. lichen node recommission %d takes it back.", n.ID), page}}
	case stateUnavailable:
		return []Problem{{warning, name + " lives, but does not serve SQL", "It is starting, its clock is off, or the ranges that every statement needs have no quorum.",
			"Its log says why.", page}}
	}
	return nil
}

// ofDisks tells what is wrong with a node's disks.
func ofDisks(n *NodeInfo) (out []Problem) {
	if n.State == stateDead || n.State == stateSuspect || n.State == stateDecommissioned {
		return nil // what it told last is old
	}
	page := "/nodes/" + strconv.FormatUint(n.ID, 10)
	for _, st := range n.Stores {
		name := fmt.Sprintf("The disk of store %d (node %d)", st.ID, n.ID)
		switch st.Disk {
		case "stalled":
			out = append(out, Problem{critical, name + " does not answer", "Its replicas are served by others.", "Look at the machine's disk and its kernel log.", page})
		case "full":
			out = append(out, Problem{critical, name + " is full", "It takes no writes.", "Free space on it, or add a node: replicas move there by themselves.", page})
		case "slow":
			out = append(out, Problem{warning, name + " is slow", "Most writes to its log take longer than server.store.slow_sync_threshold; others lead its ranges.",
				"Look what else uses the disk.", page})
		}
	}
	return out
}

// maxNamed bounds the stores that a problem names.
const maxNamed = 8

// roomOnDisks tells which disks fill up: in one problem, since those of all nodes often do at the same time.
func (s *situation) roomOnDisks() (out []Problem) {
	var full, filling []string
	page := ""
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.State == stateDead || n.State == stateSuspect || n.State == stateDecommissioned {
			continue // what it told last is old
		}
		for _, st := range n.Stores {
			if st.CapacityBytes <= 0 || st.Disk == "full" {
				continue
			}
			share := float64(st.UsedBytes) / float64(st.CapacityBytes)
			text := fmt.Sprintf("%.0f %% of store %d (node %d)", 100*share, st.ID, n.ID)
			if share >= diskCritical {
				full = append(full, text)
			} else if share >= diskWarning {
				filling = append(filling, text)
			} else {
				continue
			}
			page = "/nodes/" + strconv.FormatUint(n.ID, 10)
		}
	}
	tell := func(severity string, list []string, one, many, action string) {
		if len(list) == 0 {
			return
		}
		named := list[:min(len(list), maxNamed)]
		detail := "In use: " + strings.Join(named, ", ")
		if len(list) > len(named) {
			detail += fmt.Sprintf(" and %d more", len(list)-len(named))
		}
		where := page
		if len(full)+len(filling) > 1 {
			where = "/nodes"
		}
		out = append(out, Problem{severity, plural(len(list), "disk "+one, "disks "+many), detail + ".", action, where})
	}
	tell(critical, full, "is almost full", "are almost full", "Free space, or add a node: replicas move there by themselves.")
	tell(warning, filling, "fills up", "fill up", "Add a node, or free space: above 95 % a store gets no replicas.")
	return out
}

// plural is a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// short is a duration without what is zero: 5m, not 5m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
