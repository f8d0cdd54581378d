package pgcatalog

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// byOid finds a relation, or the table of an index, without pinning it.
func (c *Catalog) byOid(oid uint32) (t *catalog.Table, ix *catalog.Index) {
	t = c.h.Coll.PeekByOid(c.ctx(), oid)
	if t == nil || t.Oid == oid {
		return t, nil
	}
	for i := range t.Indexes {
		if t.Indexes[i].Oid == oid {
			return t, t.Declared(&t.Indexes[i])
		}
	}
	return nil, nil
}

// relationName prints a regclass: with the schema if the search path does not
// find it.
func (c *Catalog) relationName(oid uint32) (string, bool) {
	t, ix := c.byOid(oid)
	if t == nil {
		return "", false
	}
	name := t.Name
	if ix != nil {
		name = ix.Name
	}
	if c.visible(t, name) {
		return ast.QuoteIdent(name), true
	}
	schema := ""
	if d, err := c.h.Coll.Peek(c.ctx(), t.Schema); err == nil && d != nil {
		schema = d.Ident().Name
	}
	return ast.QuoteIdent(schema) + "." + ast.QuoteIdent(name), true
}

// visible reports whether the search path finds t, or its index, by the name.
func (c *Catalog) visible(t *catalog.Table, name string) bool {
	peek := c.h.Coll.PeekRelation
	if t.Kind == catalog.KindType {
		peek = c.h.Coll.PeekType
	}
	found := peek(c.ctx(), name)
	return found != nil && found.ID == t.ID
}

// qualified returns a type with the name by which SQL finds it: with its schema where
// the search path does not lead to it.
func (c *Catalog) qualified(t *types.T) *types.T { return catalog.Qualified(c.ctx(), c.h.Coll, t) }

// NameOf implements types.Names.
func (c *Catalog) NameOf(t *types.T, oid uint32) (string, bool) {
	switch t.Oid {
	case types.Regclass.Oid:
		return c.relationName(oid)
	case types.Regnamespace.Oid:
		if s, err := c.snapshot(c.ctx()); err == nil {
			if x := s.schemaByOid(oid); x != nil {
				return ast.QuoteIdent(x.Name), true
			}
		}
	case types.Regproc.Oid:
		if r := c.routineByOid(oid); r != nil {
			return c.routineName(r), true
		}
	case types.Regprocedure.Oid, types.Regoper.Oid, types.Regoperator.Oid:
		return c.callableName(t, oid)
	case types.Regrole.Oid:
		if r := c.h.Coll.RoleByOid(privilege.Role(oid)); r != nil {
			return ast.QuoteIdent(r.Name), true
		}
	case types.Regcollation.Oid:
		return c.collationByOid(oid)
	case types.Regtype.Oid:
		if ty, ok := types.ByOid(oid); ok {
			return c.qualified(ty).SQLName, true
		}
		if ty := c.h.Coll.PeekTypeByOid(c.ctx(), oid); ty != nil {
			return c.qualified(ty).SQLName, true
		}
		if t, ix := c.byOid(oid); t != nil && ix == nil { // a row type
			return c.relationName(oid)
		}
	}
	return "", false
}

// OidOf implements types.Names.
func (c *Catalog) OidOf(t *types.T, name string) (uint32, error) {
	switch t.Oid {
	case types.Regtype.Oid:
		return c.typeOid(name)
	case types.Regprocedure.Oid:
		return c.procedureOid(name)
	case types.Regoper.Oid:
		return c.operatorOid(name)
	case types.Regoperator.Oid:
		return c.operatorWithOid(name)
	}
	parts, err := parts(name)
	if err != nil {
		return 0, err
	}
	last := parts[len(parts)-1]
	schema := ""
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	switch t.Oid {
	case types.Regclass.Oid, types.Regproc.Oid, types.Regcollation.Oid:
		if err := c.checkSchema(schema); err != nil {
			return 0, err
		}
	case types.Regnamespace.Oid, types.Regrole.Oid: // are in no schema
		if schema != "" {
			return 0, pgerr.New(pgerr.InvalidName, "invalid name syntax")
		}
	}
	switch t.Oid {
	case types.Regclass.Oid:
		return c.relationOid(parts, schema, last)
	case types.Regnamespace.Oid:
		return c.schemaOid(last)
	case types.Regproc.Oid:
		return c.functionOid(schema, last)
	case types.Regrole.Oid:
		if r := c.h.Coll.RoleByName(last); r != nil {
			return uint32(r.Oid), nil
		}
		return 0, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", last)
	case types.Regcollation.Oid:
		return c.collationOid(parts)
	}
	return 0, pgerr.New(pgerr.UndefinedObject, "\"%s\" does not exist", name)
}

func (c *Catalog) schemaOid(name string) (uint32, error) {
	s, err := c.h.Coll.FindSchema(c.ctx(), name)
	if err != nil {
		return 0, err
	}
	if s == nil {
		return 0, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
	}
	return s.Oid, nil
}

// checkSchema returns an error if a name is said to be in a schema that does not exist.
func (c *Catalog) checkSchema(name string) error {
	if name == "" {
		return nil
	}
	_, err := c.schemaOid(name)
	return err
}

func (c *Catalog) relationOid(parts []string, schema, name string) (uint32, error) {
	database := ""
	if len(parts) > 2 {
		database = parts[len(parts)-3]
	}
	t, index, err := c.h.Coll.FindRelation(c.ctx(), database, schema, name)
	if err != nil {
		return 0, err
	}
	if t == nil {
		return 0, catalog.UndefinedTable(schema, name)
	}
	if index {
		if ix := t.IndexByName(name); ix != nil {
			return ix.Oid, nil
		}
	}
	return t.Oid, nil
}

func (c *Catalog) functionOid(schema, name string) (uint32, error) {
	var found []*routine
	for _, r := range c.routinesNamed(name) {
		if schema == "" && c.onPath(r) || schema == r.schemaName() {
			found = append(found, r)
		}
	}
	switch {
	case len(found) > 1:
		return 0, pgerr.New(pgerr.AmbiguousFunction, "more than one function named \"%s\"", name)
	case len(found) == 1:
		return found[0].oid, nil
	}
	return 0, pgerr.New(pgerr.UndefinedFunction, "function \"%s\" does not exist", name)
}

func (c *Catalog) typeOid(name string) (uint32, error) {
	tn, err := parser.ParseTypeName(name)
	if err != nil {
		e := *pgerr.From(err)
		e.Context = "invalid type name \"" + name + "\""
		return 0, withinName(&e)
	}
	t, err := planner.FindType(c.ctx(), tn, 4, c.h.Coll)
	if err != nil {
		return 0, withinName(err)
	}
	return t.Oid, nil
}

// withinName returns an error without its position, which counts from the begin of a type's name
// and not of the statement.
func withinName(err error) error {
	e := *pgerr.From(err)
	e.Position = 0
	return &e
}

// parts splits a possibly quoted, qualified name.
func parts(s string) ([]string, error) {
	x, err := parser.ParseExpr(s)
	if err == nil {
		if ref, ok := x.(*ast.ColumnRef); ok && !ref.Star {
			var out []string
			for _, p := range [...]string{ref.Catalog, ref.Schema, ref.Table, ref.Column} {
				if p != "" {
					out = append(out, p)
				}
			}
			return out, nil
		}
	}
	// Words that are keywords elsewhere are names here.
	if s != "" && !strings.ContainsAny(s, "\"'(), \t\n") {
		return strings.Split(strings.ToLower(s), "."), nil
	}
	return nil, pgerr.New(pgerr.InvalidName, "invalid name syntax")
}

// LookupReg implements call.Catalog.
func (c *Catalog) LookupReg(typ *types.T, name string) (uint32, bool, error) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n), true, nil
	}
	oid, err := c.OidOf(typ, name)
	switch pgerr.CodeOf(err) {
	case "":
		return oid, true, nil
	case pgerr.UndefinedTable, pgerr.InvalidSchemaName, pgerr.UndefinedFunction, pgerr.UndefinedObject, pgerr.AmbiguousFunction:
		return 0, false, nil
	}
	return 0, false, err
}
