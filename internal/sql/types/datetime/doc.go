// Package datetime reads, prints and computes with dates, times, timestamps and intervals as
// PostgreSQL 15 does. Package types says what their datums hold.
//
// Reading order: Civil and the proleptic Gregorian calendar (civil.go), zones and their
// abbreviations (timezone.go, tzabbrev.go, posixzone.go). Parse cuts text into words and numbers
// (lex.go), gives them their meaning (decode.go, number.go, scan.go, words.go) and makes a datum
// (parse.go, interval_parse.go, interval_iso.go); Append prints (format.go, interval_format.go).
// Above them stand the functions of SQL: extract.go, make.go, math.go, trunc.go.
//
// Every result is in range or an error: sums and products are checked (AddInt64 and its kin in
// types), and so are the limits of dates and timestamps (types.ValidDate, types.ValidTimestamp).
package datetime
