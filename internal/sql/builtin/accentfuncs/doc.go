// Package accentfuncs declares the function of the extension unaccent, which takes the accents off letters.
//
// It decomposes letters as Unicode does and drops the marks; letters and signs that have no decomposition are in a table.
package accentfuncs
