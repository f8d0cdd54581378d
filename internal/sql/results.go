package sql

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Results is where the results of statements go: a connection implements it. All
// calls come from the goroutine that runs the statement.
type Results interface {
	// Mark notes where a statement's results begin. Rewind takes back what came since,
	// so that the statement can be run again; false if some of it has been sent.
	Mark()
	Rewind() bool
	// Columns begins a result set. It is called once per statement that returns
	// rows, before the first Row; cols stay valid until Complete.
	Columns(cols []plan.Column) error
	// Row sends one row; the datums are valid during the call only. An error
	// (the client is gone) ends the statement.
	Row(row []types.Datum) error
	// Complete ends a statement with its command tag ("INSERT 0 1").
	Complete(tag string) error
	// Empty stands in for Complete when the statement text is empty.
	Empty() error
	Noticer
	// CopyOut begins COPY TO STDOUT with columns of the given number; CopyData
	// sends one line or chunk; CopyDone ends it.
	CopyOut(columns int, binary bool) error
	CopyData(p []byte) error
	CopyDone() error
	// CopyIn asks the client for data of COPY FROM STDIN. The source must be read
	// to its end, also after an error of the statement, unless the client is gone.
	CopyIn(columns int, binary bool) (CopySource, error)
}

// Noticer takes what a client receives beside results and errors.
type Noticer interface {
	// Notice sends a notice or warning.
	Notice(severity string, e *pgerr.Error)
}

// Holder is implemented by results that can hold back more of a statement's output than
// they do otherwise, so that it can be run again for longer.
type Holder interface {
	// Hold makes the results hold back that much output; 0, and Mark, end it. Whoever holds
	// looks at Held, and ends it before more has come together.
	Hold(bytes int)
	// Held returns how much output since the mark was not sent yet.
	Held() int
}

// CopySource is the data a client sends for COPY FROM STDIN.
type CopySource interface {
	// Next returns the next chunk, which is valid until the following call; io.EOF
	// at the end (CopyDone); a pgerr error with 57014 if the client sent CopyFail.
	Next() ([]byte, error)
}
