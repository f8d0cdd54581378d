// Package kvwire turns the requests, responses and errors of package kvpb into
// bytes and back, for the calls between nodes, and range descriptors also for
// where they are stored.
//
// Above it stand rpc's users (dist, store) and whatever stores descriptors;
// below it only kvpb and hlc. Read op.go (what a message begins with), fields.go
// (what messages are made of), read.go and write.go (requests and responses),
// commit.go (commits across ranges), feed.go, waits.go, errors.go, descriptor.go. Functions named Append add to a buffer of the
// caller; functions named Decode fill a struct of the caller.
//
// What a decoder returns aliases the message or not:
//
//   - Requests alias it: the bytes must stay until the request was served.
//   - Responses, errors and descriptors are copies, and a response's buffers are
//     reused.
//
// Invariants:
//
//	W1. Decoding what was encoded gives the same value, in every field.
//	    (TestRoundTrip fills every field by reflection)
//	W2. Decoders accept any bytes: they return ErrDamaged, also for a value outside
//	    its enumeration, never panic, and allocate no more than a small multiple of
//	    their input. (FuzzDecode, TestUnknownValues)
//	W3. Messages grow only at their ends. A reader takes missing last fields as
//	    zero and ignores what follows the last field it knows. (TestGrowth)
//	W4. An error keeps its type, fields and class across nodes; one of a type
//	    that the reader does not know keeps its text and its class. (TestErrors)
//
// All functions are pure. The package does not know how messages travel.
package kvwire
