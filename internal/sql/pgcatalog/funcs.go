package pgcatalog

import (
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/deparse"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// ObjectVisible implements call.Catalog.
func (c *Catalog) ObjectVisible(kind string, oid uint32) (visible, ok bool, err error) {
	switch kind {
	case "table":
		t, ix := c.byOid(oid)
		if t == nil {
			return false, false, nil
		}
		name := t.Name
		if ix != nil {
			name = ix.Name
		}
		return c.visible(t, name), true, nil
	case "type":
		visible, ok = c.typeVisible(oid)
		return visible, ok, nil
	case "collation":
		if types.CollationByOid(oid) != nil {
			return true, true, nil
		}
		t := c.h.Coll.PeekByOid(c.ctx(), oid)
		if ok = t != nil && t.Kind == catalog.KindCollation; !ok {
			return false, false, nil
		}
		return c.collationVisible(t), true, nil
	case "function":
		r := c.routineByOid(oid)
		return r != nil && slices.Contains(c.h.Coll.SearchPath(), r.schemaName()), r != nil, nil
	case "operator":
		for _, o := range builtin.All() {
			if o.Operator && o.Oid == oid {
				return true, true, nil
			}
		}
		t := c.userOperator(oid)
		return t != nil && c.visibleOperator(t) == t.Name, t != nil, nil
	}
	if kind == "statistics_obj" {
		visible, ok = c.extendedVisible(oid)
		return visible, ok, nil
	}
	return c.ofSystem(kind, oid)
}

// systemRelations list the objects that are in pg_catalog all, by kind.
var systemRelations = map[string]string{
	"opclass": "pg_opclass", "opfamily": "pg_opfamily", "conversion": "pg_conversion",
	"ts_config": "pg_ts_config", "ts_dict": "pg_ts_dict", "ts_parser": "pg_ts_parser", "ts_template": "pg_ts_template",
}

// ofSystem is ObjectVisible for an object of a kind of which all are in pg_catalog.
func (c *Catalog) ofSystem(kind string, oid uint32) (visible, ok bool, err error) {
	columns, rows, err := c.RelationRows(systemRelations[kind])
	at := slices.Index(columns, "oid")
	ok = slices.ContainsFunc(rows, func(r []types.Datum) bool { return uint32(r[at].Int()) == oid })
	return ok, ok, err
}

// typeVisible reports whether the search path finds a type, or that of an array's elements, by its
// name; ok is false if there is no such type.
func (c *Catalog) typeVisible(oid uint32) (visible, ok bool) {
	if t, ok := types.ByOid(oid); ok {
		if x := t.Extension(); x != "" {
			in, visible := c.h.Coll.PeekExtensionSchema(c.ctx(), x)
			return visible, in != nil
		}
		return true, true
	}
	if t := c.h.Coll.PeekTypeByOid(c.ctx(), oid); t != nil {
		if t.Def == nil && t.Elem != nil {
			t = t.Elem
		}
		_, visible = c.h.Coll.PeekTypeSchema(c.ctx(), t.Oid)
		return visible, true
	}
	t, ix := c.byOid(oid) // a row type
	return t != nil && ix == nil && c.visible(t, t.Name), t != nil && ix == nil
}

// TypeByOid implements call.Catalog.
func (c *Catalog) TypeByOid(oid uint32) (*types.T, bool) {
	if t, ok := types.ByOid(oid); ok {
		return c.qualified(t), true
	}
	t := c.h.Coll.PeekTypeByOid(c.ctx(), oid)
	if t == nil {
		return nil, false
	}
	return c.qualified(t), true
}

// UserByOid implements call.Catalog.
func (c *Catalog) UserByOid(oid uint32) (string, bool) {
	if r := c.h.Coll.RoleByOid(privilege.Role(oid)); r != nil {
		return r.Name, true
	}
	return "", false
}

// Description implements call.Catalog.
func (c *Catalog) Description(oid uint32, class string, sub int32) (string, bool, error) {
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return "", false, err
	}
	if class == "pg_database" {
		if d, ok := s.c.h.Coll.PeekOwner(oid).(*catalog.Database); ok {
			return d.Comment, d.Comment != "", nil
		}
		return "", false, nil
	}
	if class == "pg_authid" {
		if r := s.c.h.Coll.RoleByOid(privilege.Role(oid)); r != nil {
			return r.Comment, r.Comment != "", nil
		}
		return "", false, nil
	}
	if class == "pg_event_trigger" {
		for _, g := range s.db.EventTriggers {
			if g.Oid == oid {
				return g.Comment, g.Comment != "", nil
			}
		}
		return "", false, nil
	}
	want, known := commentClasses[class]
	if class != "" && !known {
		return "", false, nil
	}
	text := s.commentOn(want, oid, sub)
	return text, text != "", nil
}

// commentClasses are the catalogs of the objects that comments may be on.
var commentClasses = map[string]uint32{
	"pg_class": oidPgClass, "pg_constraint": oidPgConstraint, "pg_policy": oidPgPolicy, "pg_trigger": oidPgTrigger, "pg_proc": oidPgProc, "pg_event_trigger": oidPgEvent, "pg_operator": oidPgOperator, "pg_cast": oidPgCast, "pg_statistic_ext": oidPgStatisticExt, "pg_namespace": oidPgNamespace, "pg_type": oidPgType, "pg_extension": oidPgExtension,
	"pg_collation": oidPgCollation, "pg_ts_config": oidPgTSConfig, "pg_ts_dict": oidPgTSDict,
	"pg_ts_parser": oidPgTSParser, "pg_ts_template": oidPgTSTemplate,
}

// ViewDef implements call.Catalog.
func (c *Catalog) ViewDef(oid uint32, pretty bool, wrap int) (string, bool, error) {
	t, ix := c.byOid(oid)
	if t == nil || ix != nil || t.View == nil {
		return "", false, nil
	}
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return "", false, err
	}
	return s.viewText(t, deparse.Layout{Pretty: pretty, Wrap: wrap}), true, nil
}

// IndexDef implements call.Catalog.
func (c *Catalog) IndexDef(oid uint32, column int32, pretty bool) (string, bool, error) {
	t, ix := c.byOid(oid)
	if t == nil || ix == nil {
		return "", false, nil
	}
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return "", false, err
	}
	if column > 0 {
		cols := indexColumns(ix)
		if int(column) > len(cols) {
			return "", true, nil
		}
		return s.keyColumn(t, cols[column-1], pretty), true, nil
	}
	rel := ast.QuoteIdent(t.Name)
	if !pretty || !c.visible(t, t.Name) {
		rel = s.qualified(t)
	}
	return s.indexText(t, ix, rel, pretty), true, nil
}

// ConstraintDef implements call.Catalog.
func (c *Catalog) ConstraintDef(oid uint32, pretty bool) (string, bool, error) {
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return "", false, err
	}
	t := s.ownerOf(oid)
	if t == nil {
		return "", false, nil
	}
	if t.Kind == catalog.KindType {
		text, ok := s.domainConstraintText(t, oid, pretty)
		return text, ok, nil
	}
	text, ok := s.constraintText(t, oid, pretty)
	return text, ok, nil
}

// ExprDef implements call.Catalog. Expressions in the catalogs are printed already;
// pretty, they are printed from what was stored.
func (c *Catalog) ExprDef(expr string, relation uint32, pretty bool) (string, bool, error) {
	if !pretty {
		return expr, true, nil
	}
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return "", false, err
	}
	return s.prettyExpr(expr, relation), true, nil
}

// FunctionDef implements call.Catalog.
func (c *Catalog) FunctionDef(oid uint32, part call.FunctionPart) (string, bool, error) {
	r := c.routineByOid(oid)
	if r == nil {
		return "", false, nil
	}
	switch part {
	case call.FunctionArguments, call.FunctionIdentityArguments:
		return r.arguments(part == call.FunctionArguments), true, nil
	case call.FunctionResult:
		if r.kind == 'p' {
			return "", false, nil
		}
		return r.result(), true, nil
	}
	if r.kind == 'a' {
		return "", false, pgerr.New(pgerr.WrongObjectType, "\"%s\" is an aggregate function", r.name)
	}
	return r.definition(), true, nil
}

// SerialSequence implements call.Catalog.
func (c *Catalog) SerialSequence(table, column string) (string, bool, error) {
	oid, err := c.OidOf(types.Regclass, table)
	if err != nil {
		return "", false, err
	}
	t, _ := c.byOid(oid)
	if t == nil {
		return "", false, nil
	}
	ord, ok := t.ColumnByName(column)
	if !ok {
		return "", false, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", column, t.Name)
	}
	if t.Columns[ord].OwnsSequence == 0 {
		return "", false, nil
	}
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return "", false, err
	}
	q := s.tableByID(t.Columns[ord].OwnsSequence)
	if q == nil {
		return "", false, nil
	}
	return s.qualified(q), true, nil
}

// RelationSize implements call.Catalog.
func (c *Catalog) RelationSize(oid uint32, part call.SizePart) (int64, bool, error) {
	t, ix := c.byOid(oid)
	if t == nil {
		return 0, false, nil
	}
	if t.ID.IsVirtual() || t.Kind == catalog.KindView {
		return 0, true, nil
	}
	index := func(id catalog.IndexID) keys.Span {
		return keys.IndexSpan(uint64(t.Database), uint64(t.ID), uint64(id))
	}
	if ix != nil {
		return c.size(index(ix.ID))
	}
	switch {
	case part == call.SizeTotal || t.Kind == catalog.KindSequence:
		return c.size(keys.TableSpan(uint64(t.Database), uint64(t.ID)))
	case part == call.SizeIndexes:
		total := int64(0)
		for i := 1; i < len(t.Indexes); i++ {
			n, _, err := c.size(index(t.Indexes[i].ID))
			if err != nil {
				return 0, false, err
			}
			total += n
		}
		return total, true, nil
	}
	return c.size(index(t.Primary().ID))
}

func (c *Catalog) size(s keys.Span) (int64, bool, error) {
	if c.h.Size == nil {
		return 0, false, nil
	}
	n, err := c.h.Size(c.ctx(), s)
	return n, err == nil, err
}

// DatabaseSize implements call.Catalog.
func (c *Catalog) DatabaseSize(oid uint32) (int64, bool, error) {
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return 0, false, err
	}
	if d, ok := s.c.h.Coll.PeekOwner(oid).(*catalog.Database); ok {
		return c.size(keys.DatabaseSpan(uint64(d.ID)))
	}
	isOid := func(t catalog.Template) bool { return t.Oid == oid }
	return 0, slices.ContainsFunc(catalog.Templates, isOid), nil
}

// TablespaceSize implements call.Catalog: every database is in pg_default.
func (c *Catalog) TablespaceSize(oid uint32, name string) (int64, bool, error) {
	for _, t := range tablespaces {
		if t.oid == oid || oid == 0 && t.name == name {
			if t.oid != oidPgDefault {
				return 0, true, nil
			}
			return c.databasesSize()
		}
	}
	return 0, false, nil
}

// databasesSize returns the bytes of all databases.
func (c *Catalog) databasesSize() (sum int64, ok bool, err error) {
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return 0, false, err
	}
	for _, d := range s.databases() {
		n, ok, err := c.size(keys.DatabaseSpan(uint64(d.ID)))
		if err != nil || !ok {
			return 0, ok, err
		}
		sum += n
	}
	return sum, true, nil
}

// LookupDatabase implements call.Catalog.
func (c *Catalog) LookupDatabase(name string) (uint32, bool, error) {
	if t := catalog.TemplateByName(name); t != nil {
		return t.Oid, true, nil
	}
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return 0, false, err
	}
	for _, d := range s.databases() {
		if d.Name == name {
			return d.Oid, true, nil
		}
	}
	return 0, false, nil
}
