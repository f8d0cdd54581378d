package types

import (
	"slices"
	"strings"
)

// OperatorClass returns the name of the btree operator class that a type has by default.
func OperatorClass(t *T) string {
	t = t.BaseType()
	switch {
	case t.Def != nil:
		return map[DefKind]string{DefEnum: "enum_ops", DefComposite: "record_ops", DefRange: "range_ops", DefMultirange: "multirange_ops"}[t.Def.Kind]
	case t.Elem != nil:
		return "array_ops"
	case t.Extension() != "":
		return extensionTypeOf(t).class
	case t.Is(Varchar):
		return "text_ops"
	case t.Is(CIDR):
		return "inet_ops"
	case t.Family == RangeFamily:
		return "range_ops"
	case t.Family == MultirangeFamily:
		return "multirange_ops"
	case strings.HasPrefix(t.Name, "reg"):
		return "oid_ops"
	}
	return t.Name + "_ops"
}

// sameClass are operator classes by the names of others that are alike.
var sameClass = map[string]string{"varchar_ops": "text_ops", "varchar_pattern_ops": "text_pattern_ops", "cidr_ops": "inet_ops"}

// SameOperatorClass reports whether two names of operator classes stand for classes of one family and
// type.
func SameOperatorClass(a, b string) bool {
	plain := func(name string) string {
		if s := sameClass[name]; s != "" {
			return s
		}
		return name
	}
	return plain(a) == plain(b)
}

// IsOperatorClass reports whether there is a btree operator class of a name.
func IsOperatorClass(name string) bool {
	switch name {
	case "array_ops", "enum_ops", "record_ops", "range_ops", "multirange_ops", "text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops", "varchar_ops", "cidr_ops":
		return true
	}
	if slices.ContainsFunc(extensionTypes, func(x extensionType) bool { return x.class != "" && x.class == name }) {
		return true
	}
	base, ok := strings.CutSuffix(name, "_ops")
	t := byName[base]
	return ok && t != nil && t.Name == base && HasOrder(t) && OperatorClass(t) == name
}
