package catalog

// Method is how an index arranges its entries.
type Method uint8

const (
	// MethodBtree orders its entries by their columns, within buckets if it has Buckets.
	MethodBtree Method = iota
	// MethodHash orders them by the hash of its only column, and holds nothing else.
	MethodHash
	// MethodInverted has an entry for each token of a value (PostgreSQL: GIN).
	MethodInverted
)

// methods are the properties of the methods.
var methods = [...]struct {
	name         string // of the access method (PostgreSQL: pg_am)
	entriesByRow bool
}{
	MethodBtree:    {"btree", true},
	MethodHash:     {"hash", true},
	MethodInverted: {"gin", false},
}

// String returns PostgreSQL's name of the access method.
func (m Method) String() string { return methods[m].name }

// EntriesByRow reports whether the index has one entry for each row, under the values of its columns (package
// rowcodec). Only such an index leads from a key to its row, holds the values of its columns, and has keys
// at which its ranges can be split.
func (ix *Index) EntriesByRow() bool { return methods[ix.Method()].entriesByRow }

// Method returns how the index arranges its entries. It follows from the other fields: an index on
// one hashed column and nothing else is a hash index, in whatever dialect it was made.
func (ix *Index) Method() Method {
	switch {
	case ix.Inverted != "":
		return MethodInverted
	case ix.HashColumns == 1 && ix.Buckets == 0 && len(ix.Columns) == 1 && len(ix.Stored) == 0 && !ix.DeclaredUnique():
		return MethodHash
	}
	return MethodBtree
}
