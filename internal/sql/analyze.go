package sql

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The options of VACUUM and of ANALYZE.
var (
	vacuumOptions = []string{
		"analyze", "disable_page_skipping", "freeze", "full", "index_cleanup", "parallel", "process_toast", "skip_locked",
		"truncate", "verbose",
	}
	analyzeOptions = []string{"skip_locked", "verbose"}
)

// vacuumTarget is a table of VACUUM or ANALYZE.
type vacuumTarget struct {
	table   *catalog.Table
	columns []catalog.ColumnID // nil: all
}

// runVacuum executes ANALYZE and VACUUM, of which only what it has of ANALYZE has an
// effect.
func (x *execution) runVacuum(ctx context.Context, st *ast.Vacuum) error {
	analyze, verbose, err := vacuumFlags(st)
	if err != nil {
		return err
	}
	if !st.AnalyzeOnly {
		x.res.Notice("NOTICE", noeffect.Vacuum())
	}
	targets, err := x.vacuumTargets(ctx, st, analyze)
	if err != nil {
		return err
	}
	if analyze {
		for _, t := range targets {
			if err := x.analyse(ctx, t, verbose); err != nil {
				return err
			}
		}
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	x.warn()
	return x.answer(st.Tag())
}

// vacuumFlags reads the options.
func vacuumFlags(st *ast.Vacuum) (analyze, verbose bool, err error) {
	analyze = st.AnalyzeOnly
	known := vacuumOptions
	if analyze {
		known = analyzeOptions
	}
	for _, o := range st.Options {
		name := string(o.Name)
		if !slices.Contains(known, name) {
			return false, false, pgerr.New(pgerr.SyntaxError, "unrecognized %s option \"%s\"", st.Tag(), name).At(o.Pos)
		}
		if name != "analyze" && name != "verbose" {
			continue
		}
		on, err := optionOn(o)
		if err != nil {
			return false, false, err
		}
		if name == "analyze" {
			analyze = on
		} else {
			verbose = on
		}
	}
	for _, t := range st.Tables {
		if len(t.Cols) > 0 && !analyze {
			return false, false, pgerr.Unsupported("ANALYZE option must be specified when a column list is provided")
		}
	}
	return analyze, verbose, nil
}

// optionOn reads a boolean option.
func optionOn(o ast.Option) (bool, error) {
	if o.Value == nil {
		return true, nil
	}
	text, err := ast.LiteralText(o.Value)
	if err != nil {
		return false, err
	}
	switch text {
	case "true", "on", "1":
		return true, nil
	case "false", "off", "0":
		return false, nil
	}
	return false, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", o.Name).At(o.Pos)
}

// vacuumTargets resolves what the statement names: nothing means every table of the
// database.
func (x *execution) vacuumTargets(ctx context.Context, st *ast.Vacuum, analyze bool) (out []vacuumTarget, err error) {
	if len(st.Tables) == 0 {
		return x.allTables(ctx)
	}
	what := "analyze"
	if !st.AnalyzeOnly {
		what = "vacuum"
	}
	for i := range st.Tables {
		v := &st.Tables[i]
		t, index, err := x.ex.coll.FindRelation(ctx, v.Name.Catalog, v.Name.Schema, v.Name.Table)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return nil, pgerr.From(x.ex.coll.UndefinedRelation(ctx, v.Name.Schema, v.Name.Table)).At(v.Name.Pos)
		}
		switch {
		case t.Kind == catalog.KindVirtual:
			continue
		case index || t.Kind != catalog.KindTable:
			x.res.Notice("WARNING", pgerr.New(pgerr.Warning, "skipping \"%s\" --- cannot %s non-tables or special system tables", v.Name.Table, what))
			continue
		}
		if !x.mayAnalyze(t) {
			x.res.Notice("WARNING", pgerr.New(pgerr.Warning, "skipping \"%s\" --- only table or database owner can %s it", t.Name, what))
			continue
		}
		target := vacuumTarget{table: t}
		if target.columns, err = columnsNamed(t, v.Cols); err != nil {
			return nil, err
		}
		out = append(out, target)
	}
	return out, nil
}

// mayAnalyze reports whether the user owns a table or the database.
func (x *execution) mayAnalyze(t *catalog.Table) bool {
	me := x.ex.coll.Me()
	return me.Has(t.Owner.Role()) || me.Has(x.ex.coll.CurrentDatabase().Owner.Role())
}

// columnsNamed returns the columns of t that are named, nil if none are.
func columnsNamed(t *catalog.Table, names []ast.Name) (ids []catalog.ColumnID, err error) {
	for _, name := range names {
		ord, ok := t.ColumnByName(name)
		if !ok || t.Columns[ord].Hidden {
			return nil, t.UndefinedColumn(name)
		}
		id := t.Columns[ord].ID
		if slices.Contains(ids, id) {
			return nil, pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" appears more than once", name, t.Name)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// allTables returns the tables of the database but other sessions' temporary ones.
func (x *execution) allTables(ctx context.Context) (out []vacuumTarget, err error) {
	all, err := x.ex.coll.Descriptors(ctx)
	if err != nil {
		return nil, err
	}
	foreign := map[catalog.ID]bool{}
	for _, d := range all {
		if schema, ok := d.(*catalog.Schema); ok && schema.Temp != nil && schema.Name != x.ex.coll.TempSchemaName() {
			foreign[schema.ID] = true
		}
	}
	for _, d := range all {
		if t, ok := d.(*catalog.Table); ok && t.Kind == catalog.KindTable && t.Database == x.ex.conn.db.ID && !foreign[t.Schema] && x.mayAnalyze(t) {
			out = append(out, vacuumTarget{table: t})
		}
	}
	return out, nil
}

// analyse collects the statistics of a table, as the transaction sees it.
func (x *execution) analyse(ctx context.Context, v vacuumTarget, verbose bool) error {
	ex := x.ex
	if verbose {
		schema, err := ex.coll.SchemaByID(ctx, v.table.Schema)
		if err != nil {
			return err
		}
		x.res.Notice("INFO", pgerr.New(pgerr.SuccessfulCompletion, "analyzing \"%s.%s\"", schema.Name, v.table.Name))
	}
	st, read, err := ex.srv.stats.Analyze(ctx, ex.txn.KV(), v.table, v.columns)
	if err != nil {
		return err
	}
	if verbose {
		x.res.Notice("INFO", pgerr.New(pgerr.SuccessfulCompletion, "\"%s\": read %d rows; %d rows in sample, %.0f estimated total rows",
			v.table.Name, read.Rows, read.Sampled, st.Rows))
	}
	st.Analyzed = st.At
	ex.contents.Analysed(v.table, st)
	return nil
}
