package ddlevents

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// Names are what the changes are named by.
type Names struct {
	// Describe names an object as it is now.
	Describe func(class, oid uint32, sub int32) (call.ObjectName, bool)
	// Schema returns the name of a schema, as it is or was before the statement, and whether it is a temporary one.
	Schema func(catalog.ID) (name string, temporary bool)
}

// The oids of the catalogs.
const (
	pgClass        = 1259
	pgType         = 1247
	pgProc         = 1255
	pgOperator     = 2617
	pgCollation    = 3456
	pgNamespace    = 2615
	pgConstraint   = 2606
	pgTrigger      = 2620
	pgPolicy       = 3256
	pgAttrdef      = 2604
	pgRewrite      = 2618
	pgExtension    = 3079
	pgCast         = 2605
	pgStatisticExt = 3381
)

// events collects the rows for a statement.
type events struct {
	Names
	stmt ast.Statement
	tag  string
	rows []call.DDLCommand
}

// Commands lists what a statement has made and changed.
func Commands(stmt ast.Statement, changes []catalog.Changed, n Names) []call.DDLCommand {
	e := &events{Names: n, stmt: stmt, tag: stmt.Tag()}
	switch s := stmt.(type) {
	case *ast.Grant:
		e.rows = append(e.rows, call.DDLCommand{Tag: e.tag, Type: s.Kind.String()})
		return e.rows
	case *ast.AlterDefaultPrivileges:
		e.rows = append(e.rows, call.DDLCommand{Tag: e.tag, Type: s.Grant.Kind.String() + "S"})
		return e.rows
	case *ast.Drop, *ast.DropRoutine, *ast.DropTrigger, *ast.DropPolicy, *ast.DropCast, *ast.ReassignOwned:
		return nil
	case *ast.CreateTable:
		e.newTables(changes)
	case *ast.CreateSchema:
		e.made(changes)
	case *ast.CreateIndex:
		e.newIndexes(changes)
	case *ast.CreateTrigger:
		e.newTriggers(changes)
	case *ast.CreatePolicy, *ast.AlterPolicy:
		e.policies(changes)
	case *ast.CreateStatistics, *ast.AlterStatistics:
		e.statistics(changes)
	case *ast.CreateCast:
		e.casts(changes)
	case *ast.CreateExtension, *ast.UpdateExtension:
		e.newExtensions(changes)
	case *ast.Comment:
		e.comment(s, changes)
	case *ast.AlterTable:
		e.altered(s, changes)
	default:
		e.main(changes)
	}
	return e.rows
}

// add adds an object as it is now.
func (e *events) add(tag string, class, oid uint32, sub int32) {
	o, ok := e.Describe(class, oid, sub)
	if !ok {
		return
	}
	e.rows = append(e.rows, call.DDLCommand{
		Class: class, Oid: oid, Sub: sub, Tag: tag, Type: o.Kind, Schema: temporary(o.Schema), Identity: temporary(o.Identity),
	})
}

// temporary gives a temporary schema its name for everybody.
func temporary(name string) string {
	if rest, ok := strings.CutPrefix(name, "pg_temp_"); ok {
		if i := strings.IndexByte(rest, '.'); i >= 0 {
			return "pg_temp" + rest[i:]
		}
		return "pg_temp"
	}
	return name
}

// classOf is the catalog that has an object of a descriptor.
func classOf(t *catalog.Table) uint32 {
	switch {
	case t.OwnOperator():
		return pgOperator
	case t.Kind == catalog.KindRoutine:
		return pgProc
	case t.Kind == catalog.KindCollation:
		return pgCollation
	case t.Kind == catalog.KindType:
		return pgType
	}
	return pgClass
}

// descriptor adds the object of a descriptor.
func (e *events) descriptor(tag string, d catalog.Descriptor) {
	switch d := d.(type) {
	case *catalog.Schema:
		e.add(tag, pgNamespace, d.Oid, 0)
	case *catalog.Table:
		e.add(tag, classOf(d), d.Oid, 0)
	}
}

// main adds the first object that the statement has made or changed: what else it has changed follows from that.
func (e *events) main(changes []catalog.Changed) {
	if s, ok := e.stmt.(*ast.AlterObject); ok && s.Kind == ast.ObjStatistics {
		e.statistics(changes)
		return
	}
	if s, ok := e.stmt.(*ast.AlterObject); ok && s.Kind == ast.ObjSchema { // whose name is in the texts of others
		changes = slices.DeleteFunc(slices.Clone(changes), func(c catalog.Changed) bool { _, is := c.New.(*catalog.Schema); return !is })
	}
	for _, c := range changes {
		if c.New != nil && (c.Old == nil || !strings.HasPrefix(e.tag, "CREATE") || e.replaces()) {
			before := len(e.rows)
			if e.descriptor(e.tag, c.New); len(e.rows) > before {
				return
			}
		}
	}
}

// replaces reports whether the statement may put an object in the place of another one.
func (e *events) replaces() bool {
	switch e.stmt.(type) {
	case *ast.CreateView, *ast.CreateRoutine, *ast.CreateAggregate, *ast.CreateOperator:
		return true
	}
	return false
}

// made adds all objects that are new, each as a statement of its own would have made it.
func (e *events) made(changes []catalog.Changed) {
	for _, c := range changes {
		if c.Old == nil {
			if s, ok := c.New.(*catalog.Schema); ok {
				e.add(e.tag, pgNamespace, s.Oid, 0)
			}
		}
	}
	e.newTables(changes)
	for _, c := range changes {
		t, ok := c.New.(*catalog.Table)
		if ok && c.Old == nil && t.Kind == catalog.KindView {
			e.add("CREATE VIEW", pgClass, t.Oid, 0)
		}
	}
}

// newTables adds new tables with their sequences and indexes, in PostgreSQL's order.
func (e *events) newTables(changes []catalog.Changed) {
	for _, c := range changes {
		t, ok := c.New.(*catalog.Table)
		if !ok || c.Old != nil || t.Kind != catalog.KindTable {
			continue
		}
		var owned []*catalog.Table
		for _, o := range changes {
			q, ok := o.New.(*catalog.Table)
			if ok && o.Old == nil && q.Kind == catalog.KindSequence && q.Sequence.OwnerTable == t.ID {
				owned = append(owned, q)
				e.add("CREATE SEQUENCE", pgClass, q.Oid, 0)
			}
		}
		e.add("CREATE TABLE", pgClass, t.Oid, 0)
		e.indexes(t, nil)
		if len(t.ForeignKeys) > 0 {
			e.add("ALTER TABLE", pgClass, t.Oid, 0)
		}
		for _, q := range owned {
			e.add("ALTER SEQUENCE", pgClass, q.Oid, 0)
		}
	}
}

// indexes adds the indexes of a table that it had not before.
func (e *events) indexes(t, before *catalog.Table) {
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if ix.Primary && !ix.Constraint { // of a table without a primary key
			continue
		}
		if before == nil || before.IndexByName(ix.Name) == nil {
			e.add("CREATE INDEX", pgClass, ix.Oid, 0)
		}
	}
}

// each calls f with the tables that have changed, as they were and as they are.
func each(changes []catalog.Changed, f func(old, t *catalog.Table)) {
	for _, c := range changes {
		old, was := c.Old.(*catalog.Table)
		if t, is := c.New.(*catalog.Table); was && is {
			f(old, t)
		}
	}
}

func (e *events) newIndexes(changes []catalog.Changed) {
	each(changes, func(old, t *catalog.Table) { e.indexes(t, old) })
}

func (e *events) newTriggers(changes []catalog.Changed) {
	each(changes, func(old, t *catalog.Table) {
		for i := range t.Triggers {
			g := &t.Triggers[i]
			if j := old.TriggerByName(g.Name); j < 0 || old.Triggers[j].Function != g.Function || strings.HasPrefix(e.tag, "CREATE") && j < 0 {
				e.add(e.tag, pgTrigger, g.Oid, 0)
			}
		}
		for i := range e.rows {
			if e.rows[i].Class == pgTrigger {
				e.rows[i].Schema = ""
			}
		}
	})
}

func (e *events) policies(changes []catalog.Changed) {
	each(changes, func(old, t *catalog.Table) {
		on, _ := e.Describe(pgClass, t.Oid, 0)
		for i := range t.Policies {
			p := &t.Policies[i]
			if i < len(old.Policies) && !strings.HasPrefix(e.tag, "CREATE") || i >= len(old.Policies) {
				e.rows = append(e.rows, call.DDLCommand{
					Class: pgPolicy, Oid: p.Oid, Tag: e.tag, Type: "policy", Identity: ast.QuoteIdent(p.Name) + " on " + on.Identity,
				})
			}
		}
	})
}

func (e *events) newExtensions(changes []catalog.Changed) {
	for _, c := range changes {
		old, was := c.Old.(*catalog.Database)
		d, is := c.New.(*catalog.Database)
		if !was || !is {
			continue
		}
		for i := range d.Extensions {
			if x := &d.Extensions[i]; old.ExtensionNamed(x.Name) == nil {
				e.add(e.tag, pgExtension, x.Oid, 0)
			}
		}
	}
}

// comment adds the object that COMMENT is about.
func (e *events) comment(s *ast.Comment, changes []catalog.Changed) {
	switch s.Kind {
	case ast.ObjStatistics:
		e.statistics(changes)
		return
	case ast.ObjCast:
		e.casts(changes)
		return
	case ast.ObjColumn:
	default:
		e.main(changes)
		return
	}
	each(changes, func(_, t *catalog.Table) {
		if i, ok := t.ColumnByName(s.Name[len(s.Name)-1]); ok && len(e.rows) == 0 {
			e.add(e.tag, pgClass, t.Oid, int32(t.Columns[i].Attnum))
		}
	})
}

// altered adds the relation that ALTER TABLE and its kin have changed, or the column or index that they have renamed.
func (e *events) altered(s *ast.AlterTable, changes []catalog.Changed) {
	each(changes, func(old, t *catalog.Table) {
		if len(e.rows) > 0 {
			return
		}
		if c := s.Cmds[0]; c.Kind == ast.AlterRenameColumn {
			if i, ok := t.ColumnByName(c.NewName); ok {
				e.add(e.tag, pgClass, t.Oid, int32(t.Columns[i].Attnum))
				return
			}
		}
		if old.Name != s.Name.Table {
			if ix := old.IndexByName(s.Name.Table); ix != nil {
				e.add(e.tag, pgClass, ix.Oid, 0)
			}
			return
		}
		e.add(e.tag, pgClass, t.Oid, 0)
	})
}
