// Package coerce is PostgreSQL's rules of implicit conversion: the category of a type (Category), the
// common type of several expressions (CommonType, manual 10.5), whether a value may be passed where
// another type is declared (CanCoerce), and what the polymorphic pseudo-types stand for.
//
// It knows types and casts, and neither overloads nor the catalog.
package coerce
