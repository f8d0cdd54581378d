// Package typetest holds the tests of types, datetime, typeio and casts, most of which need all
// four: what a PostgreSQL 15 printed for values, functions and casts (testdata/golden), its
// catalogs of types and casts, and properties of the values of every type.
package typetest
