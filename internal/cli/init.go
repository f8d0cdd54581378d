package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/node"
	"github.com/spf13/cobra"
)

func newInit(s *streams) *cobra.Command {
	f := &nodeFlags{}
	c := &cobra.Command{
		Use:   "init",
		Short: "Found a cluster",
		Long: "Found a cluster of nodes that were started with lichen start and wait for it. " +
			"Run it once, on any one of them; the others join.",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			var a node.InitAnswer
			if err := f.call(context.Background(), node.MethodInit, nil, &a); err != nil {
				return err
			}
			fmt.Fprintf(s.out, "Cluster successfully initialized (id %s)\n", a.Cluster)
			return f.awaitNodes(s)
		},
	}
	f.add(c)
	return c
}

// initTimeout bounds the wait of init for the nodes of --join.
const initTimeout = 15 * time.Second

// awaitNodes waits until the running nodes of --join serve clients. A node that starts later joins the cluster
// all the same.
func (f *nodeFlags) awaitNodes(s *streams) error {
	ctx, cancel := context.WithTimeout(context.Background(), initTimeout)
	defer cancel()
	var a node.Awaited
	for {
		if err := f.call(ctx, node.MethodAwaited, nil, &a); err != nil && ctx.Err() == nil {
			return err
		}
		if len(a.Starting) == 0 || ctx.Err() != nil {
			break
		}
		time.Sleep(clusterPoll)
	}
	if len(a.Serving) > 0 {
		fmt.Fprintf(s.out, "Nodes that serve: %s\n", strings.Join(a.Serving, ", "))
	}
	if len(a.Starting) > 0 {
		fmt.Fprintf(s.out, "Nodes that have not joined yet: %s\n", strings.Join(a.Starting, ", "))
	}
	return nil
}
