package pgcatalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/inverted"
	"github.com/lichendb/lichen/internal/sql/types"
)

// methodOIDs are PostgreSQL's oids of the access methods of indexes.
var methodOIDs = [...]uint32{catalog.MethodBtree: oidBtree, catalog.MethodHash: oidHash, catalog.MethodInverted: oidGIN}

// keyType is what an index holds of a key column of type t, as pg_attribute tells.
func keyType(ix *catalog.Index, t *types.T) *types.T {
	c := inverted.ByName(ix.Inverted)
	switch {
	case ix.Method() == catalog.MethodHash:
		return types.Int4
	case c == nil:
		return t
	case c.Key.Family == types.AnyFamily && t.Elem != nil:
		return t.Elem.WithTypmod(-1)
	}
	return c.Key
}

// hashClasses are the operator classes of hash indexes, by the name that they share with those
// of btree indexes on the same types.
var hashClasses = map[string]struct {
	oid, family uint32
	familyName  string
}{
	"array_ops": {10001, 627, "array_ops"}, "bpchar_ops": {10005, 427, "bpchar_ops"}, "char_ops": {10008, 431, "char_ops"},
	"date_ops": {10011, 435, "date_ops"}, "float4_ops": {10013, 1971, "float_ops"}, "float8_ops": {10014, 1971, "float_ops"},
	"inet_ops": {10016, 1975, "network_ops"}, "int2_ops": {10019, 1977, "integer_ops"}, "int4_ops": {10020, 1977, "integer_ops"},
	"int8_ops": {10021, 1977, "integer_ops"}, "interval_ops": {10023, 1983, "interval_ops"}, "macaddr_ops": {10025, 1985, "macaddr_ops"},
	"macaddr8_ops": {10027, 3372, "macaddr8_ops"}, "name_ops": {10029, 1995, "text_ops"}, "numeric_ops": {10030, 1998, "numeric_ops"},
	"oid_ops": {10031, 1990, "oid_ops"}, "oidvector_ops": {10033, 1992, "oidvector_ops"}, "record_ops": {10035, 6194, "record_ops"},
	"text_ops": {10037, 1995, "text_ops"}, "time_ops": {10039, 1997, "time_ops"}, "timestamptz_ops": {10040, 1999, "timestamptz_ops"},
	"timetz_ops": {10042, 2001, "timetz_ops"}, "timestamp_ops": {10046, 2040, "timestamp_ops"}, "bool_ops": {10048, 2222, "bool_ops"},
	"bytea_ops": {10049, 2223, "bytea_ops"}, "xid8_ops": {10052, 5032, "xid8_ops"}, "tid_ops": {10055, 2227, "tid_ops"},
	"uuid_ops": {10066, 2969, "uuid_ops"}, "pg_lsn_ops": {10068, 3254, "pg_lsn_ops"}, "enum_ops": {10070, 3523, "enum_ops"},
	"range_ops": {10077, 3903, "range_ops"}, "multirange_ops": {10081, 4225, "multirange_ops"}, "jsonb_ops": {10089, 4034, "jsonb_ops"},
}

// hashFamilies lists the operator families of hash indexes.
func hashFamilies(w *writer) {
	names := map[uint32]string{}
	var ids []uint32
	for _, c := range hashClasses {
		if _, listed := names[c.family]; !listed {
			names[c.family] = c.familyName
			ids = append(ids, c.family)
		}
	}
	slices.Sort(ids)
	for _, oid := range ids {
		w.oid("oid", oid)
		w.oid("opfmethod", oidHash)
		w.str("opfname", names[oid])
		w.oid("opfnamespace", oidPgCatalog)
		w.oid("opfowner", oidRoot)
		w.done()
	}
}
