package ddl

import (
	"bytes"
	"os"
	"testing"
)

// TestAcceptedWithoutEffect: the list has every feature that is declared.
func TestAcceptedWithoutEffect(t *testing.T) {
	src, err := os.ReadFile("noeffect.go")
	if err != nil {
		t.Fatal(err)
	}
	if declared, listed := bytes.Count(src, []byte("= ignored{")), len(AcceptedWithoutEffect()); declared != listed {
		t.Errorf("%d features are declared, %d listed", declared, listed)
	}
}
