package console

import (
	"context"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Query is the body of a call of the SQL shell.
type Query struct {
	Database  string `json:"database"`
	Statement string `json:"statement"`
	// Limit is the most rows that are returned.
	Limit int `json:"limit"`
}

// ResultColumn is a column of a result.
type ResultColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Result is what a statement returned.
type Result struct {
	Columns []ResultColumn `json:"columns"`
	Rows    [][]*string    `json:"rows"`
	// Cut says that there are more rows.
	Cut     bool     `json:"cut"`
	Tags    []string `json:"tags"`
	Notices []string `json:"notices"`
	Seconds float64  `json:"seconds"`
}

// maxShellRows bounds the rows of a result of the shell.
const maxShellRows = 10_000

// shell runs a statement. Unless writing is permitted it is one that reads, within a transaction that can't write: its functions can't
// either.
func shell(c *Console, r *request) (any, error) {
	var q Query
	if err := r.read(&q); err != nil {
		return nil, err
	}
	most := q.Limit
	if most <= 0 || most > maxShellRows {
		most = maxShellRows
	}
	if q.Database == "" {
		q.Database = defaultDatabase
	}
	var out *rows
	began := time.Now()
	err := c.with(r, r.login, q.Database, true, func(s *sql.Session) (err error) {
		if c.o.Node.Settings.Get().ConsoleWrites {
			out, err = runIn(r, s, q.Statement, most)
			return err
		}
		out, err = readOnly(r, s, q.Statement, most)
		return err
	})
	if err != nil {
		return nil, err
	}
	a := &Result{Columns: []ResultColumn{}, Rows: out.rows, Cut: out.cut, Tags: out.tags, Notices: noticesOf(out), Seconds: time.Since(began).Seconds()}
	for _, col := range out.columns {
		a.Columns = append(a.Columns, ResultColumn{col.Name, types.FormatType(col.Type)})
	}
	if a.Rows == nil {
		a.Rows = [][]*string{}
	}
	if a.Tags == nil {
		a.Tags = []string{}
	}
	return a, nil
}

var errOnlyReads = &Error{
	Status: 403, Message: "the console's SQL shell only reads",
	Hint: "Use lichen sql, or SET CLUSTER SETTING server.console.sql_writes.enabled = true.",
}

// readOnly runs one statement that reads.
func readOnly(ctx context.Context, s *sql.Session, text string, most int) (*rows, error) {
	stmts, err := parser.Parse(text)
	switch {
	case err != nil:
		return nil, err
	case len(stmts) != 1:
		return nil, badRequest("the SQL shell takes one statement at a time unless it may write")
	case !reads(stmts[0].AST):
		return nil, errOnlyReads
	}
	// The transaction has read, so that nothing in it makes it one that writes.
	if _, err := runIn(ctx, s, "BEGIN READ ONLY; SELECT 1", 1); err != nil {
		return nil, err
	}
	out, err := runIn(ctx, s, text, most)
	_, back := runIn(ctx, s, "ROLLBACK", 1)
	if out != nil && len(out.tags) > 1 {
		err = errors.Join(err, errOnlyReads) // parsed otherwise by the session's settings
	}
	return out, errors.Join(err, back)
}

// reads reports whether a statement only reads.
func reads(st ast.Statement) bool {
	switch st := st.(type) {
	case *ast.Select, *ast.Show, *ast.ShowObjects, *ast.ShowRanges, *ast.ShowZone:
		return true
	case *ast.Explain:
		return reads(st.Stmt)
	}
	return false
}
