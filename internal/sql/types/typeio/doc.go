// Package typeio reads and prints the values of all types: PostgreSQL's input and output functions
// (ParseText, AppendText) and its receive and send functions (ParseBinary, AppendBinary).
//
// text.go, binary_in.go and binary_out.go choose by the type's family; a file per subject has the
// forms of its types. Dates and times have theirs in package datetime.
//
//  1. Text and binary forms read back as the same value (TestRoundTrip, FuzzParseText,
//     FuzzParseBinary in typetest).
//  2. No input, of whatever length or content, makes a parser panic, or allocate more than a
//     multiple of the input's length; a numeric's exponent may ask for MaxDecimalDigits digits
//     (FuzzParseText, FuzzParseBinary in typetest).
package typeio
