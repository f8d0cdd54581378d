package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
	"github.com/spf13/cobra"
)

const (
	// remainingPoll is the interval between two queries for the progress of a decommissioning.
	remainingPoll = 500 * time.Millisecond
	// stuckAfter is the time without progress after which the reason is printed.
	stuckAfter = 30 * time.Second
)

type decommissionFlags struct {
	nodeFlags
	wait  string
	stuck time.Duration
}

func newNodeDecommission(s *streams) *cobra.Command {
	f := &decommissionFlags{}
	c := &cobra.Command{
		Use:   "decommission ID...",
		Short: "Take nodes out of the cluster for good",
		Long: "Take nodes out of the cluster for good: their replicas move to other nodes, then they are no part of the\n" +
			"cluster any more. --host is another node. It works for nodes that are dead as well. Interrupted, or with\n" +
			"--wait=none, the replicas go on moving; run it again to finish, or recommission to change your mind. If what is\n" +
			"left can't move, for want of a quorum or of nodes, it says so at once, and ends with an error if nothing has moved\n" +
			"after --explain-after.",
		Args: anyArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.wait != "all" && f.wait != "none" {
				return usageError{fmt.Errorf("--wait: %q is neither all nor none", f.wait)}
			}
			ids, err := nodeIDs(args)
			if err != nil {
				return err
			}
			return f.run(s, ids)
		},
	}
	f.add(c)
	fl := c.Flags()
	fl.StringVar(&f.wait, "wait", "all", "all: return when the nodes are out of the cluster; none: when their replicas begin to move")
	fl.DurationVar(&f.stuck, "explain-after", stuckAfter, "how long nothing may move before it is said why, and the command ends if nothing can")
	return c
}

func (f *decommissionFlags) run(s *streams, ids []kvpb.NodeID) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := f.checkRest(ids); err != nil {
		return err
	}
	for _, id := range ids {
		if err := f.set(ctx, id, node.Decommissioning); err != nil {
			return err
		}
	}
	if f.wait == "none" {
		fmt.Fprintln(s.out, "The replicas begin to move.")
		return nil
	}
	if err := f.await(ctx, s, ids); err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(s.err, "interrupted; the replicas go on moving. Run the command again to finish, or recommission.")
			return exitCode(interruptedCode)
		}
		return err
	}
	for _, id := range ids {
		if err := f.set(ctx, id, node.Decommissioned); err != nil {
			return err
		}
	}
	fmt.Fprintln(s.out, "No data is left on the nodes, and they are not part of the cluster any more. Their processes can be stopped.")
	return nil
}

// checkRest returns an error if no node would remain.
func (f *decommissionFlags) checkRest(ids []kvpb.NodeID) error {
	nodes, err := f.listed(false)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Live && n.Membership == node.Active && !slices.Contains(ids, n.ID) {
			return nil
		}
	}
	return errors.New("no live node would be left")
}

func (f *nodeFlags) set(ctx context.Context, id kvpb.NodeID, to node.Membership) error {
	return f.call(ctx, node.MethodMembership, node.MembershipRequest{Node: id, To: to}, nil)
}

// leaving is the progress of nodes that leave the cluster.
type leaving struct {
	remaining []node.Remaining // of each of them
	sum       int              // ranges that they have
	lost      int              // of which this many have no quorum
	counts    string           // for people
}

// look requests the numbers of replicas that the nodes still have.
func (f *decommissionFlags) look(ctx context.Context, ids []kvpb.NodeID, why bool) (*leaving, error) {
	l := &leaving{}
	var counts []string
	for _, id := range ids {
		var h node.Remaining
		if err := f.call(ctx, node.MethodRemaining, node.RemainingRequest{Node: id, Why: why}, &h); err != nil {
			return nil, err
		}
		l.remaining = append(l.remaining, h)
		l.sum += h.Ranges
		l.lost += h.Lost
		counts = append(counts, fmt.Sprintf("node %d: %d", id, h.Ranges))
	}
	l.counts = strings.Join(counts, ", ")
	if l.lost > 0 {
		l.counts += fmt.Sprintf(" (%d without a quorum)", l.lost)
	}
	return l, nil
}

// stuck returns the reason why no replica can move any more; empty if one may.
func (l *leaving) stuck() string {
	if l.lost == l.sum {
		return fmt.Sprintf("the %d replicas that are left are of ranges without a quorum", l.sum)
	}
	for i := range l.remaining {
		if h := &l.remaining[i]; h.Ranges > h.Lost && len(h.Others) >= mostVoters(h) {
			return ""
		}
	}
	return "too few nodes are live to take the replicas that are left"
}

// explain prints what keeps replicas on the nodes after a time without progress.
func (l *leaving) explain(s *streams, ids []kvpb.NodeID, since time.Duration) {
	for i, id := range ids {
		explainRemaining(s, id, &l.remaining[i], since)
	}
}

// await waits until no replica is left on the nodes, and prints the progress. It prints at once if no replica
// can move, and gives up if that stays so.
func (f *decommissionFlags) await(ctx context.Context, s *streams, ids []kvpb.NodeID) error {
	said, left, moved, why := "", -1, time.Now(), true
	for {
		l, err := f.look(ctx, ids, why)
		if err != nil {
			return err
		}
		if l.counts != said {
			fmt.Fprintln(s.out, "replicas left: "+l.counts)
			said = l.counts
		}
		switch {
		case l.sum == 0:
			return nil
		case left < 0 || l.sum < left:
			if reason := l.stuck(); why && reason != "" {
				l.explain(s, ids, 0)
				fmt.Fprintf(s.err, "%s; waiting %s for that to change\n", reason, f.stuck)
			}
			left, moved, why = l.sum, time.Now(), false
		case why:
			l.explain(s, ids, f.stuck)
			if reason := l.stuck(); reason != "" {
				return fmt.Errorf("%s: the nodes stay decommissioning; run the command again when that has changed, or recommission", reason)
			}
			moved, why = time.Now(), false
		default:
			why = time.Since(moved) > f.stuck
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(remainingPoll):
		}
	}
}

// mostVoters returns the highest number of voters among the known ranges of a node.
func mostVoters(h *node.Remaining) (most int) {
	for _, d := range h.Examples {
		voters := 0
		for _, r := range d.Replicas {
			if r.Type == kvpb.Voter {
				voters++
			}
		}
		most = max(most, voters)
	}
	return most
}

// explainRemaining prints what keeps replicas on a node.
func explainRemaining(s *streams, id kvpb.NodeID, h *node.Remaining, since time.Duration) {
	if h.Ranges == 0 {
		return
	}
	if since > 0 {
		fmt.Fprintf(s.err, "Nothing has moved away from node %d for %s. ", id, since)
	}
	fmt.Fprintf(s.err, "Node %d still has replicas of:\n", id)
	for _, d := range h.Examples {
		var on []string
		for _, r := range d.Replicas {
			on = append(on, fmt.Sprint(r.Node))
		}
		fmt.Fprintf(s.err, "  range %d, with replicas on nodes %s\n", d.RangeID, strings.Join(on, ", "))
	}
	if len(h.Examples) < h.Ranges {
		fmt.Fprintf(s.err, "  and %d more\n", h.Ranges-len(h.Examples))
	}
	explainLost(s, h)
	if most := mostVoters(h); h.Ranges > h.Lost && len(h.Others) < most {
		fmt.Fprintf(s.err, "They have %d replicas each, and only %d other live nodes could take them: start another node, "+
			"or lower num_replicas with ALTER RANGE default CONFIGURE ZONE USING num_replicas = …\n", most, len(h.Others))
	}
	if len(h.Reasons) > 0 {
		fmt.Fprintf(s.err, "What the nodes say:\n  %s\n", strings.Join(h.Reasons, "\n  "))
	}
}

// explainLost prints the ranges of a node without a quorum.
func explainLost(s *streams, h *node.Remaining) {
	if h.Lost == 0 {
		return
	}
	fmt.Fprintf(s.err, "%d of them have no quorum and can't move before enough of these nodes answer again:\n", h.Lost)
	for _, l := range h.LostSome {
		var nodes []string
		for _, n := range l.Silent {
			nodes = append(nodes, fmt.Sprint(n))
		}
		fmt.Fprintf(s.err, "  range %d (%s) waits for nodes %s\n", l.Range, strings.Join(l.Holds, ", "), strings.Join(nodes, ", "))
	}
	if len(h.LostSome) < h.Lost {
		fmt.Fprintf(s.err, "  and %d more\n", h.Lost-len(h.LostSome))
	}
}

func newNodeRecommission(s *streams) *cobra.Command {
	f := &nodeFlags{}
	c := &cobra.Command{
		Use:   "recommission ID...",
		Short: "Take back a decommissioning that has not ended yet",
		Args:  anyArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			ids, err := nodeIDs(args)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := f.set(context.Background(), id, node.Active); err != nil {
					return err
				}
				fmt.Fprintf(s.out, "node %d is active\n", id)
			}
			return nil
		},
	}
	f.add(c)
	return c
}
