package types

import "slices"

// The types of extensions. A database has them once it has the extension, in the schema of that: their names are
// looked up in the catalog. Their oids are the same everywhere, so that what is stored needs no definition.
var (
	Citext = scalar(CitextFamily, 15900, "citext", "citext")
	Hstore = scalar(HstoreFamily, 15902, "hstore", "hstore")
	Ltree  = scalar(LabelFamily, 15904, "ltree", "ltree")

	// Those of queries are kept as their texts in normal form.
	Lquery    = scalar(OpaqueFamily, 15906, "lquery", "lquery")
	Ltxtquery = scalar(OpaqueFamily, 15908, "ltxtquery", "ltxtquery")
	QueryInt  = scalar(OpaqueFamily, 15910, "query_int", "query_int")

	CitextArray    = arrayOf(Citext, 15901)
	HstoreArray    = arrayOf(Hstore, 15903)
	LtreeArray     = arrayOf(Ltree, 15905)
	LqueryArray    = arrayOf(Lquery, 15907)
	LtxtqueryArray = arrayOf(Ltxtquery, 15909)
	QueryIntArray  = arrayOf(QueryInt, 15911)
)

// extensionType is a type that an extension brings.
type extensionType struct {
	registered
	extension string
	class     string // the operator class of its btree indexes, "" for none
}

// extensionTypes are the types of extensions, in the order of their oids.
var extensionTypes = []extensionType{
	{reg(Citext, CitextArray, -1, false, "bSfix"), "citext", "citext_ops"},
	{reg(Hstore, HstoreArray, -1, false, "bUfix"), "hstore", "btree_hstore_ops"},
	{reg(Ltree, LtreeArray, -1, false, "bUfix"), "ltree", "ltree_ops"},
	{reg(Lquery, LqueryArray, -1, false, "bUfix"), "ltree", ""},
	{reg(Ltxtquery, LtxtqueryArray, -1, false, "bUfix"), "ltree", ""},
	{reg(QueryInt, QueryIntArray, -1, false, "bUfip"), "intarray", ""},
}

// extensionTypeOf returns what is known of the type t, or of the type of its elements; nil if no extension brings it.
func extensionTypeOf(t *T) *extensionType {
	if t.Elem != nil {
		t = t.Elem
	}
	if t.Oid < Citext.Oid || t.Def != nil {
		return nil
	}
	i := slices.IndexFunc(extensionTypes, func(x extensionType) bool { return x.t.Oid == t.Oid })
	if i < 0 {
		return nil
	}
	return &extensionTypes[i]
}

// Extension returns the name of the extension that brings t or the type of its elements, "" if it is part of the system or a
// user's.
func (t *T) Extension() string {
	if x := extensionTypeOf(t); x != nil {
		return x.extension
	}
	return ""
}

// OfExtension returns the types that an extension brings, each before that of its arrays; those of all for "".
func OfExtension(name string) []*T {
	var list []*T
	for _, x := range extensionTypes {
		if name == "" || x.extension == name {
			list = append(list, x.t, x.array)
		}
	}
	return list
}

// ExtensionTypeNamed returns the type of an extension by its name in pg_type, nil if none has it.
func ExtensionTypeNamed(name string) *T {
	for _, x := range extensionTypes {
		switch name {
		case x.t.Name:
			return x.t
		case x.array.Name:
			return x.array
		}
	}
	return nil
}
