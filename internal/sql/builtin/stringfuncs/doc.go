// Package stringfuncs declares operators and functions of text, bytea, bit strings and uuid: LIKE and
// regular expressions, quoting and format, encodings, Unicode, collations, key words.
//
// Passes over large values are made in pieces (call.EachPiece), between which a call
// counts its steps. No result is longer than call.MaxStringLen.
package stringfuncs
