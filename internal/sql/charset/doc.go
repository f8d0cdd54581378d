// Package charset converts text between UTF8, in which it is kept, and the other encodings
// that clients and functions may ask for.
//
// Above it are settings, builtin, copyfmt and pgwire; below it types. Read charset.go
// (Encoding: names, Decode and Encode), names.go (PostgreSQL's list) and bytes.go (how
// encodings divide bytes into characters).
//
// The tables are those of golang.org/x/text, which are the WHATWG's where PostgreSQL has
// those of the Unicode consortium and of vendors: docs/differences.md.
//
// Invariants:
//
//	C1. What Decode returns is valid UTF8 (TestDecodeIsUTF8).
//	C2. Encode and Decode undo each other, for every character that an encoding has
//	    (TestRoundTrip).
package charset
