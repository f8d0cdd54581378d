package server

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
)

// TestTwin: a process that is started with a copy of the store of a node that runs ends before
// it takes part in anything, and says why.
func TestTwin(t *testing.T) {
	if os.Getenv(fatalNode) != "" {
		synctest.Test(t, func(t *testing.T) { testTwin(t, newTestNodes(t)) })
	}
	out, code := runFatal(t, "TestTwin")
	if code != fatalExit || !twinEnded(out) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// twinEnded reports whether the later process has ended before it served.
func twinEnded(out string) bool {
	return strings.Contains(out, "runs already") && strings.Contains(out, "a store of its own") && !strings.Contains(out, livesOn)
}

func testTwin(t *testing.T, c *testNodes) {
	first, second := c.add(), c.add()
	if err := first.Init(); err != nil {
		t.Fatal(err)
	}
	cfg := c.config()
	cfg.Stores, cfg.RangePace = config.Dirs("n"), 100*time.Millisecond
	disk := fs.NewCrashableMem()
	third := c.listening(cfg, disk)
	c.start(first, second, third)
	c.awaitVoters(first, second, third)
	conn := c.connect(first)
	c.exec(conn, "CREATE TABLE t (a INT PRIMARY KEY)")
	time.Sleep(time.Second)
	copied := fs.CrashClone(disk, 100, 1)
	c.exec(conn, "INSERT INTO t SELECT generate_series(1, 100)")
	cfg.Join = []string{first.Addr().String(), second.Addr().String()}
	twin := c.listening(cfg, copied)
	err := twin.Start(c.ctx)
	fmt.Println(livesOn, err)
	time.Sleep(time.Minute)
	os.Exit(0)
}
