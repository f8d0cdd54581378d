// Package timeseries keeps a node's metrics for days: a row of metrics every ten seconds, in files of the node's first store.
//
//	Append ─▶ the file that is written ─▶ (full, or other names: a new one; old ones are removed)
//	Query  ─▶ the files of a time span ─▶ a point per step
//
// Each node keeps its own, so that they are there while the cluster has no quorum, which is when they are needed, and cost
// the cluster nothing (docs/decisions/0019-console.md). The bytes are in docs/formats/timeseries.md.
//
// Above it: server, which takes the metrics and asks for them. Below it: fs. Read db.go (DB), file.go (bytes), query.go (Series).
//
// Invariants:
//
//  1. A file is read up to its first damaged row: what a crash has cut off costs that row only (reader.next; TestTorn).
//  2. At most maxFiles files are kept, none that ended before Options.Retain (DB.prune; TestRetention).
//  3. A file of another version is refused by name, and left alone (openFile; TestVersion).
//
// A DB is safe for concurrent use.
package timeseries
