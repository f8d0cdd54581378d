package pgcatalog

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// userOperatorRow writes an operator that a user has made.
func (s *snapshot) userOperatorRow(w *writer, t *catalog.Table) {
	def := t.Routine.Operator
	var left uint32
	kind, operands := "l", t.Routine.IdentityTypes()
	if len(operands) == 2 {
		kind, left = "b", operands[0].Oid
	}
	ret := t.Routine.Returns.Oid
	if def.Shell() {
		ret = 0
	}
	schema, _ := s.schemaOf(t)
	w.oid("oid", t.Oid)
	w.str("oprname", t.Name)
	w.oid("oprnamespace", schema)
	w.oid("oprowner", uint32(t.Owner))
	w.str("oprkind", kind)
	w.flag("oprcanmerge", def.Merges)
	w.flag("oprcanhash", def.Hashes)
	w.oid("oprleft", left)
	w.oid("oprright", operands[len(operands)-1].Oid)
	w.oid("oprresult", ret)
	w.oid("oprcom", s.stillOperator(def.Commutator))
	w.oid("oprnegate", s.stillOperator(def.Negator))
	w.oid("oprrest", def.Restrict)
	w.oid("oprjoin", def.Join)
	w.oid("oprcode", def.Function.Oid)
	w.done()
}

// stillOperator is the oid of another operator, 0 if that was dropped.
func (s *snapshot) stillOperator(oid uint32) uint32 {
	if oid >= catalog.FirstUserOid && s.c.userOperator(oid) == nil {
		return 0
	}
	return oid
}

// userOperator returns an operator that a user has made, nil if there is none.
func (c *Catalog) userOperator(oid uint32) *catalog.Table {
	if oid < catalog.FirstUserOid {
		return nil
	}
	if t := c.h.Coll.PeekByOid(c.ctx(), oid); t != nil && t.OwnOperator() {
		return t
	}
	return nil
}

// userOperators returns the operators of a name that users have made, in a schema or in those of the search path.
func (c *Catalog) userOperators(schema, name string) []*catalog.Table {
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return nil
	}
	list, _ := stillCatalog{s}.FindOperators(c.ctx(), schema, name)
	return list
}

// userOperatorName is callableName for an operator that a user has made.
func (c *Catalog) userOperatorName(t *types.T, oid uint32) (string, bool) {
	o := c.userOperator(oid)
	if o == nil {
		return "", false
	}
	name := c.visibleOperator(o)
	if t.Is(types.Regoper) {
		if len(operatorsNamed(o.Name))+len(c.userOperators("", o.Name)) > 1 && name == o.Name {
			name = c.qualifiedOperator(o)
		}
		return name, true
	}
	return name + "(" + strings.Join(c.operandsOf(o), ",") + ")", true
}

// visibleOperator is the name of an operator, with its schema unless the search path and the operands lead to it.
func (c *Catalog) visibleOperator(t *catalog.Table) string {
	for _, o := range operatorsNamed(t.Name) {
		if sameOperands(o, t) {
			return c.qualifiedOperator(t)
		}
	}
	for _, o := range c.userOperators("", t.Name) {
		if o.ID == t.ID {
			return t.Name
		}
	}
	return c.qualifiedOperator(t)
}

func sameOperands(o *call.Overload, t *catalog.Table) bool {
	var oids []uint32
	for _, a := range t.Routine.IdentityTypes() {
		oids = append(oids, a.Oid)
	}
	return hasArguments(o.Args, oids)
}

func (c *Catalog) qualifiedOperator(t *catalog.Table) string {
	if in, ok := c.peekSchema(t.Schema); ok {
		return ast.QuoteIdent(in.Name) + "." + t.Name
	}
	return t.Name
}

// operandsOf are the types of an operator's operands as messages have them.
func (c *Catalog) operandsOf(t *catalog.Table) (list []string) {
	if len(t.Routine.Params) == 1 {
		list = append(list, missingArgument)
	}
	for _, a := range t.Routine.IdentityTypes() {
		list = append(list, types.FormatType(c.qualified(a)))
	}
	return list
}

// operator writes what an operator depends on.
func (d depends) operator(t *catalog.Table) {
	obj := address{oidPgOperator, t.Oid, 0}
	d.inSchema(obj, t)
	def, of := t.Routine.Operator, t.Routine.IdentityTypes()
	if !def.Shell() {
		of = append(of, t.Routine.Returns)
	}
	for i, a := range of {
		if !slices.ContainsFunc(of[:i], a.Is) {
			d.onType(obj, a)
		}
	}
	if def.Function.ID != 0 {
		d.row(obj, address{oidPgProc, def.Function.Oid, 0}, dependNormal)
	}
}

// describeOperator names an operator that a user has made.
func (s *snapshot) describeOperator(oid uint32) (o call.ObjectName, ok bool) {
	t := s.c.userOperator(oid)
	if t == nil {
		return o, false
	}
	schema := s.schemaName(t)
	text, _ := s.c.userOperatorName(types.Regoperator, oid)
	return call.ObjectName{
		Kind: "operator", Schema: ast.QuoteIdent(schema), Name: t.Name,
		Identity: s.c.qualifiedOperator(t) + "(" + strings.Join(s.c.operandsOf(t), ",") + ")", Text: "operator " + text,
	}, true
}
