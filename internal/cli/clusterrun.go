package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Times that nodes have to stop before they are killed: when the cluster is stopped, and when its data is
// deleted anyway.
const (
	stopTime    = 40 * time.Second
	destroyTime = 2 * time.Second
)

// running reports whether the node's process is running. Another process may have its id by now, so the
// command line must name the node's store.
func (n *localNode) running() bool {
	if n.PID <= 0 {
		return false
	}
	args := processArgs(n.PID)
	return len(args) > 2 && args[1] == "start" && slices.Contains(args, "--store="+n.Store)
}

// processArgs returns the command line of a process, nil if there is none with the id.
func processArgs(pid int) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	return strings.Split(string(b), "\x00")
}

// signal sends a signal to the node's process if it runs.
func (n *localNode) signal(sig syscall.Signal) error {
	if !n.running() {
		return nil
	}
	if err := syscall.Kill(n.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("node %d (process %d): %w", n.Number, n.PID, err)
	}
	return nil
}

func (l *localCluster) count() (running int) {
	for i := range l.Nodes {
		if l.Nodes[i].running() {
			running++
		}
	}
	return running
}

// show prints the addresses of the cluster.
func (l *localCluster) show(s *streams) {
	fmt.Fprintf(s.out, "cluster %s: %d of %d nodes run, %d replicas of each range\n", l.Name, l.count(), len(l.Nodes), l.RF)
	for _, n := range l.Nodes {
		fmt.Fprintf(s.out, "  %s  http://%s\n", sqlURL(n.SQL, ""), n.HTTP)
	}
}

func (l *localCluster) start(s *streams) error {
	waits, err := l.launch()
	if err != nil {
		return err
	}
	if err := await(waits); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), clusterFormTime)
	defer cancel()
	if err := l.awaitSQL(ctx); err != nil {
		return err
	}
	l.show(s)
	return nil
}

// stop stops the nodes. It kills a node that does not stop in time only if the data is to be deleted.
func (l *localCluster) stop(s *streams, kill bool) error {
	for i := range l.Nodes {
		if err := l.Nodes[i].signal(syscall.SIGTERM); err != nil {
			return err
		}
	}
	limit := stopTime
	if kill {
		limit = destroyTime
	}
	for begun := time.Now(); l.count() > 0; time.Sleep(clusterPoll) {
		if time.Since(begun) < limit {
			continue
		}
		if !kill {
			return fmt.Errorf("%d nodes have not ended after %s", l.count(), limit)
		}
		for i := range l.Nodes {
			if err := l.Nodes[i].signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
	}
	for i := range l.Nodes {
		l.Nodes[i].PID = 0
	}
	if !kill {
		fmt.Fprintf(s.out, "cluster %s is stopped\n", l.Name)
	}
	return l.save()
}

func (l *localCluster) addNode(s *streams) error {
	if len(l.Nodes) >= maxClusterNodes {
		return fmt.Errorf("a local cluster has at most %d nodes", maxClusterNodes)
	}
	if l.count() == 0 {
		return fmt.Errorf("cluster %s does not run: run 'lichen cluster start %s' first", l.Name, l.Name)
	}
	ports, err := freePorts(1, l.Nodes)
	if err != nil {
		return err
	}
	l.Nodes = append(l.Nodes, l.newNode(l.Nodes[len(l.Nodes)-1].Number+1, ports[0]))
	if err := l.save(); err != nil {
		return err
	}
	return l.start(s)
}

func (l *localCluster) destroy(s *streams) error {
	if err := l.stop(s, true); err != nil {
		return err
	}
	if err := os.RemoveAll(l.dir); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "cluster %s is gone\n", l.Name)
	return nil
}

// list lists the clusters.
func (f *clusterFlags) list(s *streams) error {
	if err := checkFormat(f.format); err != nil {
		return err
	}
	entries, err := os.ReadDir(f.base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var rows [][]string
	for _, e := range entries {
		l, err := loadCluster(filepath.Join(f.base, e.Name()))
		if err != nil {
			continue // something else
		}
		rows = append(rows, []string{
			l.Name, strconv.Itoa(len(l.Nodes)), strconv.Itoa(l.count()), strconv.Itoa(l.RF), sqlURL(l.Nodes[0].SQL, ""), l.dir,
		})
	}
	return printRows(s.out, f.format, []string{"name", "nodes", "running", "rf", "sql", "directory"}, rows)
}
