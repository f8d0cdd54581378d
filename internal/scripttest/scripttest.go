// Package scripttest runs the stories of a package's testdata.
//
// A file is a list of blocks in the format of package datadriven. A block "new" begins a story, with
// arguments that its test defines; a block "run" goes on with it. Each line of a block is one step:
//
//	run
//	split 1 m 2
//	----
//	split 1 m 2
//	  range 1 [a, m) generation 2
//	  range 2 [m, z) generation 1
//
// The output repeats a step with its result: a single line behind a colon, several below.
package scripttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// Step carries a step out, given its words, and returns the lines of its result.
type Step func(words []string) []string

// Start begins a story; d is its block.
type Start func(t *testing.T, d *datadriven.TestData) Step

// Walk runs the files in a folder, each as a subtest.
func Walk(t *testing.T, dir string, start Start) {
	t.Helper()
	datadriven.Walk(t, dir, func(t *testing.T, path string) { File(t, path, start) })
}

// File runs one file.
func File(t *testing.T, path string, start Start) {
	t.Helper()
	var step Step
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		switch {
		case d.Cmd == "new":
			step = start(t, d)
		case d.Cmd != "run" || step == nil:
			d.Fatalf(t, "%s instead of a story that begins with new and goes on with run", d.Cmd)
		}
		return run(d.Input, step)
	})
}

// run carries out the steps of a block.
func run(input string, step Step) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		out.WriteString(line)
		switch result := step(strings.Fields(line)); len(result) {
		case 0:
			out.WriteString("\n")
		case 1:
			fmt.Fprintf(&out, ": %s\n", result[0])
		default:
			fmt.Fprintf(&out, "\n  %s\n", strings.Join(result, "\n  "))
		}
	}
	return out.String()
}

// Line returns the result that s is, none if it is empty.
func Line(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
