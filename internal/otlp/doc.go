// Package otlp sends traces of statements to a collector of OpenTelemetry: OTLP over HTTP, in protobuf.
//
//	sql: Sample ─▶ (the statement runs, traced) ─▶ Export ─▶ queue ─▶ run ─▶ convert ─▶ POST
//
// Off unless a cluster setting names the collector, and then for a share of all statements (docs/decisions/0028-traces.md).
//
// Above it: server, which starts it and tells its counts. Below it: trace. Read otlp.go (Exporter), convert.go (what is sent).
//
// Invariants:
//
//  1. No statement waits for it: what finds the queue full is dropped and counted (Export; TestNeverBlocks).
//  2. Neither values of rows nor constants of statements are sent: no keys, no texts of errors (spanOf; TestNoValues).
//  3. Queue, batch, attempts, answers and time have limits (MaxQueue, maxBatch, maxBatchSpans, maxAttempts, maxAnswer, sendTimeout; TestNeverBlocks).
package otlp
