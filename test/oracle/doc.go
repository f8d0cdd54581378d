// Oracle compares Lichen's parser with PostgreSQL 15's own, which pg_query wraps:
// whether a text is accepted, and if not, the SQLSTATE and the position of the
// error. The texts are a corpus of statements and mutations of them, the same
// for a seed whatever the machine.
//
//	go run . -n 60000 -seed 1
//
// Reading order: main.go (the run and its verdict), corpus.go and synopsis.go
// (where statements come from), mutate.go (what is done to them), postgres.go
// and lichen.go (the two parsers), compare.go (what counts as a difference, and
// the exceptions), shrink.go.
//
// There are three exceptions, each counted in the report:
//
//  1. A text that holds a form of the CockroachDB or YugabyteDB dialect, from
//     the list of parser.Extension, if without those forms the parsers agree.
//  2. A statement of the dialects that Lichen refuses as a whole with 0A000, whose rest it does
//     not read.
//  3. pg_query takes parameters and numbers with letters behind them in places
//     where PostgreSQL's parser does not (lenient). A server tells who is right:
//     -server URL checks the oracle itself.
package main
