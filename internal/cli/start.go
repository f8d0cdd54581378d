package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/server"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// readyVar is the environment variable with the file descriptor on which the child of --background reports
// that it serves.
const readyVar = "LICHEN_READY_FD"

type startFlags struct {
	node                config.Node
	cache, memory, temp string
	background          bool
	pidFile             string
	stores              []string
	encryption          []string
	flags               *pflag.FlagSet
	log, logFormat      string // see obs.ParseLogOptions
}

func newStartSingleNode(s *streams) *cobra.Command {
	f := &startFlags{node: config.Default()}
	f.node.SingleNode = true
	c := &cobra.Command{
		Use:   "start-single-node",
		Short: "Start a cluster of one node",
		Long: "Start a node that is a cluster by itself. Its data is kept in --store; " +
			"it serves SQL on --listen-addr, health and metrics on --http-addr.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	f.common(c)
	return c
}

func newStart(s *streams) *cobra.Command {
	f := &startFlags{node: config.Default()}
	c := &cobra.Command{
		Use:   "start",
		Short: "Start a node of a cluster",
		Long: "Start a node of a cluster. A new node joins the cluster that the nodes at the --join addresses are part of; " +
			"to found one, start its first nodes, all with the same --join, and run lichen init once.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	f.common(c)
	fl := c.Flags()
	fl.StringSliceVarP(&f.node.Join, "join", "j", nil, "addresses of nodes of the cluster, host:port,…")
	fl.StringVar(&f.node.AdvertiseAddr, "advertise-addr", "", "address at which other nodes reach this one, host:port (default --listen-addr)")
	fl.StringVar(&f.node.Locality, "locality", "", "where the node is, from large to small: region=eu,zone=a")
	fl.DurationVar(&f.node.DeadAfter, "time-until-store-dead", 0, "how long a node may be silent before its replicas are rebuilt elsewhere; the same on all nodes (default 5m)")
	fl.DurationVar(&f.node.MergeAfter, "merge-after", 0, "how long a range must be small and serve little before it is merged with the next one (default 2m)")
	fl.DurationVar(&f.node.MaxOffset, "max-offset", f.node.MaxOffset, "how far apart the clocks of two nodes may be; the same on all nodes")
	return c
}

// common adds the flags that all kinds of nodes have.
func (f *startFlags) common(c *cobra.Command) {
	fl := c.Flags()
	f.flags = fl
	fl.BoolVar(&f.node.Insecure, "insecure", false, "run without encryption and authentication")
	fl.BoolVar(&f.node.FaultHooks, "fault-hooks", false, "serve /_debug/fault, by which tests break the node")
	_ = fl.MarkHidden("fault-hooks")
	addCertsDir(fl, &f.node.CertsDir)
	fl.StringArrayVarP(&f.stores, "store", "s", []string{config.DefaultStore}, "directory of a store: DIR, or path=DIR,size=SIZE, where size (bytes, 1TB or 80% of the disk) is what it counts for; once for each disk")
	fl.StringArrayVar(&f.encryption, "encryption", nil, "encrypt the files of a store: path=DIR,key=FILE (path=* is every store; lichen gen encryption-key makes the file), "+
		"and old-key=FILE to exchange a key, key=plain to end encryption, rotation-period=DURATION for data keys (default 168h); once for each store")
	fl.StringVar(&f.node.ListenAddr, "listen-addr", f.node.ListenAddr, "address for SQL clients and other nodes, host:port; with --insecure localhost unless given")
	fl.StringVar(&f.node.HTTPAddr, "http-addr", f.node.HTTPAddr, "address for HTTP, host:port; with --insecure localhost unless given, and requests must name it, --advertise-addr, the machine or an IP address")
	fl.StringVar(&f.cache, "cache", "", "size of the block cache: bytes, 512MiB, or 25% of memory")
	fl.StringVar(&f.memory, "max-memory", "", "memory for all but the cache, most of it for statements: bytes, 1GiB, or 25% of memory")
	fl.StringVar(&f.temp, "max-disk-temp-storage", "", "disk space for the temporary files of statements that need more memory than they get: bytes or 64GiB (default 32GiB)")
	fl.StringVar(&f.log, "log", "", "what the log tells: a least level (debug, info, warn, error, off) for all, CHANNEL=level for one of DEV, OPS, SQL_SCHEMA, USER_ADMIN, SESSIONS, SQL_PERF and SENSITIVE_ACCESS (the audit log, which only its own name silences), and redact to leave out what users have written and who they are, with commas between them (default info,SESSIONS=warn)")
	fl.StringVar(&f.logFormat, "log-format", "text", "format of the log: text or json")
	fl.BoolVar(&f.background, "background", false, "return when the node serves, or waits for a cluster, leaving it running")
	fl.StringVar(&f.pidFile, "pid-file", "", "file into which the node writes its process id while it runs")
	fl.DurationVar(&f.node.Drain, "drain-wait", f.node.Drain, "how long running statements may take to end at a stop")
}

func (f *startFlags) complete(w io.Writer) (err error) {
	if err := f.completeSecurity(w); err != nil {
		return usageError{err}
	}
	if f.node.Stores, err = parseStores(f.stores); err != nil {
		return usageError{err}
	}
	if f.node.Encryption, err = parseEncryption(f.encryption); err != nil {
		return usageError{err}
	}
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
	if f.temp != "" {
		if f.node.MaxTemp, err = config.ParseSize(f.temp); err != nil {
			return usageError{fmt.Errorf("--max-disk-temp-storage: %w", err)}
		}
	}
	if err := f.completeAddresses(); err != nil {
		return usageError{err}
	}
	if err := f.node.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// completeAddresses adds the default ports to addresses. An insecure node listens on localhost only, unless
// the flags say otherwise.
func (f *startFlags) completeAddresses() error {
	n := &f.node
	if n.Insecure && !f.flags.Changed("listen-addr") {
		n.ListenAddr = "localhost"
	}
	if n.Insecure && !f.flags.Changed("http-addr") {
		n.HTTPAddr = "localhost"
	}
	n.ListenAddr = config.WithPort(n.ListenAddr, config.DefaultPort)
	n.HTTPAddr = config.WithPort(n.HTTPAddr, config.DefaultHTTPPort)
	if !n.SingleNode && len(n.Join) == 0 {
		return errors.New("--join is missing: give the addresses of a few nodes of the cluster, this one among them " +
			"(for a cluster of one node, run start-single-node)")
	}
	for i, a := range n.Join {
		n.Join[i] = config.WithPort(strings.TrimSpace(a), config.DefaultPort)
		if host := hostOf(n.Join[i]); n.Insecure && !f.flags.Changed("listen-addr") && !isLoopback(host) {
			return fmt.Errorf("--join names another machine, %s, which can't reach this node: with --insecure it listens on localhost only; "+
				"give --listen-addr=:%s to let every machine in, without encryption and authentication", host, config.DefaultPort)
		}
	}
	if n.AdvertiseAddr != "" {
		port := config.DefaultPort
		if _, p, err := net.SplitHostPort(n.ListenAddr); err == nil && p != "0" {
			port = p
		}
		n.AdvertiseAddr = config.WithPort(n.AdvertiseAddr, port)
	}
	return nil
}

// isLoopback reports whether a host is reached from this machine only.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// parseStores parses the values of --store. It resolves links, so that one directory with two names is
// refused.
func parseStores(flags []string) (stores []config.Store, err error) {
	seen := map[string]string{}
	for _, flag := range flags {
		s, err := config.ParseStore(flag)
		if err != nil {
			return nil, err
		}
		if s.Path, err = filepath.Abs(s.Path); err != nil {
			return nil, err
		}
		real := s.Path
		if p, err := filepath.EvalSymlinks(s.Path); err == nil {
			real = p
		}
		if other, ok := seen[real]; ok && other != s.Path {
			return nil, fmt.Errorf("--store=%s is the same directory as %s: each store needs one of its own", flag, other)
		}
		seen[real] = s.Path
		stores = append(stores, s)
	}
	return stores, nil
}

// completeSecurity determines whether the node runs with certificates. One that is a cluster by itself makes its own if it has none.
func (f *startFlags) completeSecurity(w io.Writer) (err error) {
	if f.node.Insecure {
		if f.flags.Changed("certs-dir") {
			return errors.New("give either --insecure or --certs-dir")
		}
		f.node.CertsDir = ""
		return nil
	}
	if f.node.SingleNode {
		if err := security.EnsureOwn(w, f.node.CertsDir, f.reachedAt()); err != nil {
			return err
		}
	}
	if err := security.CheckPresent(f.node.CertsDir, f.reachedAt()); err != nil {
		return err
	}
	f.node.CertsDir, err = filepath.Abs(f.node.CertsDir)
	return err
}

// reachedAt returns the host at which the flags say that others reach the node; empty if they do not.
func (f *startFlags) reachedAt() string {
	addr := f.node.AdvertiseAddr
	if addr == "" {
		addr = f.node.ListenAddr
	}
	host := hostOf(config.WithPort(addr, config.DefaultPort))
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return ""
	}
	return host
}

func (f *startFlags) run(s *streams) error {
	if err := f.complete(s.err); err != nil {
		return err
	}
	logging, err := obs.ParseLogOptions(f.log, f.logFormat)
	if err != nil {
		return err
	}
	if f.background {
		return f.startChild(s)
	}
	begun := time.Now()
	if err := keepPrivate(f.node.Dirs()); err != nil {
		return err
	}
	logDir := filepath.Join(f.node.Stores[0].Path, server.LogsDir)
	logFile, err := obs.OpenLog(logDir, obs.LogName)
	if err != nil {
		return err
	}
	defer logFile.Close()
	auditFile, err := obs.OpenLog(logDir, obs.AuditName)
	if err != nil {
		return err
	}
	defer auditFile.Close()
	tuneRuntime(f.node.HeapMemory())
	tuneScheduler()
	if err := warnKeys(s.err, f.node.Encryption); err != nil {
		return err
	}
	if f.node.Insecure {
		warnInsecure(s.err, f.node.ListenAddr)
	}
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	n, err := server.New(f.node, server.Options{FS: fs.Disk(), Logger: obs.NewLoggerWith(logFile, logging), Audit: obs.NewAudit(auditFile, logging), LogDir: logDir})
	if err != nil {
		return err
	}
	if !f.node.Insecure {
		defer reloadOnHangup(s, n)()
	}
	started := make(chan error, 1)
	go func() { started <- n.Start(context.Background()) }()
	if err := f.awaitStart(s, n, started, stop); err != nil {
		return err
	}
	if err := writePID(f.pidFile); err != nil {
		return errors.Join(err, n.Stop(context.Background()))
	}
	defer removePID(f.pidFile)
	if why := n.CertificateGap(); why != "" {
		fmt.Fprintln(s.err, "WARNING: "+why)
	}
	f.printBanner(s.out, n, begun, logDir)
	reportReady()
	sig := <-stop
	fmt.Fprintf(s.err, "%s: stopping; other nodes take over, running statements get %s\n", sig, f.node.Drain)
	go func() {
		<-stop
		fmt.Fprintln(s.err, "second signal: ending at once; the log brings the data back at the next start")
		os.Exit(1)
	}()
	return n.Stop(context.Background())
}

// reloadOnHangup makes the node reload its certificates at each SIGHUP.
func reloadOnHangup(s *streams, n *server.Node) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-hangup:
			}
			if err := n.ReloadCerts(); err != nil {
				fmt.Fprintf(s.err, "ERROR: the certificates of before stay in use: %v\n", err)
			} else {
				fmt.Fprintln(s.err, "certificates loaded again")
			}
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(done)
	}
}

// joinNotice is the time after which a node prints that it waits for its cluster.
const joinNotice = 3 * time.Second

var errInterrupted = errors.New("stopped before the node was part of a cluster")

// awaitStart waits until the node serves. For a node without a cluster it prints what to do, and releases the
// parent of --background.
func (f *startFlags) awaitStart(s *streams, n *server.Node, started <-chan error, stop <-chan os.Signal) error {
	notice := time.NewTimer(joinNotice)
	defer notice.Stop()
	for {
		select {
		case err := <-started:
			return err
		case <-stop:
			return errInterrupted
		case <-notice.C:
			if n.Waiting() {
				fmt.Fprintf(s.out, "The node waits for its cluster. To found a new one with the nodes of --join, run once:\n\n"+
					"  lichen init %s --host=%s\n\n", f.securityFlag(), n.AdvertisedAddr())
				warnUnanswered(s, n)
				reportReady()
			} else if n.Recovering() {
				fmt.Fprintln(s.out, "The node waits for other nodes of its cluster: start them as well.")
				reportReady()
			}
		}
	}
}

// warnUnanswered prints the addresses of --join that do not answer, with the reasons.
func warnUnanswered(s *streams, n *server.Node) {
	if why := n.Unanswered(); n.Waiting() && len(why) > 0 {
		fmt.Fprintf(s.err, "WARNING: not every address of --join answers; the node tries on, is the address right and a node running there?\n  %s\n",
			strings.Join(why, "\n  "))
	}
}

// securityFlag returns the flag with which clients connect to the node.
func (f *startFlags) securityFlag() string {
	if f.node.Insecure {
		return "--insecure"
	}
	return "--certs-dir=" + f.node.CertsDir
}

// startChild runs the same command in a process of its own and waits until that serves.
func (f *startFlags) startChild(s *streams) error {
	var args []string
	for _, a := range os.Args[1:] {
		if a != "--background" && a != "--background=true" {
			args = append(args, a)
		}
	}
	b, err := startBackground(args)
	if err != nil {
		return err
	}
	said, err := b.await()
	if err != nil {
		fmt.Fprint(s.err, said)
		return err
	}
	fmt.Fprint(s.out, said)
	return nil
}

// background is a process of this program that outlives the one that started it.
type background struct {
	pid         int
	ready, said *os.File
}

// startBackground runs this program with other arguments in a session of its own.
func startBackground(args []string) (*background, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	defer func() {
		if r != nil {
			r.Close()
		}
	}()
	log, err := os.CreateTemp("", "lichen-start-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(log.Name())
	defer log.Close()
	child := exec.Cmd{
		Path: self, Args: append([]string{os.Args[0]}, args...),
		Stdout: log, Stderr: log, ExtraFiles: []*os.File{w},
		Env:         append(os.Environ(), readyVar+"=3"),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := child.Start(); err != nil {
		return nil, err
	}
	b := &background{pid: child.Process.Pid, ready: r}
	if b.said, err = os.Open(log.Name()); err != nil {
		return nil, err
	}
	r = nil
	return b, child.Process.Release()
}

// await waits until the process serves, or waits for its cluster, and returns its output so far.
func (b *background) await() (said string, err error) {
	defer b.ready.Close()
	defer b.said.Close()
	ready, err := io.ReadAll(b.ready) // ends when the process reports or dies
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(b.said)
	if err == nil && string(ready) != "ready" {
		err = errors.New("the node did not start")
	}
	return string(text), err
}

// reportReady notifies the parent that started this process with --background. It does so once: later the
// descriptor may belong to another file.
func reportReady() {
	fd, err := strconv.Atoi(os.Getenv(readyVar))
	if err != nil {
		return
	}
	os.Unsetenv(readyVar)
	if f := os.NewFile(uintptr(fd), "ready"); f != nil {
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

func (f *startFlags) printBanner(w io.Writer, n *server.Node, begun time.Time, logDir string) {
	c := &f.node
	status := "restarted pre-existing node"
	switch {
	case n.Fresh():
		status = "initialized new cluster"
	case n.Joined():
		status = "initialized new node, joined pre-existing cluster"
	}
	now := time.Now()
	fmt.Fprintf(w, "Lichen node starting at %s (took %.1fs)\n", now.UTC().Format("2006-01-02 15:04:05 MST"), now.Sub(begun).Seconds())
	line := func(k, v string) { fmt.Fprintf(w, "%-20s%s\n", k+":", v) }
	line("build", fmt.Sprintf("Lichen %s @ %s (%s)", node.Version, commit(), runtime.Version()))
	scheme := "http"
	if !c.Insecure {
		scheme = "https"
	}
	line("webui", scheme+"://"+n.AdvertisedHTTPAddr())
	line("sql", sqlURL(n.AdvertisedAddr(), c.CertsDir))
	line("client flags", "lichen <command> "+f.securityFlag()+" --host="+n.AdvertisedAddr())
	line("logs", logDir)
	for i, st := range c.Stores {
		line(fmt.Sprintf("store[%d]", i), st.String())
		if e := c.EncryptionOf(st.Path); e != nil {
			line(fmt.Sprintf("encryption[%d]", i), "key="+e.Key)
		}
	}
	line("status", status)
	line("clusterID", n.ClusterID())
	line("nodeID", fmt.Sprint(n.NodeID()))
	line("stop", "lichen stop --store="+c.Stores[0].Path)
}

// sqlURL returns the URL at which root connects to a node.
func sqlURL(addr, certsDir string) string {
	q := url.Values{}
	q.Set("sslmode", "disable")
	if certsDir != "" {
		files := security.ClientFiles(fs.Disk(), certsDir, security.RootName)
		q.Set("sslmode", "verify-full")
		q.Set("sslrootcert", files.CA)
		q.Set("sslcert", files.Cert)
		q.Set("sslkey", files.Key)
	}
	return "postgresql://root@" + addr + "/defaultdb?" + q.Encode()
}
