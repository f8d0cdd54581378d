// Package vector holds columns of rows: one slice of values of one machine type for each column of a
// batch, instead of one datum after the other.
//
// Above it: rowcodec, which decodes entries into vectors, and exec's vectorized operators. Below
// it: types.
//
// Main types in reading order: Kind (how a vector holds its values), Bitmap (which are NULL),
// Vector, Batch with its selection; encode.go: batches as bytes, between nodes.
//
// Who owns the memory of values: strings of a vector refer to the memory they were decoded from.
// They live, as the vectors do, until the operator that filled the batch is asked for more.
//
// Invariants:
//
//  1. Kind and Family of a vector say which slice holds its values; the others are empty
//     (Vector.Reset, Vector.Generalize; TestRoundTrip).
//
//  2. A vector of kind Decimals has one scale, and a value that does not fit it turns the vector
//     into one of kind Datums (Store.Append, AppendEncoded; TestDecimals).
//
//  3. A selection is ascending and within the batch (Batch.Valid, which tests call).
//
// Concurrency: a batch belongs to one goroutine.
package vector
