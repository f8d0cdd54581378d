package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/spf13/cobra"
)

const (
	// stopPoll is the interval at which lichen stop checks whether the node has ended, stopNotice that of
	// its messages.
	stopPoll   = 50 * time.Millisecond
	stopNotice = 5 * time.Second
)

type stopFlags struct {
	store, pidFile string
	wait           time.Duration
}

func newStop(s *streams) *cobra.Command {
	f := &stopFlags{}
	c := &cobra.Command{
		Use:   "stop",
		Short: "Stop a node of this machine",
		Long: "Stop a node of this machine in order, as SIGTERM does: other nodes take over, running statements end, the store is\n" +
			"closed. The node is the one that has the store open, or the one of --pid-file. The command returns when it has ended.",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return f.run(s) },
	}
	fl := c.Flags()
	fl.StringVarP(&f.store, "store", "s", config.DefaultStore, "directory of the node's store")
	fl.StringVar(&f.pidFile, "pid-file", "", "file that the node was started with")
	fl.DurationVar(&f.wait, "wait", 0, "how long to wait for the node's end; 0 means as long as it takes")
	return c
}

func (f *stopFlags) run(s *streams) error {
	pid, err := f.pid()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	begun, said := time.Now(), time.Now()
	for syscall.Kill(pid, 0) == nil && !isZombie(pid) {
		if f.wait > 0 && time.Since(begun) > f.wait {
			return fmt.Errorf("the node, process %d, has not ended within %s; it still drains", pid, f.wait)
		}
		if time.Since(said) > stopNotice {
			said = time.Now()
			fmt.Fprintf(s.err, "process %d drains since %s\n", pid, time.Since(begun).Round(time.Second))
		}
		<-time.After(stopPoll)
	}
	fmt.Fprintf(s.out, "stopped (process %d)\n", pid)
	return nil
}

// pid returns the id of the node's process.
func (f *stopFlags) pid() (int, error) {
	if f.pidFile != "" {
		return readPID(f.pidFile)
	}
	store, err := config.ParseStore(f.store)
	if err != nil {
		return 0, usageError{err}
	}
	pid, err := storage.Holder(store.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("there is no store in %s; give --store", store.Path)
	case err != nil:
		return 0, err
	case pid == 0:
		return 0, fmt.Errorf("no node has the store in %s open", store.Path)
	}
	return pid, nil
}

// readPID returns the id in a PID file if that process is running.
func readPID(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("%s holds no process id", path)
	}
	// After a crash another program may have the id.
	if args := processArgs(pid); len(args) < 2 || !strings.HasPrefix(args[1], "start") {
		return 0, fmt.Errorf("the node of %s, process %d, does not run", path, pid)
	}
	return pid, nil
}

// isZombie reports whether a process has ended and its parent has not waited for it yet.
func isZombie(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(after, "Z")
}

// writePID writes this process's id to a file, unless path is empty.
func writePID(path string) error {
	if path == "" {
		return nil
	}
	return os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644)
}

// removePID removes the file of a process that ends.
func removePID(path string) {
	if path != "" {
		_ = os.Remove(path) // what is left of it names a process that does not run
	}
}
