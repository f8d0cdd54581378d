package pgcatalog

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/deparse"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The bits of pg_trigger.tgtype.
const (
	tgRow     = 1
	tgBefore  = 2
	tgInstead = 64
)

// tgEvents are those of the events, by the bits that these have here.
var tgEvents = [...]int64{4, 8, 16, 32}

func tgtype(g *catalog.Trigger) (n int64) {
	if g.Row {
		n |= tgRow
	}
	switch g.Timing {
	case ast.TriggerBefore:
		n |= tgBefore
	case ast.TriggerInstead:
		n |= tgInstead
	}
	for i, bit := range tgEvents {
		if g.Events&(1<<i) != 0 {
			n |= bit
		}
	}
	return n
}

// hasTriggers is relhastriggers: PostgreSQL keeps foreign keys by triggers, and psql looks for them only there.
func hasTriggers(t *catalog.Table) bool {
	return len(t.ForeignKeys)+len(t.References)+len(t.Triggers) > 0
}

// pgTrigger lists triggers.
func pgTrigger(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if !w.wants("tgrelid", t.Oid) {
			continue
		}
		for i := range t.Triggers {
			if g := &t.Triggers[i]; w.wants("oid", g.Oid) {
				s.triggerRow(w, t, g)
			}
		}
	}
	return nil
}

func (s *snapshot) triggerRow(w *writer, t *catalog.Table, g *catalog.Trigger) {
	w.oid("oid", g.Oid)
	w.oid("tgrelid", t.Oid)
	w.str("tgname", g.Name)
	if f := s.routineByID(g.Function); f != nil {
		w.oid("tgfoid", f.Oid)
	}
	w.num("tgtype", tgtype(g))
	w.str("tgenabled", string(g.Enabled))
	w.flag("tgisinternal", false)
	for _, c := range [...]string{"tgparentid", "tgconstrrelid", "tgconstrindid"} {
		w.oid(c, 0)
	}
	if f := s.tableByID(g.From); g.From != 0 && f != nil {
		w.oid("tgconstrrelid", f.Oid)
	}
	w.oid("tgconstraint", g.ConstraintOid)
	w.flag("tgdeferrable", g.Deferrable)
	w.flag("tginitdeferred", g.Deferred)
	w.num("tgnargs", int64(len(g.Args)))
	var attrs []int64
	for _, id := range g.Columns {
		attrs = append(attrs, int64(attnum(t, id)))
	}
	w.set("tgattr", vector(attrs))
	var args strings.Builder
	for _, a := range g.Args {
		args.WriteString(a + "\x00")
	}
	w.set("tgargs", types.NewBytes(args.String()))
	if g.When != "" && w.computes("tgqual") {
		w.str("tgqual", s.triggerWhen(t, g, false))
	}
	w.text("tgoldtable", g.OldTable)
	w.text("tgnewtable", g.NewTable)
	w.done()
}

// constraintTriggers lists the constraints of constraint triggers.
func (s *snapshot) constraintTriggers(w *writer, t *catalog.Table) {
	for i := range t.Triggers {
		g := &t.Triggers[i]
		if g.ConstraintOid == 0 || !w.wants("oid", g.ConstraintOid) {
			continue
		}
		s.constraintCommon(w, t, g.ConstraintOid, g.Name, "t")
		w.flag("condeferrable", g.Deferrable)
		w.flag("condeferred", g.Deferred)
		w.flag("connoinherit", true)
		w.done()
	}
}

// triggerWhen prints the condition of a trigger.
func (s *snapshot) triggerWhen(t *catalog.Table, g *catalog.Trigger, pretty bool) string {
	out, err := s.deparser().TriggerExpr(s.ctx, g.When, t, deparse.Layout{Pretty: pretty})
	if err != nil {
		return s.exprText(g.When)
	}
	return out
}

// triggerOf finds a trigger by its oid; nil if there is none.
func (s *snapshot) triggerOf(oid uint32) (*catalog.Table, *catalog.Trigger) {
	t := s.ownerOf(oid)
	if t == nil {
		return nil, nil
	}
	i := slices.IndexFunc(t.Triggers, func(g catalog.Trigger) bool { return g.Oid == oid })
	if i < 0 {
		return nil, nil
	}
	return t, &t.Triggers[i]
}

// TriggerDef implements call.Catalog.
func (c *Catalog) TriggerDef(oid uint32, pretty bool) (string, bool, error) {
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return "", false, err
	}
	t, g := s.triggerOf(oid)
	if g == nil {
		return "", false, nil
	}
	return s.triggerText(t, g, pretty), true, nil
}

// triggerText is the CREATE TRIGGER statement of a trigger, as pg_get_triggerdef prints it.
func (s *snapshot) triggerText(t *catalog.Table, g *catalog.Trigger, pretty bool) string {
	var b strings.Builder
	b.WriteString("CREATE ")
	if g.ConstraintOid != 0 {
		b.WriteString("CONSTRAINT ")
	}
	b.WriteString("TRIGGER " + ast.QuoteIdent(g.Name) + " " + g.Timing.String() + " " + s.triggerEvents(t, g) + " ON ")
	if pretty {
		b.WriteString(s.shownName(t))
	} else {
		b.WriteString(s.qualified(t))
	}
	if g.ConstraintOid != 0 {
		b.WriteString(s.constraintTriggerText(g))
	}
	if g.OldTable+g.NewTable != "" {
		b.WriteString(" REFERENCING")
	}
	if g.OldTable != "" {
		b.WriteString(" OLD TABLE AS " + ast.QuoteIdent(g.OldTable))
	}
	if g.NewTable != "" {
		b.WriteString(" NEW TABLE AS " + ast.QuoteIdent(g.NewTable))
	}
	b.WriteString(" FOR EACH " + orientation(g))
	if g.When != "" {
		b.WriteString(" WHEN (" + s.triggerWhen(t, g, pretty) + ")")
	}
	b.WriteString(" " + s.triggerAction(g))
	return b.String()
}

// constraintTriggerText is what stands behind the table of a constraint trigger.
func (s *snapshot) constraintTriggerText(g *catalog.Trigger) string {
	out := ""
	if f := s.tableByID(g.From); g.From != 0 && f != nil {
		out = " FROM " + s.shownName(f)
	}
	switch {
	case !g.Deferrable:
		return out + " NOT DEFERRABLE INITIALLY IMMEDIATE"
	case g.Deferred:
		return out + " DEFERRABLE INITIALLY DEFERRED"
	}
	return out + " DEFERRABLE INITIALLY IMMEDIATE"
}

func orientation(g *catalog.Trigger) string {
	if g.Row {
		return "ROW"
	}
	return "STATEMENT"
}

// triggerEvents prints the events, with the columns of UPDATE OF.
func (s *snapshot) triggerEvents(t *catalog.Table, g *catalog.Trigger) string {
	var list []string
	for i, name := range ast.TriggerEventNames {
		e := ast.TriggerEvents(1) << i
		if g.Events&e == 0 {
			continue
		}
		if e == ast.OnUpdate && len(g.Columns) > 0 {
			cols := make([]string, len(g.Columns))
			for j, id := range g.Columns {
				cols[j] = s.columnName(t, id)
			}
			name += " OF " + strings.Join(cols, ", ")
		}
		list = append(list, name)
	}
	return strings.Join(list, " OR ")
}

// triggerAction is EXECUTE FUNCTION of a trigger.
func (s *snapshot) triggerAction(g *catalog.Trigger) string {
	name := "-"
	if f := s.routineByID(g.Function); f != nil {
		name = s.c.functionName(f)
	}
	args := make([]string, len(g.Args))
	for i, a := range g.Args {
		args[i] = ast.QuoteLiteral(a)
	}
	return "EXECUTE FUNCTION " + name + "(" + strings.Join(args, ", ") + ")"
}

// routineByID returns a routine, nil if there is none.
func (s *snapshot) routineByID(id catalog.ID) *catalog.Table {
	d, err := s.c.h.Coll.Peek(s.ctx, id)
	if err != nil {
		return nil
	}
	t, _ := d.(*catalog.Table)
	return t
}

// functionName is the name of a routine, with its schema unless the search path finds it.
func (c *Catalog) functionName(f *catalog.Table) string {
	name := ast.QuoteIdent(f.Name)
	found, err := c.h.Coll.FindRoutines(c.ctx(), "", f.Name)
	if err == nil && slices.ContainsFunc(found, func(t *catalog.Table) bool { return t.ID == f.ID }) {
		return name
	}
	if x, ok := c.peekSchema(f.Schema); ok {
		return ast.QuoteIdent(x.Name) + "." + name
	}
	return name
}

// describeTrigger describes a trigger.
func (s *snapshot) describeTrigger(oid uint32) (call.ObjectName, bool) {
	t, g := s.triggerOf(oid)
	if g == nil {
		return call.ObjectName{}, false
	}
	on, _ := s.describeRelation(t.Oid, 0)
	return call.ObjectName{
		Kind: "trigger", Identity: ast.QuoteIdent(g.Name) + " on " + on.Identity, Text: "trigger " + g.Name + " on " + on.Text,
	}, true
}

// triggers writes what the triggers of a relation depend on.
func (d depends) triggers(t *catalog.Table) {
	for i := range t.Triggers {
		g := &t.Triggers[i]
		obj := address{oidPgTrigger, g.Oid, 0}
		if f := d.s.routineByID(g.Function); f != nil {
			d.row(obj, address{oidPgProc, f.Oid, 0}, dependNormal)
		}
		d.row(obj, address{oidPgClass, t.Oid, 0}, dependAuto)
		if from := d.s.tableByID(g.From); g.From != 0 && from != nil {
			d.row(obj, address{oidPgClass, from.Oid, 0}, dependAuto)
		}
		if g.ConstraintOid != 0 {
			d.row(address{oidPgConstraint, g.ConstraintOid, 0}, obj, dependInternal)
		}
		var columns []catalog.ColumnID
		for _, id := range append(slices.Clone(g.Columns), g.WhenColumns...) {
			if !slices.Contains(columns, id) {
				columns = append(columns, id)
				d.row(obj, columnAddress(t, id), dependNormal)
			}
		}
	}
}

// isTriggers is information_schema.triggers: a row for each event of a trigger.
func isTriggers(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if !s.triggersShown(t) {
			continue
		}
		for i := range t.Triggers {
			g := &t.Triggers[i]
			for k, event := range ast.TriggerEventNames[:3] {
				if g.Events&(1<<k) != 0 {
					s.triggerOfSchema(w, t, g, k, event)
				}
			}
		}
	}
	return nil
}

// triggersShown reports whether the user may know of the triggers of t: who owns it, or may do more with it than read.
func (s *snapshot) triggersShown(t *catalog.Table) bool {
	if len(t.Triggers) == 0 {
		return false
	}
	me := s.c.h.Coll.Me()
	return me.Has(t.Owner.Role()) ||
		access.OnAnyColumn(me, t, privilege.Insert|privilege.Update|privilege.Delete|privilege.Truncate|privilege.References|privilege.Trigger) != 0
}

func (s *snapshot) triggerOfSchema(w *writer, t *catalog.Table, g *catalog.Trigger, event int, name string) {
	w.str("trigger_catalog", s.db.Name)
	w.str("trigger_schema", s.schemaName(t))
	w.str("trigger_name", g.Name)
	w.str("event_manipulation", name)
	w.str("event_object_catalog", s.db.Name)
	w.str("event_object_schema", s.schemaName(t))
	w.str("event_object_table", t.Name)
	order := int64(1)
	for i := range t.Triggers {
		o := &t.Triggers[i]
		if o.Events&(1<<event) != 0 && o.Row == g.Row && o.Timing == g.Timing && o.Name < g.Name {
			order++
		}
	}
	w.num("action_order", order)
	if me := s.c.h.Coll.Me(); g.When != "" && me.Has(t.Owner.Role()) {
		w.str("action_condition", s.triggerWhen(t, g, false))
	}
	w.str("action_statement", s.triggerAction(g))
	w.str("action_orientation", orientation(g))
	w.str("action_timing", g.Timing.String())
	w.text("action_reference_old_table", g.OldTable)
	w.text("action_reference_new_table", g.NewTable)
	w.done()
}

// isTriggeredColumns is information_schema.triggered_update_columns.
func isTriggeredColumns(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		if !s.triggersShown(t) {
			continue
		}
		for i := range t.Triggers {
			g := &t.Triggers[i]
			for _, id := range g.Columns {
				w.str("trigger_catalog", s.db.Name)
				w.str("trigger_schema", s.schemaName(t))
				w.str("trigger_name", g.Name)
				w.str("event_object_catalog", s.db.Name)
				w.str("event_object_schema", s.schemaName(t))
				w.str("event_object_table", t.Name)
				w.str("event_object_column", t.Columns[t.ColumnByID(id)].Name)
				w.done()
			}
		}
	}
	return nil
}
