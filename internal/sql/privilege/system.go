package privilege

import (
	"cmp"
	"slices"
)

// SystemACL is who may do what with an object that has no descriptor: with a relation, a function, a type or a language that is built in,
// in one database; with a parameter, in the cluster. Without it an object has the privileges that it has at first.
type SystemACL struct {
	Kind Kind
	Oid  uint32
	// Column is that of a column, whose relation has the oid.
	Column int16 `json:",omitempty"`
	// Name is that of a parameter, in lower case.
	Name string `json:",omitempty"`
	ACL  ACL
}

// FindSystemACL returns the list of an object, nil if it is the one that it has at first.
func FindSystemACL(all []SystemACL, kind Kind, oid uint32) ACL {
	i, ok := slices.BinarySearchFunc(all, SystemACL{Kind: kind, Oid: oid}, compareSystemACL)
	if !ok {
		return nil
	}
	return all[i].ACL
}

// FindColumnACL is FindSystemACL for a column of a relation that is built in.
func FindColumnACL(all []SystemACL, relation uint32, column int16) ACL {
	i, ok := slices.BinarySearchFunc(all, SystemACL{Kind: Column, Oid: relation, Column: column}, compareSystemACL)
	if !ok {
		return nil
	}
	return all[i].ACL
}

// OnRelation reports whether there are lists of a relation that is built in, or of its columns.
func OnRelation(all []SystemACL, oid uint32) bool {
	return slices.ContainsFunc(all, func(x SystemACL) bool { return x.Oid == oid && (x.Kind == Table || x.Kind == Column) })
}

// FindParameterACL returns the entry of a parameter, nil if nothing was ever granted on it.
func FindParameterACL(all []SystemACL, name string) *SystemACL {
	for i := range all {
		if all[i].Kind == Parameter && all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// WithSystemACLs returns all with the lists of some objects replaced; those that are nil are taken out.
func WithSystemACLs(all []SystemACL, changed ...SystemACL) []SystemACL {
	out := append(slices.Clone(changed), all...) // of two of an object the first counts
	slices.SortStableFunc(out, compareSystemACL)
	out = slices.CompactFunc(out, func(a, b SystemACL) bool { return compareSystemACL(a, b) == 0 })
	out = slices.DeleteFunc(out, func(x SystemACL) bool { return x.ACL == nil })
	if len(out) == 0 {
		return nil
	}
	return out
}

// compareSystemACL orders lists by kind, oid and column, in which they are kept.
func compareSystemACL(a, b SystemACL) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Oid, b.Oid), cmp.Compare(a.Column, b.Column))
}
