package rangeops

import (
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/keys"
)

// TestRowStart cuts family 0 off the key of a row's first pair; the keys of other pairs
// begin no row.
func TestRowStart(t *testing.T) {
	row := append(keys.IndexPrefix(1, 5, 1), 0x95)
	first := keys.AppendFamily(slices.Clone(row), keys.DefaultFamily)
	for _, c := range []struct {
		key, start []byte
		ok         bool
	}{
		{first, row, true},
		{keys.AppendFamily(slices.Clone(row), 3), nil, false},
		{row, nil, false},
		{keys.SystemKey("a"), keys.SystemKey("a"), true},
		{keys.IndexPrefix(1, 5, 1), keys.IndexPrefix(1, 5, 1), true},
	} {
		if got, ok := RowStart(c.key); ok != c.ok || ok && !slices.Equal(got, c.start) {
			t.Errorf("%x: %x, %v; want %x, %v", c.key, got, ok, c.start, c.ok)
		}
	}
}
