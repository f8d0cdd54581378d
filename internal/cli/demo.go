package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/node"
	"github.com/spf13/cobra"
)

// Limits of a demonstration.
const (
	// demoCache is the cache of all nodes together. It is small, since the data is in memory anyway.
	demoCache = 64 << 20
	// maxDemoNodes is the maximum number of nodes.
	maxDemoNodes = 32
)

type demoFlags struct {
	shellFlags
	insecure             bool
	sample               string
	listenAddr, httpAddr string
	nodes                int
	localities           string
	global               bool
}

func newDemo(s *streams) *cobra.Command {
	f := &demoFlags{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a throw-away cluster with a SQL prompt",
		Long: "Start a node, or a cluster of --nodes, in this process that keeps its data in memory, and open a SQL prompt on\n" +
			"it. Other clients can connect as well while it runs, as the user demo with the password that is shown. The prompt's command \\demo stops, starts and adds nodes.\n" +
			"Without a terminal it executes -e, -f or standard input and exits.",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	f.add(c)
	fl := c.Flags()
	fl.BoolVar(&f.insecure, "insecure", false, "run without encryption and authentication")
	fl.StringVar(&f.sample, "sample", "none", "sample data: retail or none")
	fl.StringVar(&f.listenAddr, "listen-addr", "127.0.0.1:0", "address for SQL clients of the first node, host:port; port 0 picks a free one")
	fl.StringVar(&f.httpAddr, "http-addr", "127.0.0.1:0", "address for HTTP of the first node, host:port")
	fl.IntVar(&f.nodes, "nodes", 1, "number of nodes")
	fl.StringVar(&f.localities, "demo-locality", "", "where the nodes are, one after the other: region=eu,zone=a:region=eu,zone=b:…")
	fl.BoolVar(&f.global, "global", false, "simulate the latencies between three regions of the world")
	return c
}

func (f *demoFlags) check() error {
	if err := f.shellFlags.check(); err != nil {
		return err
	}
	switch {
	case f.sample != "none" && f.sample != "retail":
		return usageError{fmt.Errorf("--sample: %q is neither retail nor none", f.sample)}
	case f.nodes < 1 || f.nodes > maxDemoNodes:
		return usageError{fmt.Errorf("--nodes must lie between 1 and %d", maxDemoNodes)}
	case f.global && f.localities != "":
		return usageError{errors.New("--global has localities of its own: leave out --demo-locality")}
	case f.global && f.nodes < worldCycle:
		return usageError{fmt.Errorf("--global needs --nodes=%d or more: there are that many regions", worldCycle)}
	}
	return nil
}

// places returns the localities of the nodes.
func (f *demoFlags) places() ([]string, error) {
	places := make([]string, f.nodes)
	switch {
	case f.global:
		for i := range places {
			places[i] = worldLocality(i)
		}
	case f.localities != "":
		given := strings.Split(f.localities, ":")
		if len(given) != f.nodes {
			return nil, usageError{fmt.Errorf("--demo-locality gives %d localities for %d nodes; colons separate them", len(given), f.nodes)}
		}
		copy(places, given)
	}
	return places, nil
}

func (f *demoFlags) run(s *streams) error {
	if err := f.check(); err != nil {
		return err
	}
	places, err := f.places()
	if err != nil {
		return err
	}
	d := &demoCluster{streams: s, global: f.global, single: f.nodes == 1, sites: map[string]string{}}
	if !f.insecure {
		if err := d.secure(hostOf(config.WithPort(f.listenAddr, "0"))); err != nil {
			return err
		}
		defer os.RemoveAll(d.certs)
	}
	for i, p := range places {
		sql, http := "127.0.0.1:0", "127.0.0.1:0"
		if i == 0 {
			sql, http = config.WithPort(f.listenAddr, "0"), config.WithPort(f.httpAddr, "0")
		}
		if _, err := d.add(p, sql, http); err != nil {
			return err
		}
	}
	tuneRuntime(0) // the data is in the heap too
	err = f.serve(s, d)
	// Nothing of the demonstration is needed any more, so it may take too long to stop.
	if serr := d.stop(); serr != nil && err == nil && !errors.Is(serr, context.DeadlineExceeded) {
		err = serr
	}
	return err
}

// serve runs the shell on the first node.
func (f *demoFlags) serve(s *streams, d *demoCluster) error {
	n := d.nodes[0].n
	url := d.rootURL(n)
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		return err
	}
	cfg.RuntimeParams["application_name"] = "lichen demo"
	ctx, cancel := context.WithTimeout(context.Background(), clusterFormTime)
	defer cancel()
	if err := awaitReplicas(ctx, url, replicasOf(len(d.nodes))); err != nil {
		return err
	}
	if err := d.createUser(ctx, cfg); err != nil {
		return err
	}
	if f.sample == "retail" {
		if err := loadRetail(cfg, false); err != nil {
			return fmt.Errorf("sample data: %w", err)
		}
	}
	f.demo = d.command
	return runShell(s, cfg, &f.shellFlags, func(w io.Writer) {
		what := "This node keeps its data in memory, until you leave the prompt."
		if len(d.nodes) > 1 {
			what = fmt.Sprintf("These %d nodes keep their data in memory, until you leave the prompt.", len(d.nodes))
		}
		fmt.Fprintf(w, "#\n# Welcome to Lichen %s. %s\n#\n# Other clients:  %s\n# HTTP:           %s\n#\n",
			node.Version, what, d.userURL(n), d.httpURL(n))
		if d.certs != "" {
			fmt.Fprintf(w, "# The pages take the same name and password: %s, %s. Certificates:  %s\n#\n", demoUser, d.password, d.certs)
		}
		if f.sample == "retail" {
			fmt.Fprint(w, "# Sample data: tables products, users, orders and reviews in database defaultdb.\n#\n")
		}
		fmt.Fprint(w, "# Statements end with a semicolon; \\? lists the prompt's commands, \\q leaves.\n#\n")
	})
}

// demoAddress returns an address that this machine can connect to.
func demoAddress(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", t.Port)
	}
	return a.String()
}
