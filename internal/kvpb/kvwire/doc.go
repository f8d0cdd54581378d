// Package kvwire encodes the requests, responses and errors of package kvpb for
// the calls between nodes, and range descriptors for messages and for storage.
//
// Above it stand the packages that send requests (dist, store) and those that store
// descriptors; below it only encoding, kvpb and hlc. Read op.go (the header of a
// message), fields.go (the encodings of fields), read.go and write.go (requests and
// responses), commit.go (commits across ranges), feed.go, waits.go, errors.go,
// descriptor.go. Functions named Append add to a buffer of the caller; functions
// named Decode fill a struct of the caller.
//
// Decoded requests alias the message: its bytes must stay until the request is
// served. Decoded responses, errors and descriptors are copies; a response's
// buffers are reused.
//
// Invariants:
//
//	W1. Decoding what was encoded gives the same value, in every field.
//	    (TestRoundTrip fills every field by reflection)
//	W2. Decoders accept any bytes: they return ErrDamaged, also for a value outside
//	    its enumeration, never panic, and allocate no more than a small multiple of
//	    their input. (FuzzDecode, TestUnknownValues)
//	W3. Messages grow only at their ends. A reader takes missing last fields as
//	    zero, and ignores bytes behind the last field that it knows. (TestGrowth)
//	W4. An error keeps its type, fields and class across nodes. An error of a type
//	    that the reader does not know keeps its text and its class. (TestErrors)
//
// All functions are pure. The transport of messages is elsewhere (package rpc).
package kvwire
