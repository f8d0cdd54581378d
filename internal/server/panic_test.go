package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
)

const (
	// fatalNode, in the environment, has a test be the process that ends.
	fatalNode = "LICHEN_TEST_DOOMED"
	livesOn   = "the node lives on"
)

// TestPanicBelowEnds: a panic while a client's goroutine runs the range's log ends the
// process, which says why.
func TestPanicBelowEnds(t *testing.T) {
	if os.Getenv(fatalNode) != "" {
		withNodes(t, testPanicBelow)
	}
	out, code := runFatal(t, "TestPanicBelowEnds")
	if code != fatalExit || !strings.Contains(out, "panic: no such disk") || !strings.Contains(out, "HINT: this is a bug") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// runFatal runs a test in a process of its own, and returns what that said and how it ended.
func runFatal(t *testing.T, test string, env ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^"+test+"$")
	cmd.Env = append(append(os.Environ(), fatalNode+"=1"), env...)
	p, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(p), cmd.ProcessState.ExitCode()
}

func testPanicBelow(_ *testing.T, c *testNodes) {
	var broken atomic.Bool
	disk := fs.WithHooks(fs.NewMem(), func(op *fs.Op) error {
		if broken.Load() && op.Kind == fs.OpSync && strings.Contains(op.Path, "raftlog") {
			panic("no such disk")
		}
		return nil
	})
	cfg := c.config()
	cfg.Stores, cfg.SingleNode = config.Dirs("n"), true
	n := c.listening(cfg, disk)
	c.start(n)
	conn := c.connect(n)
	c.exec(conn, "CREATE TABLE t (a INT PRIMARY KEY)")
	broken.Store(true)
	_, err := conn.Exec(c.ctx, "INSERT INTO t VALUES (1)")
	fmt.Println(livesOn, err)
	os.Exit(0) // the group stays busy: nothing here can be stopped
}
