package writebuffer

import (
	"testing"

	"github.com/lichendb/lichen/internal/proptest"
)

func TestMain(m *testing.M) { proptest.Main(m) }
