// Package fragment writes the parts of plans that run on other nodes as bytes, and reads them there; and the requests and
// answers in which they travel.
//
// Above it: optimizer, which asks what can be written; exec's gather, which sends fragments; distsql, which
// runs them. Below it: plan, catalog, builtin, kvpb.
//
// A fragment is a chain of operators down to one Scan (filters, projections, grouping, sorts), with the descriptor of the
// table. It carries everything that it depends on: no node looks anything up for it, neither in the catalog nor in a session.
// Functions and operators travel by their names and the types of their arguments, types by their oids.
//
// Reading order: Encode and Decode (node.go), expr.go, calls.go (functions, types), request.go (Request, Answer).
//
// Why not as text: stored expressions are syntax trees that are printed and planned again. Planned expressions
// have lost their names, and hold what no text says: which overload was chosen, casts that were dropped.
//
// Invariants:
//
//  1. What a fragment computes depends on nothing but its bytes and the rows: it has immutable functions and casts only.
//     What depends on the session, the parameters or the time is computed by the gateway, where it reads no
//     column, and travels as a constant; anything else is not written (Unfit; TestExpressions).
//
//  2. A function is written only if its name and types find the same one again (overloadWith; TestEveryOverload).
//
//  3. Every message begins with its version. A node that does not know the version says so, and the gateway reads
//     the rows itself (DecodeRequest, DecodeAnswer; TestVersions).
//
//  4. Damaged bytes are an error, whatever they are: positions and numbers are checked as they are read
//     (FuzzDecode).
package fragment
