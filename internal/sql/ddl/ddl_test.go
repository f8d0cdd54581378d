package ddl_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/fs"
)

// TestScripts runs the scripts of testdata: each has a cluster of its own. The
// command exec runs statements in a session ("session=b"), restart closes the
// store and opens it again.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		c := newCluster(t, fs.NewMem())
		sessions := map[string]*session{}
		defer func() { c.close() }()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "restart":
				c.close()
				c = newCluster(t, c.disk)
				clear(sessions)
				return ""
			case "exec":
				name := "a"
				if d.HasArg("session") {
					d.ScanArgs(t, "session", &name)
				}
				if sessions[name] == nil {
					sessions[name] = c.session()
				}
				return sessions[name].exec(d.Input)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}
