package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/cli"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts call the program under its name, in processes of their own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"lichen": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScript runs testdata/script. Scripts that need several nodes in real time, which a
// machine that is too busy upsets, run only where LICHEN_CLUSTER_TESTS is set.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Defer(func() { destroyClusters(filepath.Join(e.WorkDir, "clusters")) })
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond != "cluster" {
				return false, fmt.Errorf("there is no condition %q", cond)
			}
			return os.Getenv("LICHEN_CLUSTER_TESTS") != "", nil
		},
	})
}

// destroyClusters ends what a script that failed has left running.
func destroyClusters(base string) {
	dirs, err := os.ReadDir(base)
	if err != nil {
		return // the script made none
	}
	for _, d := range dirs {
		cli.Main([]string{"cluster", "destroy", d.Name(), "--base-dir=" + base}, strings.NewReader(""), io.Discard, os.Stderr)
	}
}
