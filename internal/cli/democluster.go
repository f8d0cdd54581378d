package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/server"
)

// demoDrain is the time that running statements have when a node of a demonstration is shut down.
const demoDrain = time.Second

const demoUsage = `\demo ls | shutdown N | restart N | add [LOCALITY] | decommission N | recommission N`

// demoCluster is the cluster of a demonstration.
type demoCluster struct {
	*streams
	single, global bool
	nodes          []*demoNode // by id, from 1
	// certs is the directory of certificates, password that of demoUser; empty: the demonstration is insecure.
	certs, password string

	mu    sync.Mutex        // guards what dial reads
	sites map[string]string // localities by address
}

type demoNode struct {
	cfg  config.Node
	disk fs.FS
	n    *server.Node // nil while it is shut down
}

// add creates and starts a node. Ids are given out in order, from 1.
func (d *demoCluster) add(place, listen, http string) (*demoNode, error) {
	cfg := config.Default()
	cfg.Stores, cfg.Insecure, cfg.SingleNode, cfg.Locality = config.Dirs("demo"), d.certs == "", d.single, place
	cfg.CertsDir = d.certs
	cfg.ListenAddr, cfg.HTTPAddr = listen, http
	cfg.CacheBytes = min(cfg.CacheBytes, demoCache)
	cfg.Drain = 0
	if !d.single {
		cfg.Drain = demoDrain
		cfg.CacheBytes /= 4
	}
	dn := &demoNode{cfg: cfg, disk: fs.NewMem()}
	d.nodes = append(d.nodes, dn)
	if err := d.start(dn); err != nil {
		d.nodes = d.nodes[:len(d.nodes)-1]
		return nil, fmt.Errorf("node %d: %w", len(d.nodes)+1, err)
	}
	return dn, nil
}

// start starts a node, at its former addresses if it ran before.
func (d *demoCluster) start(dn *demoNode) error {
	dn.cfg.Join = nil
	for _, o := range d.nodes {
		if o != dn && o.n != nil {
			dn.cfg.Join = append(dn.cfg.Join, o.n.Addr().String())
		}
	}
	o := server.Options{FS: dn.disk, Logger: obs.NewLogger(io.Discard)}
	if d.global {
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return d.dial(ctx, dn.cfg.Locality, addr) }
	}
	n, err := server.New(dn.cfg, o)
	if err != nil {
		return err
	}
	if dn == d.nodes[0] && !d.single && n.Waiting() {
		if err := n.Init(); err != nil {
			return err
		}
	}
	if err := n.Listen(); err != nil {
		return err
	}
	d.mu.Lock()
	d.sites[n.Addr().String()] = dn.cfg.Locality
	d.mu.Unlock()
	if err := n.Start(context.Background()); err != nil {
		return err
	}
	dn.n = n
	dn.cfg.ListenAddr, dn.cfg.HTTPAddr = n.Addr().String(), n.HTTPAddr().String()
	return nil
}

// stop stops the demonstration. The nodes of a cluster end with the process: a drain would wait in vain for
// other nodes to take over their ranges.
func (d *demoCluster) stop() error {
	if d.single {
		return d.nodes[0].n.Stop(context.Background())
	}
	return nil
}

// command executes the prompt's command \demo.
func (d *demoCluster) command(arg string) error {
	words := strings.Fields(arg)
	if len(words) == 0 {
		return errors.New(demoUsage)
	}
	if words[0] == "ls" && len(words) == 1 {
		return d.ls()
	}
	if d.single {
		return errors.New("this demo is a single node: start it with --nodes=3 for a cluster")
	}
	if words[0] == "add" && len(words) <= 2 {
		place := ""
		if len(words) == 2 {
			place = words[1]
		} else if d.global {
			place = worldLocality(len(d.nodes))
		}
		dn, err := d.add(place, "127.0.0.1:0", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "node %d has been added: %s\n", dn.n.NodeID(), d.userURL(dn.n))
		return nil
	}
	if len(words) != 2 {
		return errors.New(demoUsage)
	}
	id, err := strconv.Atoi(words[1])
	if err != nil || id < 1 || id > len(d.nodes) {
		return fmt.Errorf(`there is no node %q; \demo ls lists them`, words[1])
	}
	return d.change(words[0], id)
}

// change shuts down, restarts or decommissions a node.
func (d *demoCluster) change(what string, id int) error {
	dn := d.nodes[id-1]
	gate := nodeFlags{host: d.nodes[0].cfg.ListenAddr, certsDir: d.certs, insecure: d.certs == ""}
	switch what {
	case "shutdown":
		switch {
		case id == 1:
			return errors.New("the prompt is connected to node 1: shut down another one")
		case dn.n == nil:
			return fmt.Errorf("node %d is shut down already", id)
		}
		err := dn.n.Stop(context.Background())
		dn.n = nil
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		fmt.Fprintf(d.out, "node %d has been shut down\n", id)
	case "restart":
		if dn.n != nil {
			return fmt.Errorf("node %d is running", id)
		}
		if err := d.start(dn); err != nil {
			return err
		}
		fmt.Fprintf(d.out, "node %d has been restarted\n", id)
	case "decommission":
		if id == 1 {
			return errors.New("the prompt is connected to node 1: decommission another one")
		}
		f := decommissionFlags{nodeFlags: gate, wait: "all", stuck: demoStuck}
		ids, err := nodeIDs([]string{strconv.Itoa(id)})
		if err != nil {
			return err
		}
		return f.run(d.streams, ids)
	case "recommission":
		ids, err := nodeIDs([]string{strconv.Itoa(id)})
		if err != nil {
			return err
		}
		if err := gate.set(context.Background(), ids[0], node.Active); err != nil {
			return err
		}
		fmt.Fprintf(d.out, "node %d is active\n", id)
	default:
		return errors.New(demoUsage)
	}
	return nil
}

// demoStuck is the time without progress after which a decommissioning in a demonstration prints the reason.
const demoStuck = 10 * time.Second

// ls lists the nodes.
func (d *demoCluster) ls() error {
	memberships := map[kvpb.NodeID]node.Membership{}
	for _, s := range d.nodes[0].n.Statuses() {
		memberships[s.ID] = s.Membership
	}
	var rows [][]string
	for i, dn := range d.nodes {
		state := "running"
		if m := memberships[kvpb.NodeID(i+1)]; m != "" && m != node.Active {
			state = string(m)
		} else if dn.n == nil {
			state = "shut down"
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), state, dn.cfg.Locality, d.clientURL(dn.cfg.ListenAddr), d.scheme() + dn.cfg.HTTPAddr})
	}
	return printRows(d.out, "table", []string{"id", "state", "locality", "sql", "http"}, rows)
}
