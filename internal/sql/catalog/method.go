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
