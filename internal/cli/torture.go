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
	"time"

	"github.com/lichendb/lichen/internal/torture"
	"github.com/spf13/cobra"
)

// urlTime is the default duration of the load on a cluster given by --url.
const urlTime = 30 * time.Second

type tortureFlags struct {
	dir       string
	keep      bool
	nodes     int
	clients   int
	seed      uint64
	firstPort int
	duration  time.Duration
	format    string
	url       string
	scenarios []string
	flags     []string
}

func newTorture(s *streams) *cobra.Command {
	f := &tortureFlags{}
	var about []string
	for _, x := range torture.Scenarios() {
		about = append(about, fmt.Sprintf("  %-12s %s", x.Name, x.About))
	}
	c := &cobra.Command{
		Use:   "torture",
		Short: "Hurt a cluster under load and check that it keeps its promises",
		Long: "Run a cluster of processes on this machine under load, do things to it, and check what clients saw: no\n" +
			"acknowledged write lost, no stale read, money neither made nor destroyed, no anomaly that an isolation level does\n" +
			"not allow, service again within 3 s. After each scenario the replicas of all ranges are compared. The exit code is\n" +
			"1 if a promise was broken; then the stores and what the clients saw are kept.\n\n" +
			"With --url, put the same load on a database that is there, Lichen or PostgreSQL, without faults.\n\n" +
			"Scenarios:\n" + strings.Join(about, "\n"),
		Example: "  lichen torture                                              every scenario by itself, on three nodes; some need five\n" +
			"  lichen torture --scenarios=kill,partition --format=json     two of them, for programs\n" +
			"  lichen torture --nodes=5 --scenarios=all --duration=5m      all faults mixed, on five nodes\n" +
			"  lichen torture --nodes=1 --scenarios=calm --duration=1m     isolation levels on one node\n" +
			"  lichen torture --url='postgresql://me@localhost/test'       a PostgreSQL, for 30 s",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.setDefaults(c)
			return f.run(s)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.dir, "dir", "", "directory of the stores, which then stay; a temporary one unless given")
	fl.BoolVar(&f.keep, "keep", false, "keep the stores, or the tables at --url")
	fl.IntVar(&f.nodes, "nodes", 3, "number of nodes")
	fl.IntVar(&f.clients, "clients", 2, "connections per node that read and write single rows without a pause")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the random numbers")
	fl.IntVar(&f.firstPort, "first-port", 0, "first of four ports per node; 0 takes free ones")
	fl.DurationVar(&f.duration, "duration", 0, "bound of the whole run, shared by the scenarios; 0: each takes as long as it takes")
	fl.StringVar(&f.format, "format", "table", "of the report: table or json")
	fl.StringVar(&f.url, "url", "", "put the load on this database instead")
	fl.StringSliceVar(&f.scenarios, "scenarios", nil, "what to do, in this order; every one by itself unless given")
	fl.StringArrayVar(&f.flags, "node-flag", nil, "a flag for start; may be repeated")
	return c
}

// setDefaults sets the scenarios, if none are given, to all that the number of nodes allows.
func (f *tortureFlags) setDefaults(c *cobra.Command) {
	if c.Flags().Changed("scenarios") {
		return
	}
	for _, x := range torture.Scenarios() {
		if x.Name != torture.MixedName && x.Least() <= f.nodes {
			f.scenarios = append(f.scenarios, x.Name)
		}
	}
}

func (f *tortureFlags) check() error {
	switch {
	case f.nodes < 1 || f.clients < 0 || f.duration < 0:
		return usageError{errors.New("--nodes is at least 1, --clients and --duration are not negative")}
	case f.format != "table" && f.format != "json":
		return usageError{fmt.Errorf("--format: %q is neither table nor json", f.format)}
	}
	return nil
}

func (f *tortureFlags) run(s *streams) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	own := f.dir == ""
	if own {
		if f.dir, err = os.MkdirTemp("", "lichen-torture-*"); err != nil {
			return err
		}
	} else if f.dir, err = filepath.Abs(f.dir); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rep, err := f.torture(ctx, s)
	if rep != nil {
		if f.format == "json" {
			err = errors.Join(err, rep.JSON(s.out))
		} else {
			rep.Write(s.out)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w (what there is to see is in %s)", err, f.dir)
	case !rep.Passed():
		return fmt.Errorf("promises were broken, or could not be judged: what there is to see is in %s", f.dir)
	}
	fmt.Fprintln(s.err, "\nall promises were kept")
	if f.keep || !own {
		return nil // a directory that was named may hold other things
	}
	return os.RemoveAll(f.dir)
}

func (f *tortureFlags) torture(ctx context.Context, s *streams) (*torture.Report, error) {
	if f.url != "" {
		o := torture.URLOptions{URL: f.url, Dir: f.dir, Duration: f.duration, Seed: f.seed, Clients: f.clients, Keep: f.keep, Progress: s.err}
		if o.Duration == 0 {
			o.Duration = urlTime
		}
		return torture.RunURL(ctx, o)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return torture.Run(ctx, torture.Options{
		Cluster:   torture.ClusterOptions{Binary: self, Dir: f.dir, Nodes: f.nodes, FirstPort: f.firstPort, Flags: f.flags},
		Scenarios: f.scenarios, Duration: f.duration, Seed: f.seed, Clients: f.clients, Progress: s.err,
	})
}
