package trace

import "time"

// Statement is the trace of a statement that has ended, with what is told of it where it is exported. Nothing of it has constants but
// Record.Keys and Record.Err.
type Statement struct {
	Trace       *Trace
	Tag         string // as INSERT
	Fingerprint string
	Database    string
	Application string
	Code        string // SQLSTATE, if it failed
	Rows        int64  // returned or changed
	Read        int64  // entries of tables and indexes
	Written     int64  // rows
	Retries     int64
	Waited      time.Duration // for other transactions
}

// Exporter takes the traces of some statements. Its methods do not wait.
type Exporter interface {
	// Sample reports whether a statement that begins is to be exported.
	Sample() bool
	Export(Statement)
}
