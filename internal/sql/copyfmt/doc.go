// Package copyfmt reads and writes the text, csv and binary formats of COPY, byte
// for byte as PostgreSQL 15 does.
//
// Above it is sql; below it plan (for the columns), types and pgerr. Read
// options.go (Options: what COPY ... WITH says), writer.go (Writer: rows to
// lines), lines.go (lineReader: chunks to lines), fields.go (a line to fields),
// reader.go (Reader: fields to datums) and binary.go (both ways of the binary format),
// encoding.go (data in other encodings).
//
// Invariants:
//
//	C1. How the client cuts the data into chunks has no influence on what is
//	    read (TestChunkBoundaries, FuzzReader).
//	C2. What Writer writes, Reader with the same options reads back as the same
//	    datums (FuzzRoundTrip), unless the text format's NULL is a text without a
//	    backslash, which a value may also be.
//	C3. A text datum never holds bytes that are not UTF-8, or a zero byte
//	    (Reader.readLine for the line, fieldSplitter.unescape for escapes).
//	C4. The datums of a row stay intact until the next call of NextRow: they may
//	    point into the client's chunk, of which the next is not asked for before
//	    (Reader.NextRow).
//
// A Writer or Reader serves one COPY and one goroutine.
//
// It does not do other encodings than UTF-8, or files of the server.
package copyfmt
