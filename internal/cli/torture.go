package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lichendb/lichen/internal/torture"
	"github.com/spf13/cobra"
)

type tortureFlags struct {
	dir       string
	keep      bool
	nodes     int
	clients   int
	seed      uint64
	firstPort int
	scenarios []string
	flags     []string
}

func newTorture(s *streams) *cobra.Command {
	f := &tortureFlags{}
	var about []string
	var names []string
	for _, x := range torture.Scenarios() {
		about = append(about, fmt.Sprintf("  %-11s %s", x.Name, x.About))
		names = append(names, x.Name)
	}
	c := &cobra.Command{
		Use:   "torture",
		Short: "Hurt a cluster under load and check that it keeps its promises",
		Long: "Run a cluster of processes on this machine under load, do things to it, and check what clients saw: no\n" +
			"acknowledged write lost, no stale read, money neither made nor destroyed, service again within 3 s.\n\n" +
			"Scenarios:\n" + strings.Join(about, "\n"),
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	fl := c.Flags()
	fl.StringVar(&f.dir, "dir", "", "directory of the stores; a new temporary one unless given")
	fl.BoolVar(&f.keep, "keep", false, "keep the stores")
	fl.IntVar(&f.nodes, "nodes", 3, "number of nodes")
	fl.IntVar(&f.clients, "clients", 2, "connections per node that read and write single rows without a pause")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the random numbers")
	fl.IntVar(&f.firstPort, "first-port", 0, "first of four ports per node; 0 takes free ones")
	fl.StringSliceVar(&f.scenarios, "scenarios", names, "what to do, in this order")
	fl.StringArrayVar(&f.flags, "node-flag", nil, "a flag for start; may be repeated")
	return c
}

func (f *tortureFlags) run(s *streams) (err error) {
	if f.nodes < 3 || f.clients < 0 {
		return usageError{errors.New("give at least three nodes")}
	}
	if f.dir == "" {
		if f.dir, err = os.MkdirTemp("", "lichen-torture-*"); err != nil {
			return err
		}
	} else if f.dir, err = filepath.Abs(f.dir); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rep, err := torture.Run(ctx, torture.Options{
		Cluster:   torture.ClusterOptions{Binary: self, Dir: f.dir, Nodes: f.nodes, FirstPort: f.firstPort, Flags: f.flags},
		Scenarios: f.scenarios, Seed: f.seed, Clients: f.clients, Progress: s.err,
	})
	if rep != nil {
		rep.Write(s.out)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w (the stores are in %s)", err, f.dir)
	case !rep.Passed():
		return fmt.Errorf("promises were broken, or could not be judged: the stores are in %s", f.dir)
	}
	fmt.Fprintln(s.out, "\nall promises were kept")
	if !f.keep {
		return os.RemoveAll(f.dir)
	}
	return nil
}
