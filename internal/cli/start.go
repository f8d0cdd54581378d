package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/server"
	"github.com/spf13/cobra"
)

// gcPercent is how much the heap may grow between collections of the Go runtime:
// its live part is small, since caches and memtables lie outside it.
const gcPercent = 300

// readyVar names the environment variable by which --background's child knows
// the descriptor to report on when it serves.
const readyVar = "LICHEN_READY_FD"

type startFlags struct {
	node          config.Node
	cache, memory string
	background    bool
}

func newStartSingleNode(s *streams) *cobra.Command {
	f := &startFlags{node: config.Default()}
	c := &cobra.Command{
		Use:   "start-single-node",
		Short: "Start a cluster of one node",
		Long: "Start a node that is a cluster by itself. Its data is kept in --store; " +
			"it serves SQL on --listen-addr, health and metrics on --http-addr.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	fl := c.Flags()
	fl.BoolVar(&f.node.Insecure, "insecure", false, "run without encryption and authentication")
	fl.StringVarP(&f.node.Store, "store", "s", f.node.Store, "directory of the store")
	fl.StringVar(&f.node.ListenAddr, "listen-addr", f.node.ListenAddr, "address for SQL clients, host:port")
	fl.StringVar(&f.node.HTTPAddr, "http-addr", f.node.HTTPAddr, "address for HTTP, host:port")
	fl.StringVar(&f.cache, "cache", "", "size of the block cache: bytes, 512MiB, or 25% of memory")
	fl.StringVar(&f.memory, "max-memory", "", "memory for statements: bytes, 1GiB, or 25% of memory")
	fl.BoolVar(&f.background, "background", false, "return when the node serves, leaving it running")
	fl.DurationVar(&f.node.Drain, "drain-wait", f.node.Drain, "how long running statements may take to end at a stop")
	return c
}

func (f *startFlags) complete() (err error) {
	if !f.node.Insecure {
		return usageError{errors.New("certificates are not supported yet: start with --insecure, and only where every client is trusted")}
	}
	f.node.Store = strings.TrimPrefix(f.node.Store, "path=")
	if f.cache != "" {
		if f.node.CacheBytes, err = config.ParseSize(f.cache); err != nil {
			return usageError{fmt.Errorf("--cache: %w", err)}
		}
	}
	if f.memory != "" {
		if f.node.MaxMemory, err = config.ParseSize(f.memory); err != nil {
			return usageError{fmt.Errorf("--max-memory: %w", err)}
		}
	}
	f.node.ListenAddr = config.WithPort(f.node.ListenAddr, config.DefaultPort)
	f.node.HTTPAddr = config.WithPort(f.node.HTTPAddr, config.DefaultHTTPPort)
	if f.node.Store, err = filepath.Abs(f.node.Store); err != nil {
		return err
	}
	if err := f.node.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

func (f *startFlags) run(s *streams) error {
	if err := f.complete(); err != nil {
		return err
	}
	if f.background {
		return f.startChild(s)
	}
	begun := time.Now()
	logDir := filepath.Join(f.node.Store, "logs")
	logFile, err := obs.OpenLog(logDir)
	if err != nil {
		return err
	}
	defer logFile.Close()
	tuneRuntime(&f.node)
	tuneScheduler()
	warnInsecure(s.err, f.node.ListenAddr)
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	n, err := server.New(f.node, server.Options{FS: fs.Disk(), Logger: obs.NewLogger(logFile)})
	if err != nil {
		return err
	}
	if err := n.Start(context.Background()); err != nil {
		return err
	}
	printBanner(s.out, n, &f.node, begun, logDir)
	reportReady()
	sig := <-stop
	fmt.Fprintf(s.err, "%s: stopping; running statements get %s\n", sig, f.node.Drain)
	go func() {
		<-stop
		fmt.Fprintln(s.err, "second signal: ending at once; the log brings the data back at the next start")
		os.Exit(1)
	}()
	return n.Stop(context.Background())
}

// tuneRuntime fits the Go runtime's collector to the node's memory.
func tuneRuntime(c *config.Node) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(c.MaxMemory + c.CacheBytes + 512<<20)
	}
}

// startChild runs the same command in a process of its own and waits until it
// serves.
func (f *startFlags) startChild(s *streams) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var args []string
	for _, a := range os.Args[1:] {
		if a != "--background" && a != "--background=true" {
			args = append(args, a)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	errLog, err := os.CreateTemp("", "lichen-start-*")
	if err != nil {
		return err
	}
	defer os.Remove(errLog.Name())
	child := exec.Command(self, args...)
	child.Stdout, child.Stderr = errLog, errLog
	child.ExtraFiles = []*os.File{w}
	child.Env = append(os.Environ(), readyVar+"=3")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return err
	}
	w.Close()
	ready, err := io.ReadAll(r) // ends when the child reports or dies
	if err != nil {
		return err
	}
	said, err := os.ReadFile(errLog.Name())
	if err != nil {
		return err
	}
	if string(ready) != "ready" {
		fmt.Fprint(s.err, string(said))
		return fmt.Errorf("the node did not start")
	}
	fmt.Fprint(s.out, string(said))
	return child.Process.Release()
}

// reportReady tells the parent that started this process with --background.
func reportReady() {
	if os.Getenv(readyVar) == "" {
		return
	}
	if f := os.NewFile(3, "ready"); f != nil {
		fmt.Fprint(f, "ready")
		f.Close()
	}
}

func warnInsecure(w io.Writer, addr string) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		host = "<all your IP addresses>"
	}
	fmt.Fprintf(w, `*
* WARNING: RUNNING IN INSECURE MODE!
*
* - Your cluster is open for any client that can access %s.
* - Any user, even root, can log in without providing a password.
* - Any user, connecting as root, can read or write any data in your cluster.
* - There is no network encryption nor authentication, and thus no confidentiality.
*
`, host)
}

func printBanner(w io.Writer, n *server.Node, c *config.Node, begun time.Time, logDir string) {
	status := "restarted pre-existing node"
	if n.Fresh() {
		status = "initialized new cluster"
	}
	now := time.Now()
	fmt.Fprintf(w, "Lichen node starting at %s (took %.1fs)\n", now.UTC().Format("2006-01-02 15:04:05.999999999 -0700 MST"), now.Sub(begun).Seconds())
	line := func(k, v string) { fmt.Fprintf(w, "%-20s%s\n", k+":", v) }
	line("build", fmt.Sprintf("Lichen %s @ %s (%s)", server.Version, commit(), runtime.Version()))
	line("webui", "http://"+advertised(n.HTTPAddr()))
	line("sql", "postgresql://root@"+advertised(n.Addr())+"/defaultdb?sslmode=disable")
	line("logs", logDir)
	line("store[0]", "path="+c.Store)
	line("status", status)
	line("clusterID", n.ClusterID())
	line("nodeID", "1")
}

// advertised is an address that a client on this machine can use.
func advertised(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			host = "localhost"
		}
	}
	return net.JoinHostPort(host, port)
}
