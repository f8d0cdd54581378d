package rowcodec

import (
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// IndexPrefix returns what every key of index ix of t begins with.
func IndexPrefix(t *catalog.Table, ix *catalog.Index) []byte {
	return keys.IndexPrefix(uint64(t.Database), uint64(t.ID), uint64(ix.ID))
}

// AppendFamily appends the suffix that ends the key of an entry, and of a row's first
// pair: column family 0.
func AppendFamily(dst []byte) []byte { return keys.AppendFamily(dst, keys.DefaultFamily) }
