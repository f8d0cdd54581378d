// Package decimal is arithmetic on numeric values with PostgreSQL's scales, roundings and errors: Add,
// Mul, Div, Exp, Ln, Pow and so on, NaN and infinities included. It declares nothing: numfuncs does.
//
// Small values (18 digits) take a path of integers that allocates nothing. Results of more digits
// than a numeric holds are 22003.
package decimal
