package cli

import (
	"context"
	"fmt"

	"github.com/lichendb/lichen/internal/server"
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
			var a server.InitAnswer
			if err := f.call(context.Background(), server.MethodInit, nil, &a); err != nil {
				return err
			}
			fmt.Fprintf(s.out, "Cluster successfully initialized (id %s)\n", a.Cluster)
			return nil
		},
	}
	f.add(c)
	return c
}
