package sql

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/diag"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

const (
	// maxDiagnosed bounds the tables that a bundle tells of, maxDiagnosedText each file.
	maxDiagnosed     = 64
	maxDiagnosedText = 4 << 20
	// diagnoseTimeout bounds each question about the schema; one that waits for the statement's own locks ends by it.
	diagnoseTimeout = 2 * time.Second
)

// Diagnostics returns the bundles of EXPLAIN ANALYZE (DEBUG) on this node.
func (s *Server) Diagnostics() []*diag.Bundle { return s.diagnostics.List() }

// diagnose puts a bundle together of a statement that EXPLAIN ANALYZE (DEBUG) has run, and returns its id.
func (x *execution) diagnose(ctx context.Context, prep *plan.Prepared, shown []types.Datum) (string, error) {
	ex, now := x.ex, time.Now()
	var lines strings.Builder
	for _, d := range shown {
		lines.WriteString(d.Str() + "\n")
	}
	text := activity.Redacted(ownText(x.prepared))
	files := []diag.File{{Name: "statement.sql", Text: text + "\n"}, {Name: "plan.txt", Text: lines.String()}, {Name: "trace.txt", Text: x.traced.text()}}
	files = append(files, x.surroundings(ctx, prep)...)
	env := fmt.Sprintf("version: %s\nnode: %d\nuptime: %s\nprocessors: %d\nGo: %s %s/%s\ntime: %s\ndatabase: %s\nuser: %s\nisolation: %s\n",
		ex.srv.VersionString(), ex.srv.nodeID(), time.Since(ex.srv.started).Round(time.Second), runtime.GOMAXPROCS(0), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		now.UTC().Format(time.RFC3339), ex.conn.db.Name, ex.who.User(), ex.vals.Fast.DefaultIsolation)
	files = append(files, diag.File{Name: "environment.txt", Text: env})
	for i := range files {
		if len(files[i].Text) > maxDiagnosedText {
			files[i].Text = files[i].Text[:maxDiagnosedText] + "\n(cut)\n"
		}
	}
	z, err := diag.Zip(files, now)
	if err != nil {
		return "", err
	}
	return ex.srv.diagnostics.Add(uint64(ex.srv.nodeID()), diag.Bundle{User: ex.who.User(), Database: ex.conn.db.Name, Query: text, At: now, Zip: z})
}

// surroundings tells of the tables that a plan uses, and of settings. A session of the user's own asks, so that nobody learns more
// than it may; what can't be had is said in its place.
func (x *execution) surroundings(ctx context.Context, prep *plan.Prepared) []diag.File {
	files := []diag.File{{Name: "schema.sql"}, {Name: "statistics.txt"}, {Name: "settings.txt"}}
	ex, err := x.ex.srv.NewSession(ctx, SessionArgs{
		User: x.ex.who.User(), Database: x.ex.conn.db.Name, Internal: true, Params: map[string]string{"statement_timeout": fmt.Sprint(diagnoseTimeout.Milliseconds())},
	})
	if err != nil {
		for i := range files {
			files[i].Text = err.Error()
		}
		return files
	}
	defer ex.Close()
	seen := map[catalog.ID]bool{}
	for _, u := range prep.Uses {
		t := u.Table
		if t == nil || t.ID.IsVirtual() || seen[t.ID] || len(seen) >= maxDiagnosed {
			continue
		}
		seen[t.ID] = true
		oid := fmt.Sprint(t.Oid)
		files[0].Text += ex.tabular(ctx, "SELECT create_statement || ';' FROM lichen_internal.create_statements WHERE descriptor_id = "+oid)
		files[1].Text += "-- " + t.Name + "\n" + ex.tabular(ctx, `SELECT 'rows: ' || c.reltuples, 'pages: ' || c.relpages, 'analysed: ' || greatest(s.last_analyze, s.last_autoanalyze)
			FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid WHERE c.oid = `+oid) +
			ex.tabular(ctx, `SELECT attname, null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs, histogram_bounds FROM pg_stats
			WHERE tablename = `+ast.QuoteLiteral(t.Name)+` AND schemaname = (SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = `+oid+`)`)
	}
	files[2].Text = ex.tabular(ctx, "SELECT name, setting FROM pg_settings ORDER BY name") + "\n-- cluster settings\n" + ex.tabular(ctx, "SHOW CLUSTER SETTINGS")
	return files
}

// tabular runs a query and returns its rows as lines, or why there are none.
func (s *Session) tabular(ctx context.Context, query string) string {
	r := &lineResults{format: s.Format()}
	if err := s.Query(ctx, query, r); err != nil {
		return "(" + pgerr.From(err).Message + ")\n"
	}
	return r.b.String()
}

// lineResults are the results of a query as lines of text.
type lineResults struct {
	format  *types.FormatContext
	columns []plan.Column
	b       strings.Builder
}

func (r *lineResults) Mark()        { r.b.Reset() }
func (r *lineResults) Rewind() bool { r.b.Reset(); return true }

func (r *lineResults) Columns(cols []plan.Column) error {
	r.columns = append([]plan.Column(nil), cols...)
	return nil
}

func (r *lineResults) Row(row []types.Datum) error {
	for i, d := range row {
		if i > 0 {
			r.b.WriteString(" | ")
		}
		if !d.IsNull() {
			r.b.Write(typeio.AppendText(nil, r.columns[i].Type, d, r.format))
		}
	}
	r.b.WriteByte('\n')
	if r.b.Len() > maxDiagnosedText {
		return pgerr.New(pgerr.ProgramLimitExceeded, "there are more rows")
	}
	return nil
}

func (r *lineResults) Complete(string) error       { return nil }
func (r *lineResults) Empty() error                { return nil }
func (r *lineResults) Notice(string, *pgerr.Error) {}
func (r *lineResults) CopyOut(int, bool) error     { return nil }
func (r *lineResults) CopyData([]byte) error       { return nil }
func (r *lineResults) CopyDone() error             { return nil }
func (r *lineResults) CopyIn(int, bool) (CopySource, error) {
	return nil, pgerr.Unsupported("COPY is not supported here")
}
