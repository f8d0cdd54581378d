package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	clusterFile = "cluster.json"
	// maxClusterNodes is how many nodes a local cluster may have.
	maxClusterNodes = 64
	// clusterFormTime bounds the wait for a new cluster.
	clusterFormTime = time.Minute
	clusterPoll     = 100 * time.Millisecond
	defaultRF       = 3
)

// localCluster is a cluster of processes on this machine, as its file describes it.
type localCluster struct {
	Name   string
	RF     int
	Memory string // --max-memory of each node
	Cache  string // --cache of each node
	Nodes  []localNode
	dir    string
}

type localNode struct {
	Number           int // its place in the cluster's file; the cluster gives it an id of its own
	Store, SQL, HTTP string
	PID              int
}

// clusterFlags are the flags of lichen cluster.
type clusterFlags struct {
	base          string
	nodes, rf     int
	cache, memory string
	format        string
}

func (f *clusterFlags) add(fl *pflag.FlagSet) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	fl.StringVar(&f.base, "base-dir", filepath.Join(home, ".lichen", "clusters"), "directory of local clusters")
}

func newCluster(s *streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Make and run lasting clusters on this machine, for development",
		Long: "Make and run lasting clusters on this machine, for development. They run insecure, their nodes are processes\n" +
			"that listen on 127.0.0.1.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	create := &clusterFlags{}
	cc := named("create NAME", "Make a cluster and start it", create, func(dir string) error { return create.create(s, dir) })
	fl := cc.Flags()
	fl.IntVar(&create.nodes, "nodes", 3, "number of nodes")
	fl.IntVar(&create.rf, "rf", 0, "replicas of each range: 1, 3, 5, 7 or 9; 0 means 3, or 1 with fewer than three nodes")
	fl.StringVar(&create.cache, "cache", "128MiB", "size of the block cache of each node")
	fl.StringVar(&create.memory, "max-memory", "512MiB", "memory for statements of each node")
	ls := &clusterFlags{}
	lc := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List the clusters", Args: noArgs, RunE: func(*cobra.Command, []string) error { return ls.list(s) }}
	ls.add(lc.Flags())
	addFormat(lc.Flags(), &ls.format)
	c.AddCommand(cc, lc,
		onCluster("start NAME", "Start the nodes of a cluster that do not run", func(l *localCluster) error { return l.start(s) }),
		onCluster("stop NAME", "Stop the nodes of a cluster", func(l *localCluster) error { return l.stop(s, false) }),
		onCluster("add NAME", "Add a node to a cluster", func(l *localCluster) error { return l.addNode(s) }),
		onCluster("destroy NAME", "Stop a cluster and delete its data", func(l *localCluster) error { return l.destroy(s) }),
	)
	return c
}

var clusterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// named returns a command whose argument is the name of a cluster. It calls do with the directory of the
// cluster.
func named(use, short string, f *clusterFlags, do func(dir string) error) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: anyArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !clusterName.MatchString(args[0]) {
				return usageError{errors.New("name one cluster, with letters, digits, and _ . - after the first")}
			}
			dir, err := filepath.Abs(filepath.Join(f.base, args[0]))
			if err != nil {
				return err
			}
			return do(dir)
		},
	}
	f.add(c.Flags())
	return c
}

func onCluster(use, short string, do func(*localCluster) error) *cobra.Command {
	f := &clusterFlags{}
	return named(use, short, f, func(dir string) error {
		l, err := loadCluster(dir)
		if err != nil {
			return err
		}
		return do(l)
	})
}

func loadCluster(dir string) (*localCluster, error) {
	b, err := os.ReadFile(filepath.Join(dir, clusterFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no cluster %s in %s; lichen cluster ls lists them", filepath.Base(dir), filepath.Dir(dir))
	} else if err != nil {
		return nil, err
	}
	l := &localCluster{}
	if err := json.Unmarshal(b, l); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, clusterFile), err)
	}
	l.dir = dir
	return l, nil
}

// save replaces the cluster's file atomically.
func (l *localCluster) save() error {
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(l.dir, clusterFile)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (f *clusterFlags) create(s *streams, dir string) error {
	if f.rf == 0 {
		f.rf = replicasOf(f.nodes)
	}
	switch {
	case f.nodes < 1 || f.nodes > maxClusterNodes:
		return usageError{fmt.Errorf("--nodes must lie between 1 and %d", maxClusterNodes)}
	case f.rf < 1 || f.rf > 9 || f.rf%2 == 0:
		return usageError{errors.New("--rf must be 1, 3, 5, 7 or 9")}
	case f.rf > f.nodes:
		return usageError{fmt.Errorf("--rf=%d needs as many nodes", f.rf)}
	}
	for _, size := range []string{f.cache, f.memory} {
		if _, err := config.ParseSize(size); err != nil {
			return usageError{err}
		}
	}
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s exists already: start, or destroy, that cluster", dir)
	}
	l := &localCluster{Name: filepath.Base(dir), RF: f.rf, Cache: f.cache, Memory: f.memory, dir: dir}
	ports, err := freePorts(f.nodes, nil)
	if err != nil {
		return err
	}
	for i, p := range ports {
		l.Nodes = append(l.Nodes, l.newNode(i+1, p))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := l.save(); err != nil {
		return err
	}
	if err := l.found(); err != nil {
		return errors.Join(err, fmt.Errorf("the cluster did not form; its logs are in %s, lichen cluster destroy %s clears up", dir, l.Name))
	}
	l.show(s)
	return nil
}

// replicasOf returns how many replicas a range gets in a new cluster.
func replicasOf(nodes int) int {
	if nodes < defaultRF {
		return 1
	}
	return defaultRF
}

func (l *localCluster) newNode(number int, p portPair) localNode {
	return localNode{
		Number: number, Store: filepath.Join(l.dir, fmt.Sprintf("node%d", number)),
		SQL: "127.0.0.1:" + strconv.Itoa(p.sql), HTTP: "127.0.0.1:" + strconv.Itoa(p.http),
	}
}

// found starts the nodes of a new cluster and initializes it.
func (l *localCluster) found() error {
	waits, err := l.launch()
	if err != nil {
		return err
	}
	gate := nodeFlags{host: l.Nodes[0].SQL, insecure: true}
	ctx, cancel := context.WithTimeout(context.Background(), clusterFormTime)
	defer cancel()
	for {
		err := gate.call(ctx, node.MethodInit, nil, nil)
		var answer *rpc.RemoteError
		if err == nil {
			break
		} else if errors.As(err, &answer) || ctx.Err() != nil {
			return err
		}
		time.Sleep(clusterPoll) // it does not listen yet
	}
	if err := await(waits); err != nil {
		return err
	}
	if l.RF != defaultRF {
		stmt := fmt.Sprintf("ALTER RANGE default CONFIGURE ZONE USING num_replicas = %d", l.RF)
		if err := l.Nodes[0].execute(ctx, stmt); err != nil {
			return err
		}
	}
	if err := l.awaitSQL(ctx); err != nil {
		return err
	}
	return awaitReplicas(ctx, sqlURL(l.Nodes[0].SQL, ""), l.RF)
}

// awaitReplicas waits until every range has a number of replicas.
func awaitReplicas(ctx context.Context, url string, replicas int) error {
	c, err := pgconn.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	few := fmt.Sprintf("SELECT 1 FROM [SHOW RANGES] WHERE cardinality(voting_replicas) < %d", replicas)
	for {
		results, err := c.Exec(ctx, few).ReadAll()
		if err != nil {
			return fmt.Errorf("waiting for %d replicas of each range: %w", replicas, err)
		}
		if len(results[0].Rows) == 0 {
			return nil
		}
		<-time.After(clusterPoll)
	}
}

// awaitSQL waits until all nodes serve clients.
func (l *localCluster) awaitSQL(ctx context.Context) error {
	for i := range l.Nodes {
		if err := l.Nodes[i].execute(ctx, "SELECT 1"); err != nil {
			return fmt.Errorf("node %d: %w", l.Nodes[i].Number, err)
		}
	}
	return nil
}

// execute executes a statement as soon as the node accepts it.
func (n *localNode) execute(ctx context.Context, stmt string) error {
	for {
		c, err := pgconn.Connect(ctx, sqlURL(n.SQL, ""))
		if err == nil {
			_, err = c.Exec(ctx, stmt).ReadAll()
			c.Close(ctx)
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(clusterPoll):
		}
	}
}

// launch starts the nodes that are not running.
func (l *localCluster) launch() (map[string]*background, error) {
	waits := map[string]*background{}
	var join []string
	for _, n := range l.Nodes {
		join = append(join, n.SQL)
	}
	for i := range l.Nodes {
		n := &l.Nodes[i]
		if n.running() {
			continue
		}
		b, err := startBackground([]string{
			"start", "--insecure", "--store=" + n.Store, "--listen-addr=" + n.SQL, "--http-addr=" + n.HTTP,
			"--join=" + strings.Join(join, ","), "--cache=" + l.Cache, "--max-memory=" + l.Memory,
		})
		if err != nil {
			return nil, err
		}
		n.PID = b.pid
		waits[fmt.Sprintf("node %d", n.Number)] = b
	}
	return waits, l.save()
}

// await waits until launched nodes serve.
func await(waits map[string]*background) (err error) {
	for name, b := range waits {
		if said, e := b.await(); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w\n%s", name, e, said))
		}
	}
	return err
}

// portPair is the pair of ports of a node.
type portPair struct{ sql, http int }

// freePorts finds consecutive free ports for n nodes, other than those of the nodes in taken.
func freePorts(n int, taken []localNode) ([]portPair, error) {
	first, err := strconv.Atoi(config.DefaultPort)
	if err != nil {
		return nil, err
	}
	firstHTTP, err := strconv.Atoi(config.DefaultHTTPPort)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, t := range taken {
		used[t.SQL], used[t.HTTP] = true, true
	}
	sql, err := freeRun(n, first, used)
	if err != nil {
		return nil, err
	}
	http, err := freeRun(n, firstHTTP, used)
	if err != nil {
		return nil, err
	}
	out := make([]portPair, n)
	for i := range out {
		out[i] = portPair{sql + i, http + i}
	}
	return out, nil
}

// freeRun returns the first of n consecutive free ports.
func freeRun(n, from int, used map[string]bool) (int, error) {
	run := 0
	for p := from; p < 1<<16; p++ {
		addr := "127.0.0.1:" + strconv.Itoa(p)
		if run++; used[addr] {
			run = 0
		} else if ln, err := net.Listen("tcp", addr); err != nil {
			run = 0
		} else if err := ln.Close(); err != nil {
			return 0, err
		}
		if run == n {
			return p - n + 1, nil
		}
	}
	return 0, fmt.Errorf("there are no %d consecutive free ports from %d on", n, from)
}
