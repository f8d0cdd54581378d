// Package distsql runs fragments of other nodes' plans over the rows that lie here (CockroachDB: DistSQL).
//
// Above it: sql, whose server answers requests by it. Below it: exec, fragment, kv.
//
// Read serve.go. The other end is package gather below exec.
//
// Invariants:
//
//  1. A fragment reads in the snapshot that its request names, through the node's Router: it is right wherever the ranges
//     are, and fast where they are here (leafTxn; TestRangesMove in server).
//
//  2. A fragment writes, locks and looks up nothing: there is no session and no catalog (leafTxn, Server.env).
//
//  3. At most slots fragments run at once; the others wait as long as their callers do (Server.enter; TestSlots).
//
//  4. What a fragment holds counts against the node's memory, and goes into temporary files beyond work_mem of the
//     session that asks (Server.env).
package distsql
