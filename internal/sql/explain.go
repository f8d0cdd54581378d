package sql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

type explainOptions struct {
	plan.ExplainOptions
	analyze, timing, summary bool
	silent                   bool   // an option is on that has nothing to tell
	format                   string // text, json, yaml or xml
}

// explainFlags are the options that are on or off; those with false have nothing to
// tell here, which a notice says.
var explainFlags = map[string]bool{
	"analyze": true, "verbose": true, "costs": true, "timing": true, "summary": true,
	"buffers": false, "wal": false, "settings": false,
}

func parseExplain(opts []ast.Option) (o explainOptions, err error) {
	given := map[string]bool{"costs": true}
	o.format = "text"
	for _, opt := range opts {
		name := string(opt.Name)
		if name == "format" {
			if o.format, err = explainFormat(opt); err != nil {
				return o, err
			}
			continue
		}
		can, known := explainFlags[name]
		if !known {
			return o, pgerr.New(pgerr.SyntaxError, "unrecognized EXPLAIN option %q", name).At(opt.Pos)
		}
		on, err := explainFlag(opt)
		if err != nil {
			return o, err
		}
		given[name] = on
		if on && !can {
			if name == "wal" && !hasOption(opts, "analyze") {
				return o, pgerr.New(pgerr.InvalidParameterValue, "EXPLAIN option WAL requires ANALYZE")
			}
			o.silent = true
		}
	}
	or := func(name string, otherwise bool) bool {
		if v, ok := given[name]; ok {
			return v
		}
		return otherwise
	}
	o.analyze, o.Verbose, o.Costs = given["analyze"], given["verbose"], given["costs"]
	o.timing, o.summary = or("timing", o.analyze), or("summary", o.analyze)
	if o.timing && !o.analyze {
		return o, pgerr.New(pgerr.InvalidParameterValue, "EXPLAIN option TIMING requires ANALYZE")
	}
	return o, nil
}

func hasOption(opts []ast.Option, name ast.Name) bool {
	return slices.ContainsFunc(opts, func(o ast.Option) bool { return o.Name == name })
}

// explainFlag reads the value of an option that is on or off.
func explainFlag(opt ast.Option) (bool, error) {
	if opt.Value == nil {
		return true, nil
	}
	text, err := ast.LiteralText(opt.Value)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(text) {
	case "on", "true", "1":
		return true, nil
	case "off", "false", "0":
		return false, nil
	}
	return false, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", opt.Name).At(opt.Pos)
}

func explainFormat(opt ast.Option) (string, error) {
	if opt.Value == nil {
		return "", pgerr.New(pgerr.SyntaxError, "format requires a parameter").At(opt.Pos)
	}
	text, err := ast.LiteralText(opt.Value)
	if err != nil {
		return "", err
	}
	switch f := strings.ToLower(text); f {
	case "text", "json", "yaml", "xml":
		return f, nil
	}
	return "", pgerr.New(pgerr.InvalidParameterValue, "unrecognized value for EXPLAIN option \"format\": %q", text).At(opt.Pos)
}

// explained is what EXPLAIN tells besides the plan; durations are zero if they were
// not measured.
type explained struct {
	planning, execution time.Duration
}

// runExplain sends the plan of a statement; with ANALYZE it runs the statement first
// and tells what each node of the plan did.
func (x *execution) runExplain(ctx context.Context, prep *plan.Prepared, root *plan.Explain) error {
	st := root.Stmt.(*ast.Explain)
	o, err := parseExplain(st.Options)
	if err != nil {
		return err
	}
	if o.silent {
		x.res.Notice("NOTICE", ddl.ExplainOptions())
	}
	skip, err := x.checkExplained(ctx, st, &o)
	if err != nil {
		return err
	}
	if err := prep.Failure(); err != nil {
		return err
	}
	var e explained
	if o.summary {
		if e.planning, err = x.planningTime(ctx); err != nil {
			return err
		}
	}
	if _, utility := root.Input.(*plan.DDL); o.analyze && !utility && !skip {
		if e.execution, err = x.explainAnalyze(ctx, root, &o); err != nil {
			return err
		}
	}
	var lines []string
	if !skip {
		lines = e.render(root.Input, &o)
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	if err := x.announce(explainColumns(st)); err != nil {
		return err
	}
	for _, l := range lines {
		x.rows++
		row := types.NewString(l)
		if o.format == "json" {
			row = types.NewJSON(l)
		}
		if err := x.res.Row([]types.Datum{row}); err != nil {
			return err
		}
	}
	return x.res.Complete("EXPLAIN")
}

// checkExplained refuses what cannot be explained. Of CREATE TABLE AS with IF NOT EXISTS
// there may be nothing to show.
func (x *execution) checkExplained(ctx context.Context, st *ast.Explain, o *explainOptions) (skip bool, err error) {
	creates := false
	switch s := st.Stmt.(type) {
	case *ast.CreateTableAs:
		if _, ok := s.Query.(*ast.Execute); ok {
			return false, pgerr.Unsupported("EXPLAIN of %s with EXECUTE is not supported", s.Tag()).At(st.Pos)
		}
		t, _, err := x.s.coll.FindRelation(ctx, s.Name.Catalog, s.Name.Schema, s.Name.Table)
		if err != nil {
			return false, err
		}
		exists := pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", s.Name.Table)
		switch {
		case t != nil && s.IfNotExists:
			exists.Message += ", skipping"
			x.res.Notice("NOTICE", exists)
			return true, nil
		case t != nil:
			return false, exists
		}
		creates = true
	case *ast.Select:
		creates = s.Into != nil
	}
	if creates && o.analyze {
		return false, pgerr.Unsupported("EXPLAIN ANALYZE of %s is not supported", st.Stmt.Tag()).At(st.Pos)
	}
	return false, nil
}

// noPlan is what EXPLAIN sends of REFRESH, by format.
var noPlan = map[string]string{
	"text": "Utility statements have no plan structure",
	"json": "[\n  \"Utility Statement\"\n]",
	"yaml": "- \"Utility Statement\"",
	"xml":  "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Utility-Statement />\n</explain>",
}

// planningTime plans the statement once more, and tells how long that took: the plan
// that is shown may be an older one.
func (x *execution) planningTime(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	_, err := x.s.planner.New(ctx, x.prepared, x.params)
	return time.Since(start), err
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// render makes the rows that EXPLAIN sends: a line each as text, else a single one.
func (e *explained) render(root plan.Node, o *explainOptions) []string {
	if _, ok := root.(*plan.DDL); ok {
		return []string{noPlan[o.format]}
	}
	if o.format == "text" {
		lines := plan.Format(root, o.ExplainOptions)
		if o.summary {
			lines = append(lines, fmt.Sprintf("Planning Time: %.3f ms", milliseconds(e.planning)))
		}
		if o.summary && o.analyze {
			lines = append(lines, fmt.Sprintf("Execution Time: %.3f ms", milliseconds(e.execution)))
		}
		return lines
	}
	g := plan.Group{{Name: "Plan", Value: plan.Tree(root, o.ExplainOptions)}}
	if o.summary {
		g = append(g, plan.Property{Name: "Planning Time", Value: plan.Milliseconds(milliseconds(e.planning))})
	}
	if o.analyze {
		g = append(g, plan.Property{Name: "Triggers", Value: []plan.Group{}})
	}
	if o.summary && o.analyze {
		g = append(g, plan.Property{Name: "Execution Time", Value: plan.Milliseconds(milliseconds(e.execution))})
	}
	switch o.format {
	case "json":
		return []string{plan.FormatJSON([]plan.Group{g})}
	case "yaml":
		return []string{plan.FormatYAML([]plan.Group{g})}
	}
	return []string{plan.FormatXML([]plan.Group{g})}
}

// explainColumns is the column that EXPLAIN returns.
func explainColumns(st *ast.Explain) []plan.Column {
	c := textColumn("QUERY PLAN")
	if o, err := parseExplain(st.Options); err == nil && o.format == "json" {
		c.Type = types.JSON
	}
	return []plan.Column{c}
}

// explainAnalyze runs the statement and has o show what was measured.
func (x *execution) explainAnalyze(ctx context.Context, root *plan.Explain, o *explainOptions) (time.Duration, error) {
	switch root.Input.(type) {
	case *plan.DDL, *plan.Utility, *plan.Copy:
		return 0, pgerr.Unsupported("EXPLAIN ANALYZE of a utility statement is not supported")
	}
	pr, profile, err := exec.CompileProfiled(root.Input, nil, o.timing)
	if err != nil {
		return 0, err
	}
	x.s.fillEnv(ctx, &x.env, x.params)
	start := time.Now()
	n, err := pr.Run(&x.env, func(*rowcontainer.Batch) error { return nil })
	if err != nil {
		return 0, err
	}
	x.s.noteWritten(root.Input, n)
	o.Actual = profile.Of
	return time.Since(start), nil
}

// resultColumns are the columns a statement returns, for Describe.
func (s *Session) resultColumns(p *plan.Prepared) []plan.Column {
	switch st := p.Stmt.(type) {
	case *ast.Explain:
		return explainColumns(st)
	case *ast.Show:
		if strings.EqualFold(st.Name, "all") {
			return []plan.Column{textColumn("name"), textColumn("setting"), textColumn("description")}
		}
		return []plan.Column{textColumn(settingName(st.Name))}
	case *ast.Split, *ast.Scatter, *ast.ShowRanges, *ast.ShowZone, *ast.ShowObjects:
		return computedColumns(st)
	case *ast.Execute:
		return s.statements.Columns(string(st.Name))
	case *ast.Fetch:
		if p, err := s.portals.Named(string(st.Cursor)); err == nil && !st.Move {
			return p.Columns()
		}
		return nil
	}
	return p.Columns
}
