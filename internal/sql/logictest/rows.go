package logictest

import (
	"errors"
	"strings"

	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// Rows collects the results of a query as text. It implements sql.Results.
type Rows struct {
	Format  *types.FormatContext
	Cols    []plan.Column
	Lines   []string
	Tags    []string
	Notices []string
	mark    [2]int // of Lines and Notices
}

// NewRows returns where a session's results go.
func NewRows(s *sql.Session) *Rows { return &Rows{Format: s.Format()} }

// Mark implements sql.Results.
func (r *Rows) Mark() { r.mark = [...]int{len(r.Lines), len(r.Notices)} }

// Rewind implements sql.Results.
func (r *Rows) Rewind() bool {
	r.Lines, r.Notices = r.Lines[:r.mark[0]], r.Notices[:r.mark[1]]
	return true
}

// Columns implements sql.Results.
func (r *Rows) Columns(cols []plan.Column) error { r.Cols = cols; return nil }

// Row implements sql.Results.
func (r *Rows) Row(row []types.Datum) error {
	var parts []string
	for i, d := range row {
		switch text := ""; {
		case d.IsNull():
			parts = append(parts, "NULL")
		default:
			text = string(typeio.AppendText(nil, r.Cols[i].Type, d, r.Format))
			if text == "" {
				text = "·"
			}
			parts = append(parts, text)
		}
	}
	r.Lines = append(r.Lines, strings.Join(parts, "  "))
	return nil
}

// Complete implements sql.Results.
func (r *Rows) Complete(tag string) error { r.Tags = append(r.Tags, tag); return nil }

// Empty implements sql.Results.
func (r *Rows) Empty() error { return nil }

// Notice implements sql.Results.
func (r *Rows) Notice(severity string, e *pgerr.Error) {
	r.Notices = append(r.Notices, severity+": "+e.Message)
}

// CopyOut implements sql.Results.
func (r *Rows) CopyOut(int, bool) error { return nil }

// CopyData implements sql.Results.
func (r *Rows) CopyData(p []byte) error {
	r.Lines = append(r.Lines, strings.TrimSuffix(string(p), "\n"))
	return nil
}

// CopyDone implements sql.Results.
func (r *Rows) CopyDone() error { return nil }

// CopyIn implements sql.Results.
func (r *Rows) CopyIn(int, bool) (sql.CopySource, error) { return nil, errors.New("no input") }
