package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/server"
	"github.com/spf13/cobra"
)

// Memory of a demonstration: its data is in memory too, so the cache is small.
const demoCache = 64 << 20

type demoFlags struct {
	shellFlags
	insecure             bool
	sample               string
	listenAddr, httpAddr string
}

func newDemo(s *streams) *cobra.Command {
	f := &demoFlags{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a throw-away node with a SQL prompt",
		Long: "Start a node in this process that keeps its data in memory, and open a SQL prompt on it. Other clients\n" +
			"can connect as well while it runs. Without a terminal it executes -e, -f or standard input and exits.",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	f.add(c)
	fl := c.Flags()
	fl.BoolVar(&f.insecure, "insecure", true, "run without encryption and authentication")
	fl.StringVar(&f.sample, "sample", "none", "sample data: retail or none")
	fl.StringVar(&f.listenAddr, "listen-addr", "127.0.0.1:0", "address for SQL clients, host:port; port 0 picks a free one")
	fl.StringVar(&f.httpAddr, "http-addr", "127.0.0.1:0", "address for HTTP, host:port")
	return c
}

func (f *demoFlags) run(s *streams) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.sample != "none" && f.sample != "retail" {
		return usageError{fmt.Errorf("--sample: %q is neither retail nor none", f.sample)}
	}
	if !f.insecure {
		return usageError{errors.New("certificates are not supported yet: a demo runs insecure, reachable from this machine")}
	}
	cfg := config.Default()
	cfg.Store, cfg.Insecure, cfg.Drain = "demo", true, 0
	cfg.CacheBytes = min(cfg.CacheBytes, demoCache)
	cfg.ListenAddr = config.WithPort(f.listenAddr, "0")
	cfg.HTTPAddr = config.WithPort(f.httpAddr, "0")
	tuneRuntime(&cfg)
	n, err := server.New(cfg, server.Options{FS: fs.NewMem(), Logger: obs.NewLogger(io.Discard)})
	if err != nil {
		return err
	}
	if err := n.Start(context.Background()); err != nil {
		return err
	}
	err = f.serve(s, n)
	// Nothing of it will be needed again; how it stops changes no result.
	if serr := n.Stop(context.Background()); serr != nil && err == nil && !errors.Is(serr, context.DeadlineExceeded) {
		err = serr
	}
	return err
}

// serve runs the shell on the node.
func (f *demoFlags) serve(s *streams, n *server.Node) error {
	url := "postgresql://root@" + demoAddress(n.Addr()) + "/defaultdb?sslmode=disable"
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		return err
	}
	cfg.RuntimeParams["application_name"] = "lichen demo"
	if f.sample == "retail" {
		if err := loadRetail(cfg); err != nil {
			return fmt.Errorf("sample data: %w", err)
		}
	}
	return runShell(s, cfg, &f.shellFlags, func(w io.Writer) {
		fmt.Fprintf(w, `#
# Welcome to Lichen %s. This node keeps its data in memory, until you leave the prompt.
#
# Other clients:  %s
# HTTP:           http://%s
#
`, server.Version, url, demoAddress(n.HTTPAddr()))
		if f.sample == "retail" {
			fmt.Fprint(w, "# Sample data: tables products, users, orders and reviews in database defaultdb.\n#\n")
		}
		fmt.Fprint(w, "# Statements end with a semicolon; \\? lists the prompt's commands, \\q leaves.\n#\n")
	})
}

// demoAddress is an address that this machine reaches.
func demoAddress(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", t.Port)
	}
	return a.String()
}
