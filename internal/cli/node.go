package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
	"github.com/spf13/cobra"
)

// drainPoll is the interval between two queries for the progress of a drain.
const drainPoll = 200 * time.Millisecond

// newNode returns the commands that list nodes and take them out of service.
func newNode(s *streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "node",
		Short: "List nodes, drain them, take them out of the cluster",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newNodeLs(s), newNodeStatus(s), newNodeDrain(s), newNodeDecommission(s), newNodeRecommission(s))
	return c
}

// nodeID parses the id of a node.
func nodeID(arg string) (kvpb.NodeID, error) {
	n, err := strconv.ParseUint(arg, 10, 32)
	if err != nil || n == 0 {
		return 0, usageError{fmt.Errorf("%q is not the id of a node; lichen node ls lists them", arg)}
	}
	return kvpb.NodeID(n), nil
}

func nodeIDs(args []string) ([]kvpb.NodeID, error) {
	if len(args) == 0 {
		return nil, usageError{errors.New("name the nodes by their ids; lichen node ls lists them")}
	}
	var ids []kvpb.NodeID
	for _, a := range args {
		id, err := nodeID(a)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// anyArgs accepts any arguments: the command checks them itself.
func anyArgs(*cobra.Command, []string) error { return nil }

// listed returns the nodes of the cluster; all includes those that were decommissioned.
func (f *nodeFlags) listed(all bool) ([]node.NodeStatus, error) {
	var nodes, out []node.NodeStatus
	if err := f.call(context.Background(), node.MethodNodes, nil, &nodes); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if all || n.Membership != node.Decommissioned {
			out = append(out, n)
		}
	}
	return out, nil
}

func newNodeLs(s *streams) *cobra.Command {
	f := &nodeFlags{}
	var format string
	var all bool
	c := &cobra.Command{
		Use:   "ls",
		Short: "List the ids of the nodes",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			nodes, err := f.listed(all)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, n := range nodes {
				rows = append(rows, []string{fmt.Sprint(n.ID)})
			}
			return printRows(s.out, format, []string{"id"}, rows)
		},
	}
	f.add(c)
	addFormat(c.Flags(), &format)
	c.Flags().BoolVar(&all, "all", false, "show decommissioned nodes too")
	return c
}

func newNodeStatus(s *streams) *cobra.Command {
	f := &nodeFlags{}
	var format string
	var all, stores bool
	c := &cobra.Command{
		Use:   "status [ID]",
		Short: "Show the state of the nodes, or of one",
		Long: "Show the state of the nodes as the node at --host knows it. is_live: it was heard of a moment ago;\n" +
			"is_available: it serves clients, too; updated_at: when it was last heard of. With --stores it shows each store\n" +
			"of each node: its disk, how much of that is available, how much the store itself uses, and whether the disk is ok,\n" +
			"full or does not answer. A table has the columns that fit a terminal; with --all, and in every other format, it\n" +
			"has sql_address, build, started_at and updated_at too.",
		Args: anyArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			var id kvpb.NodeID
			switch len(args) {
			case 0:
			case 1:
				var err error
				if id, err = nodeID(args[0]); err != nil {
					return err
				}
			default:
				return usageError{errors.New("name at most one node")}
			}
			nodes, err := f.listed(all || id != 0)
			if err != nil {
				return err
			}
			if stores {
				return printStores(s, format, nodes, id)
			}
			return printStatus(s, format, nodes, id, all || format != "table")
		},
	}
	f.add(c)
	addFormat(c.Flags(), &format)
	c.Flags().BoolVar(&all, "all", false, "show decommissioned nodes too, and all columns")
	c.Flags().BoolVar(&stores, "stores", false, "show each store of the nodes")
	return c
}

// statusColumns are the columns of node status. Wide columns that are rarely needed are left out of a table
// that has to fit a terminal.
var statusColumns = []struct {
	name  string
	wide  bool
	value func(n *node.NodeStatus) string
}{
	{"id", false, func(n *node.NodeStatus) string { return fmt.Sprint(n.ID) }},
	{"address", false, func(n *node.NodeStatus) string { return n.Addr }},
	{"sql_address", true, func(n *node.NodeStatus) string { return n.SQLAddr }},
	{"build", true, func(n *node.NodeStatus) string { return n.Build }},
	{"started_at", true, func(n *node.NodeStatus) string { return statusTime(n.StartedAt) }},
	{"updated_at", true, func(n *node.NodeStatus) string { return statusTime(n.UpdatedAt) }},
	{"locality", false, func(n *node.NodeStatus) string { return n.Locality }},
	{"is_available", false, func(n *node.NodeStatus) string { return strconv.FormatBool(n.Available) }},
	{"is_live", false, func(n *node.NodeStatus) string { return strconv.FormatBool(n.Live) }},
	{"ranges", false, func(n *node.NodeStatus) string { return fmt.Sprint(n.Ranges) }},
	{"leaders", false, func(n *node.NodeStatus) string { return fmt.Sprint(n.Leaders) }},
	{"membership", false, func(n *node.NodeStatus) string { return string(n.Membership) }},
	{"stores", false, func(n *node.NodeStatus) string { return storeIDs(n.Stores) }},
}

func statusTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}

// printStatus prints the nodes, or only one of them, with all columns or those that fit a terminal.
func printStatus(s *streams, format string, nodes []node.NodeStatus, only kvpb.NodeID, wide bool) error {
	var names []string
	for _, c := range statusColumns {
		if wide || !c.wide {
			names = append(names, c.name)
		}
	}
	var rows [][]string
	for i := range nodes {
		if only != 0 && nodes[i].ID != only {
			continue
		}
		var row []string
		for _, c := range statusColumns {
			if wide || !c.wide {
				row = append(row, c.value(&nodes[i]))
			}
		}
		rows = append(rows, row)
	}
	if only != 0 && len(rows) == 0 {
		return fmt.Errorf("there is no node %d in this cluster", only)
	}
	return printRows(s.out, format, names, rows)
}

// storeIDs lists the ids of a node's stores.
func storeIDs(stores []node.StoreStatus) string {
	ids := make([]string, len(stores))
	for i := range stores {
		ids[i] = fmt.Sprint(stores[i].ID)
	}
	return strings.Join(ids, " ")
}

func printStores(s *streams, format string, nodes []node.NodeStatus, only kvpb.NodeID) error {
	var rows [][]string
	known := only == 0
	for _, n := range nodes {
		if only != 0 && n.ID != only {
			continue
		}
		known = true
		for i := range n.Stores {
			rows = append(rows, storeRow(&n, &n.Stores[i]))
		}
	}
	if !known {
		return fmt.Errorf("there is no node %d in this cluster", only)
	}
	return printRows(s.out, format, []string{
		"store", "node", "address", "is_live", "ranges", "leaders", "capacity_bytes", "available_bytes", "used_bytes", "disk",
	}, rows)
}

// storeRow is what node status --stores tells of a store. What it has not reported yet, as in its first
// seconds, is left out.
func storeRow(n *node.NodeStatus, st *node.StoreStatus) []string {
	disk := "ok"
	switch {
	case !n.Live:
		disk = ""
	case st.Stalled:
		disk = "does not answer"
	case st.Full:
		disk = "full"
	case st.Slow:
		disk = "slow"
	case st.Capacity == 0:
		disk = ""
	}
	bytes := []string{"", "", ""}
	if st.Capacity > 0 {
		bytes = []string{fmt.Sprint(st.Capacity), fmt.Sprint(st.Available), fmt.Sprint(st.Used)}
	}
	return append([]string{
		fmt.Sprint(st.ID), fmt.Sprint(n.ID), n.Addr, strconv.FormatBool(n.Live), fmt.Sprint(st.Ranges), fmt.Sprint(st.Leaders),
	}, append(bytes, disk)...)
}

func newNodeDrain(s *streams) *cobra.Command {
	f := &nodeFlags{}
	var self bool
	c := &cobra.Command{
		Use:   "drain [ID]",
		Short: "End a node's service, before it is stopped",
		Long: "End the service of a node, that of --host or the one named: /health?ready=1 turns 503, other nodes take over\n" +
			"the ranges that it leads, and its clients are disconnected when their statements end, or its --drain-wait has\n" +
			"passed. The process stays until it is stopped.",
		Args: anyArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			var id kvpb.NodeID
			switch {
			case len(args) > 1 || self && len(args) > 0:
				return usageError{errors.New("name at most one node")}
			case len(args) == 1:
				var err error
				if id, err = nodeID(args[0]); err != nil {
					return err
				}
			}
			return f.drain(s, id)
		},
	}
	f.add(c)
	c.Flags().BoolVar(&self, "self", false, "drain the node at --host, which is the default")
	return c
}

func (f *nodeFlags) drain(s *streams, id kvpb.NodeID) error {
	said := ""
	for {
		var d node.DrainStatus
		if err := f.call(context.Background(), node.MethodDrain, node.NodeRequest{Node: id}, &d); err != nil {
			return err
		}
		if d.Done {
			fmt.Fprintln(s.out, "drain ok")
			return nil
		}
		if now := fmt.Sprintf("node is draining: ranges to hand over: %d, sessions: %d", d.Leaders, d.Clients); now != said {
			fmt.Fprintln(s.err, now)
			said = now
		}
		time.Sleep(drainPoll)
	}
}
