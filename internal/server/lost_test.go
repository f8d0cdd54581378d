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

// TestOlderCopy: a node whose store was put back from an older copy ends, and says what to do.
func TestOlderCopy(t *testing.T) {
	if os.Getenv(fatalNode) != "" {
		synctest.Test(t, func(t *testing.T) { testOlderCopy(t, newTestNodes(t)) })
	}
	out, code := runFatal(t, "TestOlderCopy")
	if code != fatalExit || !strings.Contains(out, "put back from an older copy") || !strings.Contains(out, "start the node with an empty store") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func testOlderCopy(t *testing.T, c *testNodes) {
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
	older := fs.CrashClone(disk, 0, 1)
	c.exec(conn, "INSERT INTO t SELECT generate_series(1, 100)")
	time.Sleep(time.Second)
	c.stop(third)
	cfg.Join = []string{first.Addr().String()}
	again := c.listening(cfg, older)
	err := again.Start(c.ctx)
	time.Sleep(time.Minute)
	fmt.Println(livesOn, err)
	os.Exit(0)
}
