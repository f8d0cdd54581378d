package concurrency

import (
	"testing"

	"github.com/lichendb/lichen/internal/proptest"
	"go.uber.org/goleak"
)

// TestMain also finds goroutines that tests leave behind.
func TestMain(m *testing.M) {
	proptest.FixSeed()
	goleak.VerifyTestMain(m)
}
