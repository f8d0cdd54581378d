// Package named finds out what the stored expressions and queries of a relation, and its columns, name, so that who drops something
// need not read them all. Above it: catalog, which keeps it with each descriptor; below it: types.
package named

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
)

// Names are what a relation names.
type Names struct {
	relations []uint32 // oids of relations that are constants in texts
	types     bool
}

// In returns what texts name.
func In(texts iter.Seq[string]) (n Names) {
	for text := range texts {
		n.types = n.types || strings.Contains(text, ".") && (strings.Contains(text, "::") || strings.Contains(text, "CAST("))
		n.relations = appendRelations(n.relations, text)
	}
	return n
}

// Relation reports whether a text names a relation as a constant, by its oid.
func (n *Names) Relation(oid uint32) bool { return slices.Contains(n.relations, oid) }

// MayBeTypes reports whether a text may name a type by its schema.
func (n *Names) MayBeTypes() bool { return n.types }

// regclass is what follows the oid of a relation that is a constant, in quotes.
const regclass = "'::regclass"

// appendRelations appends the oids of the relations that a text names.
func appendRelations(list []uint32, text string) []uint32 {
	for {
		before, after, found := strings.Cut(text, regclass)
		if !found {
			return list
		}
		text = after
		digits := before[strings.LastIndexByte(before, '\'')+1:]
		if oid, err := strconv.ParseUint(digits, 10, 32); err == nil && !slices.Contains(list, uint32(oid)) {
			list = append(list, uint32(oid))
		}
	}
}

// BuiltIn reports whether a type is made of built-in types only.
func BuiltIn(t *types.T) bool {
	return t == nil || t.Def == nil && t.Extension() == "" && t.Domain() == nil && BuiltIn(t.Elem)
}
