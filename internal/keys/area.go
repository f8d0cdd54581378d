package keys

// Area is a part of the key space of which statements mostly use one at a time: a table, or a region without tables. All keys
// between two keys of an area belong to it.
type Area struct {
	region    byte
	db, table uint64
}

// AreaOf returns the area of a key.
func AreaOf(key []byte) Area {
	if len(key) == 0 {
		return Area{}
	}
	db, table, _ := DecodeTableIDs(key)
	return Area{key[0], db, table}
}

// Number is the same for equal areas, and mostly another for others.
func (a Area) Number() uint64 { return uint64(a.region) ^ a.db*31 ^ a.table }
