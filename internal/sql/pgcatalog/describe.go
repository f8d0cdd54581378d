package pgcatalog

import (
	"iter"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// relationKinds name the kinds of relations.
var relationKinds = map[string]string{
	"r": "table", "v": "view", "m": "materialized view", "S": "sequence", "c": "composite type",
}

// DescribeObject implements call.Catalog, for the catalogs whose objects users make or
// refer to.
func (c *Catalog) DescribeObject(class, oid uint32, sub int32) (o call.ObjectName, ok bool, err error) {
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return o, false, err
	}
	switch class {
	case oidPgClass:
		o, ok = s.describeRelation(oid, sub)
	case oidPgType:
		o, ok = s.describeType(oid)
	case oidPgConstraint:
		o, ok = s.describeConstraint(oid)
	case oidPgTrigger:
		o, ok = s.describeTrigger(oid)
	case oidPgAttrdef:
		o, ok = s.describeDefault(oid)
	case oidPgProc:
		o, ok = s.describeFunction(oid)
	case oidPgOperator:
		o, ok = s.describeOperator(oid)
	case oidPgStatisticExt:
		o, ok = s.describeExtended(oid)
	case oidPgCast:
		o, ok = s.describeCast(oid)
	case oidPgRewrite:
		o, ok = s.describeRule(oid)
	case oidPgCollation:
		o, ok = s.describeCollation(oid)
	case oidPgTablespace:
		o, ok = s.describeTablespace(oid)
	case oidPgExtension:
		for _, e := range s.db.Installed() {
			if e.Oid == oid {
				return plainName("extension", e.Name), true, nil
			}
		}
	case oidPgEvent:
		for _, g := range s.db.EventTriggers {
			if g.Oid == oid {
				return plainName("event trigger", g.Name), true, nil
			}
		}
	case oidPgNamespace:
		if x := s.schemaByOid(oid); x != nil {
			return plainName("schema", x.Name), true, nil
		}
	case oidPgDatabase:
		if d, ok := s.c.h.Coll.PeekOwner(oid).(*catalog.Database); ok {
			return plainName("database", d.Name), true, nil
		}
	case oidPgAuthid:
		if r := s.c.h.Coll.RoleByOid(privilege.Role(oid)); r != nil {
			return plainName("role", r.Name), true, nil
		}
	}
	if !ok {
		o = call.ObjectName{Kind: missingKinds[class]}
	}
	return o, ok, nil
}

// plainName is the name of what is in no schema.
func plainName(kind, name string) call.ObjectName {
	return call.ObjectName{Kind: kind, Name: ast.QuoteIdent(name), Identity: ast.QuoteIdent(name), Text: kind + " " + name}
}

// relationByOid finds a relation, the table of an index, or a composite type as a relation.
func (s *snapshot) relationByOid(oid uint32) (*catalog.Table, *catalog.Index) {
	if d := s.ownerOf(oid); d != nil && d.Kind == catalog.KindType && d.Oid == oid {
		return compositeRelation(d), nil
	}
	return s.c.byOid(oid)
}

// describeRelation describes a relation or an index, or a column of one.
func (s *snapshot) describeRelation(oid uint32, sub int32) (call.ObjectName, bool) {
	t, ix := s.relationByOid(oid)
	if t == nil {
		return call.ObjectName{}, false
	}
	kind, name := relationKinds[relkind(t)], t.Name
	if ix != nil {
		kind, name = "index", ix.Name
	}
	o := call.ObjectName{Kind: kind, Schema: ast.QuoteIdent(s.schemaName(t)), Name: ast.QuoteIdent(name)}
	o.Identity = o.Schema + "." + o.Name
	o.Text = kind + " " + o.Identity
	if s.c.visible(t, name) {
		o.Text = kind + " " + o.Name
	}
	if sub == 0 {
		return o, true
	}
	column, ok := columnNumbered(t, ix, sub)
	o.Kind += " column"
	o.Identity += "." + ast.QuoteIdent(column)
	o.Text = "column " + column + " of " + o.Text
	return o, ok
}

// columnNumbered returns the name of a column of a relation, or of an index of it.
func columnNumbered(t *catalog.Table, ix *catalog.Index, num int32) (string, bool) {
	if ix != nil {
		if cols := indexAttributes(t, ix); num > 0 && int(num) <= len(cols) {
			return cols[num-1].Name, true
		}
		return "", false
	}
	for _, c := range visibleColumns(t) {
		if int32(c.Attnum) == num {
			return c.Name, true
		}
	}
	return "", false
}

func (s *snapshot) describeType(oid uint32) (call.ObjectName, bool) {
	t, ok := s.c.TypeByOid(oid)
	if !ok {
		return call.ObjectName{}, false
	}
	return call.ObjectName{
		Kind: "type", Schema: ast.QuoteIdent(s.typeSchema(t)), Name: ast.QuoteIdent(s.typname(t)),
		Identity: s.typeIdentity(t), Text: "type " + t.SQLName,
	}, true
}

// standardTypes are types of the SQL standard whose names are those of PostgreSQL.
var standardTypes = []uint32{types.Bit.Oid, types.Interval.Oid, types.Numeric.Oid}

// typeIdentity is the name of a type on any search path: with its schema unless the grammar
// knows it.
func (s *snapshot) typeIdentity(t *types.T) string {
	switch {
	case t.Def == nil && t.Elem != nil && t.Elem.Oid != 0 && strings.HasSuffix(t.SQLName, "[]"):
		return s.typeIdentity(t.Elem.Shown()) + "[]"
	case t.Def == nil && (t.SQLName != ast.QuoteIdent(t.Name) || slices.Contains(standardTypes, t.Oid)):
		return t.SQLName
	}
	return ast.QuoteIdent(s.typeSchema(t)) + "." + ast.QuoteIdent(t.Name)
}

func (s *snapshot) describeFunction(oid uint32) (call.ObjectName, bool) {
	text, ok := s.c.callableName(types.Regprocedure, oid)
	if r := s.c.routineByOid(oid); r != nil && r.user != nil {
		kind, word := "function", "function"
		switch r.kind {
		case 'p':
			kind, word = "procedure", "procedure"
		case 'a':
			kind = "aggregate"
		}
		args := make([]string, len(r.args))
		for i, a := range r.args {
			args[i] = s.typeIdentity(a)
		}
		identity := ast.QuoteIdent(r.schemaText) + "." + ast.QuoteIdent(r.name) + "(" + strings.Join(args, ",") + ")"
		return call.ObjectName{Kind: kind, Schema: r.schemaText, Identity: identity, Text: word + " " + text}, true
	}
	return call.ObjectName{Kind: "function", Schema: namePgCatalog, Identity: namePgCatalog + "." + text, Text: "function " + text}, ok
}

func (s *snapshot) describeConstraint(oid uint32) (call.ObjectName, bool) {
	t := s.ownerOf(oid)
	switch {
	case t == nil:
	case t.Kind == catalog.KindType:
		for _, k := range t.UserType.Def.Checks {
			if k.Oid == oid {
				on, _ := s.describeType(t.Oid)
				return call.ObjectName{
					Kind: "domain constraint", Schema: on.Schema, Identity: ast.QuoteIdent(k.Name) + " on " + on.Identity,
					Text: "constraint " + k.Name,
				}, true
			}
		}
	default:
		if name := constraintNamed(t, oid); name != "" {
			on, _ := s.describeRelation(t.Oid, 0)
			return call.ObjectName{
				Kind: "table constraint", Schema: on.Schema, Identity: ast.QuoteIdent(name) + " on " + on.Identity,
				Text: "constraint " + name + " on " + on.Text,
			}, true
		}
	}
	return call.ObjectName{}, false
}

// constraintNamed returns the name of a constraint of t, "" if it has none of that oid.
func constraintNamed(t *catalog.Table, oid uint32) string {
	for o, name := range constraints(t) {
		if o == oid {
			return name
		}
	}
	return ""
}

// constraints yields the oids and names of the constraints of t.
func constraints(t *catalog.Table) iter.Seq2[uint32, string] {
	return func(yield func(uint32, string) bool) {
		for _, ix := range visibleIndexes(t) {
			if ix.Constraint && !yield(ix.ConstraintOid, ix.ConstraintName) {
				return
			}
		}
		for i := range t.Checks {
			if !yield(t.Checks[i].Oid, t.Checks[i].Name) {
				return
			}
		}
		for i := range t.ForeignKeys {
			if !yield(t.ForeignKeys[i].Oid, t.ForeignKeys[i].Name) {
				return
			}
		}
		for i := range t.Triggers {
			if g := &t.Triggers[i]; g.ConstraintOid != 0 && !yield(g.ConstraintOid, g.Name) {
				return
			}
		}
	}
}

func (s *snapshot) describeDefault(oid uint32) (call.ObjectName, bool) {
	t, c := s.defaultByOid(oid)
	if t == nil {
		return call.ObjectName{}, false
	}
	o, ok := s.describeRelation(t.Oid, int32(c.Attnum))
	return call.ObjectName{Kind: "default value", Identity: "for " + o.Identity, Text: "default value for " + o.Text}, ok
}

// SequenceParameters implements call.Catalog.
func (c *Catalog) SequenceParameters(oid uint32) ([]types.Datum, error) {
	t, ix := c.byOid(oid)
	if t == nil {
		return nil, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
	}
	if ix != nil || t.Kind != catalog.KindSequence {
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", t.Name)
	}
	q := t.Sequence
	return []types.Datum{
		types.NewInt(q.Start), types.NewInt(q.Min), types.NewInt(q.Max), types.NewInt(q.Increment), types.NewBool(q.Cycle),
		types.NewInt(q.Cache), types.NewInt(int64(q.Type.Oid)),
	}, nil
}

// IndexKeys implements call.Catalog.
func (c *Catalog) IndexKeys(oid uint32) (method uint32, keys []call.KeyOrder, included int, ok bool) {
	t, ix := c.byOid(oid)
	if t == nil || ix == nil {
		return 0, nil, 0, false
	}
	for _, k := range ix.Columns {
		keys = append(keys, call.KeyOrder{Desc: k.Desc, NullsFirst: k.NullsFirst})
	}
	return methodOIDs[ix.Method()], keys, len(ix.Stored), true
}

func (s *snapshot) describeRule(oid uint32) (call.ObjectName, bool) {
	t := s.viewByRule(oid)
	if t == nil {
		return call.ObjectName{}, false
	}
	on, ok := s.describeRelation(t.Oid, 0)
	return call.ObjectName{
		Kind: "rule", Identity: ast.QuoteIdent(viewRule) + " on " + on.Identity, Text: "rule " + viewRule + " on " + on.Text,
	}, ok
}

func (s *snapshot) describeCollation(oid uint32) (call.ObjectName, bool) {
	text, ok := s.c.collationByOid(oid)
	if !ok {
		return call.ObjectName{}, false
	}
	o := call.ObjectName{Kind: "collation", Schema: namePgCatalog, Text: "collation " + text}
	if l := types.CollationByOid(oid); l != nil {
		o.Name = ast.QuoteIdent(l.Name)
	} else if t := s.ownerOf(oid); t != nil {
		o.Schema, o.Name = ast.QuoteIdent(s.schemaName(t)), ast.QuoteIdent(t.Name)
	}
	o.Identity = o.Schema + "." + o.Name
	return o, true
}

func (s *snapshot) describeTablespace(oid uint32) (call.ObjectName, bool) {
	for _, t := range tablespaces {
		if t.oid == oid {
			return plainName("tablespace", t.name), true
		}
	}
	own, _ := s.c.h.Coll.Tablespaces(s.ctx) // who reads them next meets the error
	for i := range own {
		if own[i].Oid == oid {
			return plainName("tablespace", own[i].Name), true
		}
	}
	return call.ObjectName{}, false
}
