package types

import "github.com/lichendb/lichen/internal/sql/pgerr"

// InvalidText is 22P02 for text that is no value of type t.
func InvalidText(t *T, s string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", t.SQLName, s)
}

// ValueOutOfRange is 22003 for text that is no value of type t because of its size.
func ValueOutOfRange(t *T, s string) error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, t.SQLName)
}
