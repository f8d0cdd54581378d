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
	"github.com/lichendb/lichen/internal/server"
	"github.com/spf13/cobra"
)

const (
	// heldPoll is how often a decommissioning is looked at.
	heldPoll = 500 * time.Millisecond
	// stuckAfter is how long nothing may move before it is said why.
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
			"--wait=none, the replicas go on moving; run it again to finish, or recommission to change your mind.",
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
	fl.DurationVar(&f.stuck, "explain-after", stuckAfter, "how long nothing may move before it is said why")
	return c
}

func (f *decommissionFlags) run(s *streams, ids []kvpb.NodeID) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := f.checkRest(ids); err != nil {
		return err
	}
	for _, id := range ids {
		if err := f.set(ctx, id, server.Decommissioning); err != nil {
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
		if err := f.set(ctx, id, server.Decommissioned); err != nil {
			return err
		}
	}
	fmt.Fprintln(s.out, "No data is left on the nodes, and they are not part of the cluster any more. Their processes can be stopped.")
	return nil
}

// checkRest refuses to take all nodes away.
func (f *decommissionFlags) checkRest(ids []kvpb.NodeID) error {
	nodes, err := f.listed(false)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Live && n.Membership == server.Active && !slices.Contains(ids, n.ID) {
			return nil
		}
	}
	return errors.New("no live node would be left")
}

func (f *nodeFlags) set(ctx context.Context, id kvpb.NodeID, to server.Membership) error {
	return f.call(ctx, server.MethodMembership, server.MembershipRequest{Node: id, To: to}, nil)
}

// await waits until nothing is left on the nodes, and tells how that goes.
func (f *decommissionFlags) await(ctx context.Context, s *streams, ids []kvpb.NodeID) error {
	said, left, moved, why := "", -1, time.Now(), false
	for {
		var all []server.Held
		sum := 0
		var counts []string
		for _, id := range ids {
			var h server.Held
			if err := f.call(ctx, server.MethodHeld, server.HeldRequest{Node: id, Why: why}, &h); err != nil {
				return err
			}
			all = append(all, h)
			sum += h.Ranges
			counts = append(counts, fmt.Sprintf("node %d: %d", id, h.Ranges))
		}
		if now := "replicas left: " + strings.Join(counts, ", "); now != said {
			fmt.Fprintln(s.out, now)
			said = now
		}
		if sum == 0 {
			return nil
		}
		switch {
		case left < 0 || sum < left:
			left, moved, why = sum, time.Now(), false
		case why:
			for i, id := range ids {
				explainHeld(s, id, &all[i], f.stuck)
			}
			moved, why = time.Now(), false
		default:
			why = time.Since(moved) > f.stuck
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(heldPoll):
		}
	}
}

// explainHeld says what keeps replicas on a node.
func explainHeld(s *streams, id kvpb.NodeID, h *server.Held, since time.Duration) {
	if h.Ranges == 0 {
		return
	}
	fmt.Fprintf(s.err, "Nothing has moved away from node %d for %s. It still has replicas of:\n", id, since)
	most := 0
	for _, d := range h.Examples {
		var on []string
		voters := 0
		for _, r := range d.Replicas {
			on = append(on, fmt.Sprint(r.Node))
			if r.Type == kvpb.Voter {
				voters++
			}
		}
		most = max(most, voters)
		fmt.Fprintf(s.err, "  range %d, with replicas on nodes %s\n", d.RangeID, strings.Join(on, ", "))
	}
	if len(h.Examples) < h.Ranges {
		fmt.Fprintf(s.err, "  and %d more\n", h.Ranges-len(h.Examples))
	}
	if len(h.Others) < most {
		fmt.Fprintf(s.err, "They have %d replicas each, and only %d other live nodes could take them: start another node, "+
			"or lower num_replicas with ALTER RANGE default CONFIGURE ZONE USING num_replicas = …\n", most, len(h.Others))
	}
	if len(h.Reasons) > 0 {
		fmt.Fprintf(s.err, "What the nodes say:\n  %s\n", strings.Join(h.Reasons, "\n  "))
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
				if err := f.set(context.Background(), id, server.Active); err != nil {
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
