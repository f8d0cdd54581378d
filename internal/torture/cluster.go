package torture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
)

// Times that a cluster may take.
const (
	// formTime bounds the wait until a new cluster, or a node that was started again,
	// serves.
	formTime = 90 * time.Second
	// stopTime bounds a graceful stop.
	stopTime = 60 * time.Second
	pollPace = 20 * time.Millisecond
	// wholeTime bounds the wait until all ranges have all their replicas.
	wholeTime = 90 * time.Second
	// maxPage bounds what is read of a page of a node.
	maxPage = 4 << 20
	// queryTimeout bounds one query of the test itself.
	queryTimeout = 60 * time.Second
)

// ClusterOptions say how to run nodes.
type ClusterOptions struct {
	Binary string // of lichen
	Dir    string // for stores and what the nodes say
	Nodes  int
	// FirstPort is the first of four ports per node; 0 takes free ones.
	FirstPort int
	Flags     []string // more flags of lichen start
}

// Cluster is a cluster of processes on this machine.
type Cluster struct {
	Links *Links
	Nodes []*Node
	// extras are nodes that scenarios started, or tried to, beyond those.
	extras []*Node
	o      ClusterOptions
	// nextPort is the next to try, above firstFreePort and modulo freePorts.
	nextPort int

	mu     sync.Mutex
	deaths []string // of processes that nobody ended
}

// Node is one node of a Cluster.
type Node struct {
	ID   kvpb.NodeID
	SQL  string // address for clients
	HTTP string
	dir  string
	// advertise, if not empty, is what the node says its address is, instead of its
	// proxy's; url, where clients connect to, if the node is not a process of ours.
	advertise, url string

	proxy *proxy
	c     *Cluster

	mu      sync.Mutex
	cmd     *exec.Cmd
	ended   chan struct{}
	err     error // of the process, once ended
	said    bytes.Buffer
	stopped bool // by SIGSTOP
	ending  bool // the process is meant to end
}

// StartCluster starts nodes and makes them a cluster whose ranges have all their
// replicas.
func StartCluster(ctx context.Context, o ClusterOptions) (*Cluster, error) {
	c := &Cluster{Links: NewLinks(), o: o, nextPort: rand.IntN(freePorts)}
	for i := range o.Nodes {
		n, err := c.newNode(i)
		if err != nil {
			c.Destroy()
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	if err := c.found(ctx); err != nil {
		c.Destroy()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) newNode(i int) (*Node, error) {
	var ports [3]int
	for k := range ports {
		if c.o.FirstPort > 0 {
			ports[k] = c.o.FirstPort + 4*i + k
			continue
		}
		var err error
		if ports[k], err = c.freePort(); err != nil {
			return nil, err
		}
	}
	at := func(k int) string { return "127.0.0.1:" + strconv.Itoa(ports[k]) }
	n := &Node{SQL: at(0), HTTP: at(1), dir: filepath.Join(c.o.Dir, fmt.Sprintf("node%d", i+1)), c: c}
	var err error
	n.proxy, err = c.Links.front(at(2), n.SQL)
	return n, err
}

// Ports are picked from here on, below those that Linux gives to outgoing connections: a
// node finds its own still free when it starts, again and again.
const (
	firstFreePort = 20000
	freePorts     = 12768
	portTries     = 100
)

// freePort finds a port at which nobody listens, another one each time.
func (c *Cluster) freePort() (port int, err error) {
	for range portTries {
		port = firstFreePort + c.nextPort%freePorts
		c.nextPort++
		var ln net.Listener
		if ln, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return port, ln.Close()
		}
	}
	return 0, fmt.Errorf("no free port in %d tries: %w", portTries, err)
}

// found starts all nodes, founds the cluster, and learns who is who.
func (c *Cluster) found(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, formTime+wholeTime)
	defer cancel()
	for i, n := range c.Nodes {
		if err := n.Start(); err != nil {
			return err
		}
		if i == 0 { // so that it gets the first id
			if err := n.init(ctx); err != nil {
				return err
			}
		}
		if err := n.AwaitSQL(ctx); err != nil {
			return err
		}
		id, err := n.askID(ctx)
		if err != nil {
			return err
		}
		n.ID = id
		n.proxy.identify(id)
	}
	return c.AwaitWhole(ctx)
}

// init founds the cluster as soon as the node listens.
func (n *Node) init(ctx context.Context) error {
	for {
		out, err := exec.CommandContext(ctx, n.c.o.Binary, "init", "--insecure", "--host="+n.SQL).CombinedOutput()
		if err == nil {
			return nil
		}
		if !listensSoon(string(out)) || ctx.Err() != nil {
			return fmt.Errorf("init: %w: %s", err, out)
		}
		if err := sleep.For(ctx, 5*pollPace); err != nil {
			return err
		}
	}
}

// listensSoon reports whether what init says is of a node that is only being started.
func listensSoon(out string) bool {
	for _, s := range []string{"refused", "closed", "reset by peer"} {
		if strings.Contains(out, s) {
			return true
		}
	}
	return false
}

// Addr is where other nodes reach the node.
func (n *Node) Addr() string { return n.proxy.ln.Addr().String() }

// Start starts the node's process.
func (n *Node) Start() error {
	var join []string
	for _, o := range n.c.Nodes {
		join = append(join, o.Addr())
	}
	if len(join) == 0 {
		join = append(join, n.Addr())
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	args := append([]string{
		"start", "--insecure", "--fault-hooks", "--store=" + n.dir, "--listen-addr=" + n.SQL, "--http-addr=" + n.HTTP,
		"--advertise-addr=" + cmp.Or(n.advertise, n.Addr()), "--join=" + strings.Join(join, ","),
		"--cache=64MiB", "--max-memory=256MiB",
	}, n.c.o.Flags...)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		return fmt.Errorf("node %d runs", n.ID)
	}
	cmd := exec.Command(n.c.o.Binary, args...)
	n.said.Reset()
	cmd.Stdout, cmd.Stderr = io.Discard, &n.said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for this program alone
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	n.cmd, n.ended, n.stopped = cmd, ended, false
	n.ending = n.ID == 0 // one that is no member yet is looked after by who starts it
	go func() {
		err := cmd.Wait()
		n.mu.Lock()
		n.err, n.cmd = err, nil
		unasked, said := !n.ending, n.said.String()
		n.mu.Unlock()
		if unasked {
			n.c.died(fmt.Sprintf("the process of node %d ended by itself: %v: %s", n.ID, err, lastLines(strings.TrimSpace(said))))
		}
		close(ended)
	}()
	return nil
}

// Running reports whether the node's process runs.
func (n *Node) Running() bool {
	if n.url != "" {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd != nil
}

// signal sends a signal to the node's process, if it runs.
func (n *Node) signal(s syscall.Signal) (ended chan struct{}, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return n.ended, nil
	}
	if s == syscall.SIGSTOP || s == syscall.SIGCONT {
		n.stopped = s == syscall.SIGSTOP
	}
	if err := n.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, err
	}
	return n.ended, nil
}

// died notes that a process ended that should run.
func (c *Cluster) died(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaths = append(c.deaths, what)
}

// expectEnd says that the process may end from now on.
func (n *Node) expectEnd() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ending = true
}

// Kill ends the process without warning.
func (n *Node) Kill() error {
	n.expectEnd()
	ended, err := n.signal(syscall.SIGKILL)
	if err == nil && ended != nil {
		<-ended
	}
	return err
}

// Stop ends the process gracefully, and says how long that took.
func (n *Node) Stop() (time.Duration, error) {
	begun := time.Now()
	n.expectEnd()
	ended, err := n.signal(syscall.SIGTERM)
	if err != nil || ended == nil {
		return 0, err
	}
	select {
	case <-ended:
	case <-time.After(stopTime):
		return stopTime, fmt.Errorf("node %d has not stopped after %s", n.ID, stopTime)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return time.Since(begun), fmt.Errorf("node %d: %w: %s", n.ID, n.err, strings.TrimSpace(n.said.String()))
	}
	return time.Since(begun), nil
}

// Pause and Resume make the process stand still and go on.
func (n *Node) Pause() error { _, err := n.signal(syscall.SIGSTOP); return err }

// Resume makes the process go on.
func (n *Node) Resume() error { _, err := n.signal(syscall.SIGCONT); return err }

// Clock asks for a fault of the node's clock: "jump=-2s", "drift=1000", "off=1".
func (n *Node) Clock(fault string) error { return n.post("/_debug/fault/clock?" + fault) }

// Disk asks for a fault of the node's disk: "delay=2s", "fail=enospc", "off=1".
func (n *Node) Disk(fault string) error { return n.post("/_debug/fault/disk?" + fault) }

func (n *Node) post(path string) error {
	u, err := url.Parse("http://" + n.HTTP + path)
	if err != nil {
		return err
	}
	c := http.Client{Timeout: 5 * time.Second}
	resp, err := c.Post(u.String(), "text/plain", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", u, resp.Status, bytes.TrimSpace(body))
	}
	return err
}

// get returns a page of the node.
func (n *Node) get(path string) (string, error) {
	c := http.Client{Timeout: 5 * time.Second}
	resp, err := c.Get("http://" + n.HTTP + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	return string(body), err
}

// URL is where clients connect to the node.
func (n *Node) URL() string {
	if n.url != "" {
		return n.url
	}
	return "postgresql://root@" + n.SQL + "/defaultdb?sslmode=disable&connect_timeout=5"
}

// AwaitSQL waits until the node answers a query, or fails because its process ended.
func (n *Node) AwaitSQL(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, formTime)
	defer cancel()
	for {
		_, err := n.query(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		if !n.Running() {
			n.mu.Lock()
			defer n.mu.Unlock()
			return fmt.Errorf("node %d ended: %w: %s", n.ID, n.err, strings.TrimSpace(n.said.String()))
		}
		if perr := sleep.For(ctx, pollPace); perr != nil {
			return fmt.Errorf("node %d does not answer: %w", n.ID, err)
		}
	}
}

// query runs statements on a connection of its own and returns the rows of the last.
func (n *Node) query(ctx context.Context, sql string) ([][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	conn, err := pgconn.Connect(ctx, n.URL())
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, r := range results[len(results)-1].Rows {
		var row []string
		for _, v := range r {
			row = append(row, string(v))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// askID finds out which node this is.
func (n *Node) askID(ctx context.Context) (kvpb.NodeID, error) {
	out, err := exec.CommandContext(ctx, n.c.o.Binary, "node", "status", "--insecure", "--host="+n.SQL, "--format=csv").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("node status: %w: %s", err, out)
	}
	addr := n.Addr()
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(line, ","); len(f) > 1 && f[1] == addr {
			id, err := strconv.ParseUint(f[0], 10, 32)
			return kvpb.NodeID(id), err
		}
	}
	return 0, fmt.Errorf("no node at %s in %s", addr, out)
}

// AwaitWhole waits until every range has its replicas, as many as there are nodes up
// to three.
func (c *Cluster) AwaitWhole(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, wholeTime)
	defer cancel()
	want := strconv.Itoa(min(3, len(c.Nodes)))
	state := ""
	for {
		for _, n := range c.Nodes {
			if !n.Running() {
				continue
			}
			rows, err := n.query(ctx, "SHOW CLUSTER RANGES")
			if err != nil {
				state = err.Error()
				continue
			}
			if state = partial(rows, want); state == "" {
				return nil
			}
			break
		}
		if err := sleep.For(ctx, 10*pollPace); err != nil {
			return fmt.Errorf("the ranges are not whole: %s", state)
		}
	}
}

// replicasOf finds the column of a range's replicas, the first with a set of numbers.
func replicasOf(row []string) []string {
	for _, v := range row {
		ids := strings.Split(strings.Trim(v, "{}"), ",")
		number := func(s string) bool { _, err := strconv.ParseUint(s, 10, 32); return err == nil }
		if strings.HasPrefix(v, "{") && !slices.ContainsFunc(ids, func(s string) bool { return !number(s) }) {
			return ids
		}
	}
	return nil
}

// partial names a range that has another number of replicas, or "".
func partial(rows [][]string, want string) string {
	if len(rows) == 0 {
		return "no ranges"
	}
	for _, r := range rows {
		if strconv.Itoa(len(replicasOf(r))) != want {
			return strings.Join(r, " ")
		}
	}
	return ""
}

// dump keeps what the goroutines of all nodes do at this moment, for whoever looks
// into a violation.
func (c *Cluster) dump(res *Result, event int) {
	for _, n := range c.Nodes {
		name := filepath.Join(c.o.Dir, fmt.Sprintf("%s-%d-node%d.txt", res.Scenario, event, n.ID))
		if err := n.save("/debug/pprof/goroutine?debug=2", name); err != nil {
			res.note("%s: %v", name, err)
		}
	}
}

// save keeps what the node answers to a request.
func (n *Node) save(path, name string) error {
	c := http.Client{Timeout: 5 * time.Second}
	resp, err := c.Get("http://" + n.HTTP + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, resp.Body)
	return errors.Join(err, f.Close())
}

// Destroy ends all processes.
func (c *Cluster) Destroy() {
	for _, n := range slices.Concat(c.Nodes, c.extras) {
		if n.url == "" {
			_ = n.Kill()
		}
	}
	c.Links.Close()
}
