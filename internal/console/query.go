package console

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

const (
	// defaultDatabase is where questions about the cluster are asked.
	defaultDatabase = "defaultdb"
	// maxRows and maxResultBytes bound what a query returns here.
	maxRows        = 20_000
	maxResultBytes = 16 << 20
	// applicationName is how the console's sessions call themselves.
	applicationName = "$ lichen console"
)

// rows are the results of a query as text; they implement sql.Results.
type rows struct {
	format  *types.FormatContext
	most    int
	columns []plan.Column
	rows    [][]*string
	bytes   int
	cut     bool
	tags    []string
	notices []string
	mark    [2]int
}

// errCut ends a query of which more rows have come than are wanted.
var errCut = errors.New("there are more rows")

// Mark implements sql.Results.
func (r *rows) Mark() { r.mark = [...]int{len(r.rows), len(r.notices)} }

// Rewind implements sql.Results.
func (r *rows) Rewind() bool {
	r.rows, r.notices = r.rows[:r.mark[0]], r.notices[:r.mark[1]]
	return true
}

// Columns implements sql.Results. Of several statements the last one with columns counts.
func (r *rows) Columns(cols []plan.Column) error {
	r.columns, r.rows, r.mark[0] = append([]plan.Column(nil), cols...), nil, 0
	return nil
}

// Row implements sql.Results.
func (r *rows) Row(row []types.Datum) error {
	if len(r.rows) >= r.most || r.bytes > maxResultBytes {
		r.cut = true
		return errCut
	}
	out := make([]*string, len(row))
	for i, d := range row {
		if !d.IsNull() {
			text := string(typeio.AppendText(nil, r.columns[i].Type, d, r.format))
			out[i] = &text
			r.bytes += len(text)
		}
	}
	r.rows = append(r.rows, out)
	return nil
}

// Complete implements sql.Results.
func (r *rows) Complete(tag string) error { r.tags = append(r.tags, tag); return nil }

// Empty implements sql.Results.
func (r *rows) Empty() error { return nil }

// maxNotices bounds the notices that are kept.
const maxNotices = 100

// Notice implements sql.Results.
func (r *rows) Notice(severity string, e *pgerr.Error) {
	if len(r.notices) < maxNotices {
		r.notices = append(r.notices, severity+": "+e.Message)
	}
}

func errCopy() error {
	return pgerr.Unsupported("COPY with the client is not supported in the console").WithHint("Use lichen sql.")
}

// CopyOut implements sql.Results.
func (r *rows) CopyOut(int, bool) error { return errCopy() }

// CopyData implements sql.Results.
func (r *rows) CopyData([]byte) error { return errCopy() }

// CopyDone implements sql.Results.
func (r *rows) CopyDone() error { return errCopy() }

// CopyIn implements sql.Results.
func (r *rows) CopyIn(int, bool) (sql.CopySource, error) { return nil, errCopy() }

// session opens a session of a user. asked says that the user has asked for what it runs, which is then audited, counted
// and limited as that of a SQL client; otherwise the console asks in the user's stead, to show a page.
func (c *Console) session(ctx context.Context, l *login, database string, asked bool) (*sql.Session, error) {
	srv := c.o.Node.SQL.Server()
	if srv == nil || c.o.Node.NotReady() == "draining" {
		return nil, errNotServing
	}
	return srv.NewSession(ctx, sql.SessionArgs{
		User: l.user, Database: database, RemoteAddr: l.remote, Internal: !asked,
		Params: map[string]string{"application_name": applicationName, "statement_timeout": strconv.Itoa(int(queryTimeout.Milliseconds()))},
	})
}

// use calls f with a session that shows a user what it may see. It ends when ctx does.
func (c *Console) use(ctx context.Context, l *login, database string, f func(*sql.Session) error) error {
	return c.with(ctx, l, database, false, f)
}

// change runs a statement that the user has asked for.
func (c *Console) change(ctx context.Context, l *login, text string) error {
	return c.with(ctx, l, defaultDatabase, true, func(s *sql.Session) error {
		_, err := runIn(ctx, s, text, maxRows)
		return err
	})
}

// with calls f with a session.
func (c *Console) with(ctx context.Context, l *login, database string, asked bool, f func(*sql.Session) error) error {
	release, err := c.place(ctx)
	if err != nil {
		return err
	}
	defer release()
	s, err := c.session(ctx, l, database, asked)
	if err != nil {
		return err
	}
	defer s.Close()
	defer context.AfterFunc(ctx, s.Terminate)()
	return f(s)
}

// query runs statements in a database as a user.
func (c *Console) query(ctx context.Context, l *login, database, text string) (*rows, error) {
	var out *rows
	err := c.use(ctx, l, database, func(s *sql.Session) error {
		var err error
		out, err = runIn(ctx, s, text, maxRows)
		return err
	})
	return out, err
}

// runIn runs statements in a session.
func runIn(ctx context.Context, s *sql.Session, text string, most int) (*rows, error) {
	r := &rows{format: s.Format(), most: most}
	err := s.Query(ctx, text, r)
	if r.cut && errors.Is(err, errCut) {
		err = nil
	}
	return r, err
}

// row reads the columns of a row by their names.
type row struct {
	of   *rows
	vals []*string
}

// each calls f for each row.
func (r *rows) each(f func(row)) {
	for _, v := range r.rows {
		f(row{r, v})
	}
}

// text returns a column, "" for NULL.
func (r row) text(name string) string {
	for i := range r.of.columns {
		if r.of.columns[i].Name == name {
			if r.vals[i] == nil {
				return ""
			}
			return *r.vals[i]
		}
	}
	return ""
}

// int returns a column that is a whole number, 0 for NULL.
func (r row) int(name string) int64 {
	n, _ := strconv.ParseInt(r.text(name), 10, 64)
	return n
}

// float returns a column that is a number.
func (r row) float(name string) float64 {
	f, _ := strconv.ParseFloat(r.text(name), 64)
	return f
}

// flag returns a column that is a boolean.
func (r row) flag(name string) bool { return r.text(name) == "t" }

// list returns the elements of a column that is an array of numbers or of plain words.
func (r row) list(name string) []string {
	text := strings.Trim(r.text(name), "{}")
	if text == "" {
		return []string{}
	}
	return strings.Split(text, ",")
}

// ints is list for numbers.
func (r row) ints(name string) []int64 {
	out := []int64{}
	for _, s := range r.list(name) {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// quote returns a text as a literal of SQL.
func quote(s string) string { return ast.QuoteLiteral(s) }

// millis is an expression for the milliseconds since 1970 of a column.
func millis(column string) string {
	return "(extract(epoch FROM " + column + ") * 1000)::bigint"
}
