package noeffect

import (
	"bytes"
	"os"
	"testing"
)

// TestAll: the list has every feature that is declared.
func TestAll(t *testing.T) {
	src, err := os.ReadFile("noeffect.go")
	if err != nil {
		t.Fatal(err)
	}
	if declared, listed := bytes.Count(src, []byte("= Feature{")), len(All()); declared != listed {
		t.Errorf("%d features are declared, %d listed", declared, listed)
	}
}
