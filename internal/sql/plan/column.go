package plan

import "github.com/lichendb/lichen/internal/sql/types"

// ColID identifies a column in a plan; 0 means none.
type ColID int32

// Column describes a column that an operator produces.
type Column struct {
	ID   ColID
	Name string
	Type *types.T
	// TableOid and Attnum say which table column it is, 0 if it is computed.
	TableOid uint32
	Attnum   int16
	// NotNull says that no row has NULL here.
	NotNull bool
}

// SortKey is one key of an order.
type SortKey struct {
	Col        ColID
	Desc       bool
	NullsFirst bool
}

// DefaultNulls reports whether NULLs sort where PostgreSQL puts them by
// default: last for ascending keys, first for descending ones.
func (k SortKey) DefaultNulls() bool { return k.Desc == k.NullsFirst }

// FindCol returns the position of id in cols, -1 if absent.
func FindCol(cols []Column, id ColID) int {
	for i := range cols {
		if cols[i].ID == id {
			return i
		}
	}
	return -1
}

// IDs returns the identifiers of cols.
func IDs(cols []Column) []ColID {
	ids := make([]ColID, len(cols))
	for i := range cols {
		ids[i] = cols[i].ID
	}
	return ids
}
