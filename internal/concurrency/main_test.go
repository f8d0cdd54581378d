package concurrency

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes the property tests draw the same values in every run
// (-rapid.seed=N draws others) and finds goroutines that tests leave behind.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" {
		if err := f.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
