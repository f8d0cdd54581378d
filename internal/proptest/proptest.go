// Package proptest runs the tests of packages that have property tests (pgregory.net/rapid).
package proptest

import (
	"flag"
	"os"
	"testing"
)

// Main is a TestMain that calls FixSeed.
func Main(m *testing.M) {
	FixSeed()
	os.Exit(m.Run())
}

// FixSeed makes property tests draw the same values in every run; -rapid.seed=N draws others.
func FixSeed() {
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" {
		if err := f.Value.Set("1"); err != nil {
			panic(err)
		}
	}
}
