package rowcontainer

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes the property tests draw the same values in every run;
// -rapid.seed=N draws others.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" {
		if err := f.Value.Set("1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
