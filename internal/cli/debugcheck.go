package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/lichendb/lichen/internal/consistency"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
	"github.com/spf13/cobra"
)

// errDiffer makes the command fail when replicas differ.
var errDiffer = errors.New("replicas differ: keep the stores of the nodes named for an examination, and remove these nodes")

type checkFlags struct {
	nodeFlags
	verbose bool
}

func newDebugCheck(s *streams) *cobra.Command {
	f := &checkFlags{}
	c := &cobra.Command{
		Use:   "check-replicas",
		Short: "Compare the replicas of every range",
		Long: "Have all replicas of every range compute a checksum at the same place in the range's log, and compare. Nothing is\n" +
			"repaired. Ends with an error if replicas differ or a range could not be checked.",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	f.add(c)
	c.Flags().BoolVar(&f.verbose, "verbose", false, "print the ranges whose replicas are identical too")
	return c
}

func (f *checkFlags) run(s *streams) error {
	ctx := context.Background()
	var nodes []node.NodeStatus
	if err := f.call(ctx, node.MethodNodes, nil, &nodes); err != nil {
		return err
	}
	var ids []kvpb.RangeID
	if err := f.call(ctx, consistency.MethodRangeIDs, nil, &ids); err != nil {
		return err
	}
	found := map[kvpb.RangeID]consistency.RangeCheck{}
	// Once more for ranges whose leadership moved meanwhile.
	for range 2 {
		for _, n := range nodes {
			if err := f.node(ctx, n.ID, found, s); err != nil && n.Live {
				fmt.Fprintf(s.err, "node %d: %v\n", n.ID, err)
			}
		}
		if unchecked(found, ids) == 0 {
			break
		}
	}
	return f.report(s, found, ids)
}

// node makes one node check the ranges that it leads, and adds the results that no other node has given.
func (f *checkFlags) node(ctx context.Context, id kvpb.NodeID, found map[kvpb.RangeID]consistency.RangeCheck, s *streams) error {
	req := consistency.Request{Node: id}
	for {
		var p consistency.Page
		if err := f.call(ctx, consistency.MethodCheck, &req, &p); err != nil {
			return err
		}
		for i := range p.Ranges {
			c := p.Ranges[i]
			if old, ok := found[c.Range]; !ok || old.Verdict == consistency.Unchecked {
				found[c.Range] = c
			}
			if c.Verdict == consistency.Differing || f.verbose && c.Verdict == consistency.Identical {
				fmt.Fprintln(s.out, c.String())
			}
		}
		if p.Next == 0 || p.Next == req.After {
			return nil
		}
		req.After = p.Next
	}
}

// unchecked counts the ranges of ids without a result.
func unchecked(found map[kvpb.RangeID]consistency.RangeCheck, ids []kvpb.RangeID) (n int) {
	for _, id := range ids {
		if c, ok := found[id]; !ok || c.Verdict == consistency.Unchecked {
			n++
		}
	}
	return n
}

func (f *checkFlags) report(s *streams, found map[kvpb.RangeID]consistency.RangeCheck, ids []kvpb.RangeID) error {
	count := map[consistency.Verdict]int{}
	partly := 0
	for _, c := range found {
		count[c.Verdict]++
		for i := range c.Replicas {
			if c.Verdict == consistency.Identical && c.Replicas[i].Err != "" {
				partly++
				fmt.Fprintln(s.out, c.String())
				break
			}
		}
	}
	missing := 0
	for _, id := range ids {
		c, ok := found[id]
		if ok && c.Verdict != consistency.Unchecked {
			continue
		}
		missing++
		if !ok {
			fmt.Fprintf(s.out, "range %d: unchecked: no node led it\n", id)
		} else {
			fmt.Fprintln(s.out, c.String())
		}
	}
	fmt.Fprintf(s.out, "%d ranges identical (%d of them without some replica that did not answer), %d differing, %d unchecked\n",
		count[consistency.Identical], partly, count[consistency.Differing], missing)
	switch {
	case count[consistency.Differing] > 0:
		return errDiffer
	case missing > 0:
		return fmt.Errorf("%d ranges could not be checked", missing)
	}
	return nil
}
