// Package citextfuncs declares the operators and functions of the extension citext: those of texts, without regard to case.
//
// Comparisons are those of the type (types.Compare). LIKE, regular expressions and what PostgreSQL defines as SQL functions
// over them are the functions of texts with other arguments.
package citextfuncs
