package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/console"
	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/otlp"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/store"
)

// Node is a node.Node with its listeners, certificates and HTTP server.
type Node struct {
	*node.Node
	cfg config.Node
	log *slog.Logger

	logDir      string         // Options.LogDir
	certs       *security.Node // nil: insecure
	start       time.Time
	listen      func(addr string) (net.Listener, error)
	ln          net.Listener
	newcomers   newcomers // of ln
	descriptors descriptors
	httpLn      net.Listener
	http        *http.Server

	fs      *crypt.FS // Options.FS, with the encryption of stores
	sampler *sampler
	events  *eventlog.Log
	console *console.Console
	traces  *otlp.Exporter

	clockFault  *clockFault // nil without config.Node.FaultHooks
	commitFault commitFault // of use only with config.Node.FaultHooks
}

// Options are the parameters of New beside the configuration. Tests set the functions.
type Options struct {
	// FS is the file system of the store.
	FS     fs.FS
	Logger *slog.Logger
	// Audit is that of node.Options.
	Audit *slog.Logger
	// Dial opens connections to other nodes; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Listen opens the listeners, for clients and nodes and for HTTP; nil: TCP.
	Listen func(addr string) (net.Listener, error)
	// Identity carries the console's requests to identity providers; nil: the machine's network.
	Identity http.RoundTripper
	// LogDir is the directory of the node's logs, which admins may read over HTTP; empty:
	// there is none.
	LogDir string
	// FamilyPerColumn and NoAutoStats are those of sql.Config.
	FamilyPerColumn, NoAutoStats bool
}

// New opens the store of a node and builds the parts that do not depend on its
// cluster.
func New(cfg config.Node, o Options) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	disk, err := mountEncryption(&cfg, o.FS, o.Logger)
	if err != nil {
		return nil, err
	}
	n, err := newNode(cfg, o, disk)
	if err != nil {
		return nil, errors.Join(err, disk.Close())
	}
	return n, nil
}

func newNode(cfg config.Node, o Options, disk *crypt.FS) (*Node, error) {
	n := &Node{cfg: cfg, fs: disk, logDir: o.LogDir, log: o.Logger, start: time.Now(), listen: o.Listen, descriptors: shareDescriptors(fs.Descriptors())}
	n.newcomers.most = n.descriptors.newcomers
	if n.listen == nil {
		n.listen = func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	}
	err := n.loadCerts()
	if err != nil {
		return nil, err
	}
	n.events, n.sampler, n.traces = n.newEvents(), newSampler(n), n.newTraces()
	if n.Node, err = node.New(n.nodeOptions(o)); err != nil {
		return nil, err
	}
	n.console = n.newConsole(o.Identity)
	return n, nil
}

// nodeOptions returns the options of the node.Node.
func (n *Node) nodeOptions(o Options) node.Options {
	cfg := &n.cfg
	out := node.Options{
		Config: *cfg,
		Store: store.Options{
			FS: n.fs, Clock: n.newClock(), CacheBytes: cfg.CacheBytes, LogCacheBytes: cfg.LogCache(), LongWriteBytes: cfg.LongWrites(), GCTTL: cfg.GCTTL, Logger: n.log, Bootstrap: cfg.SingleNode,
		},
		EncryptTemp: n.fs.Encrypts(cfg.Stores[0].Path),
		Dial:        o.Dial, Certs: n.certs, Listeners: n, Capacity: n.capacity, OnFatal: n.fatal, OnTwin: n.endAsTwin,
		OnEvent: n.events.Add, FamilyPerColumn: o.FamilyPerColumn, NoAutoStats: o.NoAutoStats, Logger: n.log, Audit: o.Audit, Traces: n.traces,
		MaxConns: n.descriptors.sql, MaxRefused: n.descriptors.refused,
	}
	if cfg.FaultHooks {
		out.Intercept = n.commitFault.intercept
	}
	return out
}

// newClock returns the node's clock.
func (n *Node) newClock() *hlc.Clock {
	offset := n.cfg.MaxOffset
	if n.cfg.SingleNode {
		offset = 0 // its clock is the only one
	}
	if !n.cfg.FaultHooks {
		return hlc.NewSystem(offset)
	}
	n.clockFault = newClockFault()
	return hlc.New(n.clockFault.read, offset)
}

// fatalExit is the exit code of a node that can't go on.
const fatalExit = 7

// fatal ends the process after an error of the store: further answers could be wrong.
func (n *Node) fatal(err error) {
	n.log.Error("the store failed; the node ends", "err", err)
	fmt.Fprintf(os.Stderr, "ERROR: the store at %s failed: %v\n", strings.Join(n.cfg.Dirs(), " or "), err)
	var bug *must.PanicError
	switch {
	case errors.As(err, &bug):
		fmt.Fprintln(os.Stderr, "HINT: this is a bug. What was acknowledged is on disk: start the node again, and report the lines above.")
	case len(n.cfg.Stores) > 1:
		fmt.Fprintln(os.Stderr, "HINT: start the node without the --store whose disk is broken: its replicas are made anew on others.")
	}
	os.Exit(fatalExit)
}

// endAsTwin ends the process because another one runs as the same node.
func (n *Node) endAsTwin(err error) {
	fmt.Fprintf(os.Stderr, "ERROR: the store at %s: %v\n", strings.Join(n.cfg.Dirs(), " and "), err)
	os.Exit(fatalExit)
}

// Start listens and starts the parts. A new node of a cluster returns only when it
// is part of one. After an error everything is closed.
func (n *Node) Start(ctx context.Context) error {
	if err := n.Listen(); err != nil {
		return errors.Join(err, n.KV.Store.Close(), n.fs.Close())
	}
	if err := n.Node.Start(ctx); err != nil {
		return errors.Join(err, n.fs.Close())
	}
	what := "started"
	if n.Joined() {
		what = "joined the cluster"
	}
	n.events.Add(eventlog.Event{Kind: eventlog.NodeStarted, Text: "node " + nodeName(n.NodeID()) + " " + what + ", version " + node.Version})
	n.sampler.start()
	return nil
}

// Stop is node.Node.Stop, which the log of events tells of.
func (n *Node) Stop(ctx context.Context) error {
	n.events.Add(eventlog.Event{Kind: eventlog.NodeStopping, Text: "node " + nodeName(n.NodeID()) + " stops"})
	err := n.Node.Stop(ctx)
	n.traces.Close()
	return errors.Join(err, n.fs.Close())
}

// Addr returns the address on which SQL clients connect.
func (n *Node) Addr() net.Addr { return n.ln.Addr() }

// HTTPAddr returns the address of the HTTP listener.
func (n *Node) HTTPAddr() net.Addr { return n.httpLn.Addr() }
