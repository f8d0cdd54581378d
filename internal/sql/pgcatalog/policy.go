package pgcatalog

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// policyText prints a condition of a policy, "" for none: what the query that it is stored as selects.
func (s *snapshot) policyText(v *catalog.View) string {
	if v == nil {
		return ""
	}
	out, err := s.deparser().Condition(s.ctx, v)
	if err == nil {
		return out
	}
	out = strings.TrimPrefix(s.exprText(v.Query), "SELECT ")
	if i := strings.LastIndex(out, " AS "+planner.PolicyColumn); i >= 0 {
		out = out[:i]
	}
	return out
}

// pgPolicy lists the policies.
func pgPolicy(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		for i := range t.Policies {
			p := &t.Policies[i]
			if !w.wants("oid", p.Oid) || !w.wants("polrelid", t.Oid) {
				continue
			}
			w.oid("oid", p.Oid)
			w.str("polname", p.Name)
			w.oid("polrelid", t.Oid)
			w.str("polcmd", string(p.Command))
			w.flag("polpermissive", !p.Restrictive)
			list := make([]uint32, len(p.Roles))
			for j, r := range p.Roles {
				list[j] = uint32(r)
			}
			w.set("polroles", oids(list))
			s.policyConditions(w, p, "polqual", "polwithcheck")
			w.done()
		}
	}
	return nil
}

// policyConditions sets the columns of a policy's conditions.
func (s *snapshot) policyConditions(w *writer, p *catalog.Policy, using, check string) {
	if w.computes(using) {
		w.text(using, s.policyText(p.Using))
	}
	if w.computes(check) {
		w.text(check, s.policyText(p.Check))
	}
}

// pgPolicies is the view of policies.
func pgPolicies(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		for i := range t.Policies {
			p := &t.Policies[i]
			w.str("schemaname", s.schemaName(t))
			w.str("tablename", t.Name)
			w.str("policyname", p.Name)
			w.str("permissive", map[bool]string{true: "RESTRICTIVE", false: "PERMISSIVE"}[p.Restrictive])
			names := make([]string, len(p.Roles))
			for j, r := range p.Roles {
				names[j] = "public"
				if r != privilege.Public {
					names[j] = s.roleName(r)
				}
			}
			w.set("roles", texts(names))
			w.str("cmd", ast.PolicyCommand(p.Command))
			s.policyConditions(w, p, "qual", "with_check")
			w.done()
		}
	}
	return nil
}

// RowSecurityActive implements call.Catalog.
func (c *Catalog) RowSecurityActive(name string, oid uint32) (active, ok bool, err error) {
	if name != "" {
		if oid, err = c.OidOf(types.Regclass, name); err != nil {
			return false, false, err
		}
	}
	t, _ := c.byOid(oid)
	if t == nil {
		return false, false, nil
	}
	active, _ = access.RowsGuarded(c.h.Coll, c.h.Coll.User(), t)
	return active, true, nil
}

// policies writes what the policies of a table depend on: with the table they go.
func (d depends) policies(t *catalog.Table) {
	for i := range t.Policies {
		p := &t.Policies[i]
		obj := address{oidPgPolicy, p.Oid, 0}
		d.row(obj, address{oidPgClass, t.Oid, 0}, dependAuto)
		for _, v := range p.Queries() {
			if d.wants(obj) {
				d.rows(obj, d.s.viewReferences(*v), t.Oid, "")
			}
		}
	}
}
