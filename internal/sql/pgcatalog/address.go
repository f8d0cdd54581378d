package pgcatalog

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// missingKinds name objects of a catalog that are not there.
var missingKinds = map[uint32]string{oidPgClass: "relation", oidPgType: "type"}

// ObjectAddress implements call.Catalog.
func (c *Catalog) ObjectAddress(class, oid uint32, sub int32) (call.ObjectAddress, bool, error) {
	o, ok, err := c.DescribeObject(class, oid, sub)
	if err != nil || !ok {
		return call.ObjectAddress{Kind: missingKinds[class]}, false, err
	}
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return call.ObjectAddress{}, false, err
	}
	a := call.ObjectAddress{Kind: o.Kind}
	switch class {
	case oidPgClass:
		a.Names = s.relationAddress(oid, sub)
	case oidPgType:
		a.Names = []string{o.Identity}
	case oidPgProc:
		r := s.c.routineByOid(oid)
		if r == nil {
			return a, false, nil
		}
		a.Names = []string{r.schemaName(), r.name}
		a.Args = typeNames(r.args)
	case oidPgCast:
		a.Names, a.Args = s.castAddress(oid)
	case oidPgConstraint:
		a.Names, a.Args = s.constraintAddress(oid)
	case oidPgTrigger:
		if t, g := s.triggerOf(oid); g != nil {
			a.Names = append(s.relationAddress(t.Oid, 0), g.Name)
		}
	case oidPgAttrdef:
		if t, col := s.defaultByOid(oid); t != nil {
			a.Names = s.relationAddress(t.Oid, int32(col.Attnum))
		}
	case oidPgRewrite:
		if t := s.viewByRule(oid); t != nil {
			a.Names = append(s.relationAddress(t.Oid, 0), viewRule)
		}
	case oidPgCollation, oidPgStatisticExt:
		a.Names = []string{unquoted(o.Schema), unquoted(o.Name)}
	default:
		a.Names = []string{unquoted(o.Name)}
	}
	return a, true, nil
}

// unquoted is the name that QuoteIdent has printed.
func unquoted(s string) string {
	if in, ok := strings.CutPrefix(s, `"`); ok {
		return strings.ReplaceAll(strings.TrimSuffix(in, `"`), `""`, `"`)
	}
	return s
}

// relationAddress names a relation or an index, or a column of one, with its schema.
func (s *snapshot) relationAddress(oid uint32, sub int32) []string {
	t, ix := s.relationByOid(oid)
	if t == nil {
		return nil
	}
	names := []string{s.schemaName(t), t.Name}
	if ix != nil {
		names[1] = ix.Name
	}
	if column, ok := columnNumbered(t, ix, sub); ok {
		names = append(names, column)
	}
	return names
}

func (s *snapshot) constraintAddress(oid uint32) (names, args []string) {
	t := s.ownerOf(oid)
	switch {
	case t == nil:
	case t.Kind == catalog.KindType:
		for _, k := range t.UserType.Def.Checks {
			if k.Oid == oid {
				o, _ := s.describeType(t.Oid)
				return []string{o.Identity}, []string{k.Name}
			}
		}
	default:
		if name := constraintNamed(t, oid); name != "" {
			return append(s.relationAddress(t.Oid, 0), name), nil
		}
	}
	return nil, nil
}

// addressKinds are the kinds of objects that an address may be of, with the length of their
// list of names: -1 for any.
var addressKinds = map[string]int{
	"table": -1, "view": -1, "materialized view": -1, "index": -1, "sequence": -1, "foreign table": -1, "table column": -1,
	"table constraint": -1, "default value": -1, "domain constraint": 1, "type": 1, "schema": 1, "database": 1, "role": 1,
	"function": -1, "aggregate": -1, "procedure": -1, "routine": -1, "tablespace": 1,
	"rule": -1, "trigger": -1, "collation": -1, "extension": 1, "cast": 1, "statistics object": -1,
}

// addressless are kinds that objects are said to be of and no address is.
var addressless = []string{
	"toast table", "composite type", "toast table column", "composite type column", "index column", "sequence column", "view column",
	"materialized view column",
}

// ObjectByAddress implements call.Catalog.
func (c *Catalog) ObjectByAddress(a call.ObjectAddress) (class, oid uint32, sub int32, err error) {
	length, known := addressKinds[a.Kind]
	switch {
	case slices.Contains(addressless, a.Kind):
		return 0, 0, 0, pgerr.New(pgerr.InvalidParameterValue, "unsupported object type \"%s\"", a.Kind)
	case !known:
		return 0, 0, 0, pgerr.New(pgerr.InvalidParameterValue, "unrecognized object type \"%s\"", a.Kind)
	case len(a.Names) == 0:
		return 0, 0, 0, pgerr.New(pgerr.InvalidParameterValue, "name list length must be at least %d", 1)
	case length == 1 && len(a.Names) != 1:
		return 0, 0, 0, pgerr.New(pgerr.InvalidParameterValue, "name list length must be exactly %d", 1)
	}
	switch a.Kind {
	case "type":
		oid, err = c.typeOid(a.Names[0])
		return oidPgType, oid, 0, err
	case "domain constraint":
		return c.domainConstraint(a)
	case "schema":
		oid, err = c.OidOf(types.Regnamespace, ast.QuoteIdent(a.Names[0]))
		return oidPgNamespace, oid, 0, err
	case "role":
		oid, err = c.OidOf(types.Regrole, ast.QuoteIdent(a.Names[0]))
		return oidPgAuthid, oid, 0, err
	case "database":
		oid, ok, err := c.LookupDatabase(a.Names[0])
		if err == nil && !ok {
			err = pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", a.Names[0])
		}
		return oidPgDatabase, oid, 0, err
	case "tablespace":
		oid, err = c.tablespaceAt(a.Names[0])
		return oidPgTablespace, oid, 0, err
	case "function", "aggregate", "procedure", "routine":
		oid, err = c.functionAt(a)
		return oidPgProc, oid, 0, err
	case "statistics object":
		oid, err = c.extendedAt(a)
		return oidPgStatisticExt, oid, 0, err
	case "cast":
		oid, err = c.castAt(a)
		return oidPgCast, oid, 0, err
	case "collation":
		oid, err = c.collationOid(a.Names)
		return oidPgCollation, oid, 0, err
	case "extension":
		e := c.h.Coll.CurrentDatabase().ExtensionNamed(a.Names[0])
		if e == nil {
			return 0, 0, 0, pgerr.New(pgerr.UndefinedObject, "extension \"%s\" does not exist", a.Names[0])
		}
		return oidPgExtension, e.Oid, 0, nil
	case "table constraint", "default value", "rule", "trigger":
		return c.partOfTable(a)
	}
	return c.relationAt(a)
}

// tablespaceAt finds a tablespace.
func (c *Catalog) tablespaceAt(name string) (uint32, error) {
	for _, t := range tablespaces {
		if t.name == name {
			return t.oid, nil
		}
	}
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return 0, err
	}
	oid := s.tablespaceOid(name)
	if oid == 0 {
		err = pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", name)
	}
	return oid, err
}

// relationAt finds a relation or a column of one.
func (c *Catalog) relationAt(a call.ObjectAddress) (class, oid uint32, sub int32, err error) {
	kind, isColumn := strings.CutSuffix(a.Kind, " column")
	names := a.Names
	if isColumn {
		if len(names) < 2 {
			return 0, 0, 0, pgerr.New(pgerr.SyntaxError, "column name must be qualified")
		}
		names = names[:len(names)-1]
	}
	t, ix, err := c.namedRelation(names)
	if err != nil {
		return 0, 0, 0, err
	}
	oid = t.Oid
	actual, name := relationKinds[relkind(t)], t.Name
	if ix != nil {
		oid, actual, name = ix.Oid, "index", ix.Name
	}
	if actual != kind && !isColumn {
		article := "a"
		if kind == "index" {
			article = "an"
		}
		return 0, 0, 0, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not %s %s", name, article, kind)
	}
	if isColumn {
		column := a.Names[len(names)]
		for _, col := range visibleColumns(t) {
			if ix == nil && col.Name == column {
				return oidPgClass, oid, int32(col.Attnum), nil
			}
		}
		return 0, 0, 0, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", column, name)
	}
	return oidPgClass, oid, 0, nil
}

// namedRelation finds a relation or index by its name, which a schema and a database may precede.
func (c *Catalog) namedRelation(names []string) (*catalog.Table, *catalog.Index, error) {
	last := names[len(names)-1]
	schema := ""
	if len(names) > 1 {
		schema = names[len(names)-2]
	}
	oid, err := c.relationOid(names, schema, last)
	if err != nil {
		return nil, nil, err
	}
	t, ix := c.byOid(oid)
	if t == nil {
		return nil, nil, catalog.UndefinedTable(schema, last)
	}
	return t, ix, nil
}

// partOfTable finds a constraint, a default, a rule or a trigger.
func (c *Catalog) partOfTable(a call.ObjectAddress) (class, oid uint32, sub int32, err error) {
	if len(a.Names) < 2 {
		if a.Kind == "default value" {
			return 0, 0, 0, pgerr.New(pgerr.SyntaxError, "column name must be qualified")
		}
		return 0, 0, 0, pgerr.New(pgerr.SyntaxError, "must specify relation and object name")
	}
	last := a.Names[len(a.Names)-1]
	t, _, err := c.namedRelation(a.Names[:len(a.Names)-1])
	if err != nil {
		return 0, 0, 0, err
	}
	if a.Kind == "default value" {
		for _, col := range visibleColumns(t) {
			if col.Name == last && hasDefault(col) {
				return oidPgAttrdef, attrdefOid(t, col), 0, nil
			}
		}
		return 0, 0, 0, pgerr.New(pgerr.UndefinedColumn, "default value for column \"%s\" of relation \"%s\" does not exist", last, t.Name)
	}
	if a.Kind == "rule" {
		if t.View != nil && last == viewRule {
			return oidPgRewrite, ruleOid(t), 0, nil
		}
		return 0, 0, 0, pgerr.New(pgerr.UndefinedObject, "rule \"%s\" for relation \"%s\" does not exist", last, t.Name)
	}
	if a.Kind == "trigger" {
		if i := t.TriggerByName(last); i >= 0 {
			return oidPgTrigger, t.Triggers[i].Oid, 0, nil
		}
		return 0, 0, 0, pgerr.New(pgerr.UndefinedObject, "trigger \"%s\" for table \"%s\" does not exist", last, t.Name)
	}
	if oid := constraintOf(t, last); oid != 0 {
		return oidPgConstraint, oid, 0, nil
	}
	return 0, 0, 0, pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", last, t.Name)
}

// constraintOf returns the oid of the constraint of t with a name, 0 if there is none.
func constraintOf(t *catalog.Table, name string) uint32 {
	for oid, n := range constraints(t) {
		if n == name {
			return oid
		}
	}
	return 0
}

func (c *Catalog) domainConstraint(a call.ObjectAddress) (class, oid uint32, sub int32, err error) {
	if len(a.Args) != 1 {
		return 0, 0, 0, pgerr.New(pgerr.InvalidParameterValue, "argument list length must be exactly %d", 1)
	}
	if oid, err = c.typeOid(a.Names[0]); err != nil {
		return 0, 0, 0, err
	}
	t, _ := c.TypeByOid(oid)
	if t != nil && t.Def != nil {
		for _, k := range t.Def.Checks {
			if k.Name == a.Args[0] {
				return oidPgConstraint, k.Oid, 0, nil
			}
		}
	}
	return 0, 0, 0, pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for domain %s does not exist", a.Args[0], a.Names[0])
}

// functionAt finds a function by its name and the types of its arguments.
func (c *Catalog) functionAt(a call.ObjectAddress) (uint32, error) {
	oids, err := c.argumentOids(a.Args, false)
	if err != nil {
		return 0, err
	}
	name := a.Names[len(a.Names)-1]
	schema := namePgCatalog
	if len(a.Names) > 1 {
		schema = a.Names[len(a.Names)-2]
	}
	for _, r := range c.routinesNamed(name) {
		if schema == r.schemaName() && hasArguments(r.args, oids) {
			return r.oid, nil
		}
	}
	kind := a.Kind
	if kind == "routine" {
		kind = "function"
	}
	return 0, pgerr.New(pgerr.UndefinedFunction, "%s %s(%s) does not exist", kind, strings.Join(a.Names, "."), strings.Join(a.Args, ", "))
}

// SequenceLastValue implements call.Catalog.
func (c *Catalog) SequenceLastValue(oid uint32) (int64, bool, error) {
	t, ix := c.byOid(oid)
	switch {
	case t == nil:
		return 0, false, pgerr.New(pgerr.UndefinedTable, "could not open relation with OID %d", oid)
	case ix != nil:
		return 0, false, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", ix.Name)
	case t.Kind != catalog.KindSequence:
		return 0, false, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", t.Name)
	}
	return c.h.Coll.Store().SequenceValue(c.ctx(), t)
}

// pgAvailableExtensions lists the extensions that a database may have.
func pgAvailableExtensions(s *snapshot, w *writer) error {
	for _, e := range catalog.Extensions {
		w.str("name", e.Name)
		w.text("default_version", e.Version)
		if s.db.ExtensionNamed(e.Name) != nil {
			w.text("installed_version", e.Version)
		}
		w.text("comment", e.Comment)
		w.done()
	}
	return nil
}

// pgAvailableExtensionVersions lists their versions.
func pgAvailableExtensionVersions(s *snapshot, w *writer) error {
	for _, e := range catalog.Extensions {
		w.str("name", e.Name)
		w.text("version", e.Version)
		w.flag("installed", s.db.ExtensionNamed(e.Name) != nil)
		w.flag("superuser", true)
		w.flag("trusted", !e.Untrusted)
		w.flag("relocatable", e.Oid == 0)
		if e.Oid != 0 {
			w.str("schema", namePgCatalog)
		}
		w.text("comment", e.Comment)
		w.done()
	}
	return nil
}
