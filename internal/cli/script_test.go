package cli_test

import (
	"os"
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

// TestScript runs testdata/script.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
}
