package sql

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/diag"
	"github.com/lichendb/lichen/internal/sql/explain"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

const (
	// maxTraced bounds the requests of a trace, maxDiagnosed the tables that a bundle tells of, and maxDiagnosedText each file.
	maxTraced        = 5000
	maxDiagnosed     = 64
	maxDiagnosedText = 4 << 20
	// diagnoseTimeout bounds each question about the schema; one that waits for the statement's own locks ends by it.
	diagnoseTimeout = 2 * time.Second
)

// Diagnostics returns the bundles of EXPLAIN ANALYZE (DEBUG) on this node.
func (s *Server) Diagnostics() []*diag.Bundle { return s.diagnostics.List() }

// tracing is the trace of a statement: what it asked of ranges, as its gateway saw it.
type tracing struct {
	began time.Time
	lines strings.Builder
	count int
}

// follow has the open transaction traced.
func (t *tracing) follow(txn *kv.Txn) {
	t.began = time.Now()
	txn.SetTrace(func(r *kv.TracedRequest) {
		if t.count++; t.count > maxTraced {
			return
		}
		t.span(r.Kind, r.Began, time.Since(r.Began), func(b *strings.Builder) {
			if r.Start != nil {
				fmt.Fprintf(b, " %s", keys.Pretty(r.Start))
			}
			if r.End != nil {
				fmt.Fprintf(b, " to %s", keys.Pretty(r.End))
			}
			if r.Kind != "commit" {
				fmt.Fprintf(b, ", entries: %d", r.Entries)
			}
			if r.Err != nil {
				fmt.Fprintf(b, ", error: %v", r.Err)
			}
		})
	})
}

// span adds a line.
func (t *tracing) span(what string, began time.Time, took time.Duration, more func(*strings.Builder)) {
	fmt.Fprintf(&t.lines, "%10.3f ms %10.3f ms  %s", milliseconds(began.Sub(t.began)), milliseconds(took), what)
	if more != nil {
		more(&t.lines)
	}
	t.lines.WriteByte('\n')
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// text is the trace.
func (t *tracing) text() string {
	out := "    began       took  what (requests to ranges, as the gateway saw them; pages that are read ahead are left out)\n" + t.lines.String()
	if t.count > maxTraced {
		out += fmt.Sprintf("%d more requests\n", t.count-maxTraced)
	}
	return out
}

// diagnose puts a bundle together of a statement that EXPLAIN ANALYZE (DEBUG) has run, and returns its id.
func (x *execution) diagnose(ctx context.Context, prep *plan.Prepared, shown []types.Datum, t explain.Times, tr *tracing) (string, error) {
	s, now := x.s, time.Now()
	tr.span("planning", tr.began, t.Planning, nil)
	tr.span("execution", tr.began, t.Execution, nil)
	var lines strings.Builder
	for _, d := range shown {
		lines.WriteString(d.Str() + "\n")
	}
	text := activity.Redacted(ownText(x.prepared))
	files := []diag.File{{Name: "statement.sql", Text: text + "\n"}, {Name: "plan.txt", Text: lines.String()}, {Name: "trace.txt", Text: tr.text()}}
	files = append(files, x.surroundings(ctx, prep)...)
	env := fmt.Sprintf("version: %s\nnode: %d\nuptime: %s\nprocessors: %d\nGo: %s %s/%s\ntime: %s\ndatabase: %s\nuser: %s\nisolation: %s\n",
		s.srv.VersionString(), s.srv.nodeID(), time.Since(s.srv.started).Round(time.Second), runtime.GOMAXPROCS(0), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		now.UTC().Format(time.RFC3339), s.db.Name, s.user, s.vals.Fast.DefaultIsolation)
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
	return s.srv.diagnostics.Add(uint64(s.srv.nodeID()), diag.Bundle{User: s.user, Database: s.db.Name, Query: text, At: now, Zip: z})
}

// surroundings tells of the tables that a plan uses, and of settings. A session of the user's own asks, so that nobody learns more
// than it may; what can't be had is said in its place.
func (x *execution) surroundings(ctx context.Context, prep *plan.Prepared) []diag.File {
	files := []diag.File{{Name: "schema.sql"}, {Name: "statistics.txt"}, {Name: "settings.txt"}}
	s, err := x.s.srv.NewSession(ctx, SessionArgs{
		User: x.s.user, Database: x.s.db.Name, Internal: true, Params: map[string]string{"statement_timeout": fmt.Sprint(diagnoseTimeout.Milliseconds())},
	})
	if err != nil {
		for i := range files {
			files[i].Text = err.Error()
		}
		return files
	}
	defer s.Close()
	seen := map[catalog.ID]bool{}
	for _, u := range prep.Uses {
		t := u.Table
		if t == nil || t.ID.IsVirtual() || seen[t.ID] || len(seen) >= maxDiagnosed {
			continue
		}
		seen[t.ID] = true
		oid := fmt.Sprint(t.Oid)
		files[0].Text += s.tabular(ctx, "SELECT create_statement || ';' FROM lichen_internal.create_statements WHERE descriptor_id = "+oid)
		files[1].Text += "-- " + t.Name + "\n" + s.tabular(ctx, `SELECT 'rows: ' || c.reltuples, 'pages: ' || c.relpages, 'analysed: ' || greatest(s.last_analyze, s.last_autoanalyze)
			FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid WHERE c.oid = `+oid) +
			s.tabular(ctx, `SELECT attname, null_frac, avg_width, n_distinct, most_common_vals, most_common_freqs, histogram_bounds FROM pg_stats
			WHERE tablename = `+ast.QuoteLiteral(t.Name)+` AND schemaname = (SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = `+oid+`)`)
	}
	files[2].Text = s.tabular(ctx, "SELECT name, setting FROM pg_settings ORDER BY name") + "\n-- cluster settings\n" + s.tabular(ctx, "SHOW CLUSTER SETTINGS")
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
