package alter

import (
	"context"
	"errors"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// droppedPolicy is a policy that refers to something dropped.
type droppedPolicy struct {
	table catalog.ID // whose it is
	oid   uint32
	text  string
	on    string
}

// describePolicy names a policy in messages.
func describePolicy(ctx context.Context, e *statement.Env, t *catalog.Table, p *catalog.Policy) string {
	return "policy " + ast.QuoteIdent(p.Name) + " on " + e.Describe(ctx, t)
}

// policyUses reports whether a condition of a policy has a relation, and if column is not 0 that column of it.
func policyUses(p *catalog.Policy, table catalog.ID, column catalog.ColumnID) bool {
	return slices.ContainsFunc(p.Queries(), func(v **catalog.View) bool {
		i := slices.Index((*v).Uses, table)
		return i >= 0 && (column == 0 || slices.Contains((*v).UsesColumns[i], column))
	})
}

// policiesOf notes the policies of o that go with something dropped.
func (d *dropper) policiesOf(ctx context.Context, o *catalog.Table, on string, uses func(*catalog.Policy) bool) {
	for i := range o.Policies {
		p := &o.Policies[i]
		noted := slices.ContainsFunc(d.policies, func(x droppedPolicy) bool { return x.oid == p.Oid })
		if !noted && uses(p) {
			d.policies = append(d.policies, droppedPolicy{o.ID, p.Oid, describePolicy(ctx, d.e, o, p), on})
		}
	}
}

// dropPolicies drops those whose tables stay.
func (d *dropper) dropPolicies(ctx context.Context) error {
	for _, x := range d.policies {
		if d.in[x.table] {
			continue
		}
		t, err := d.e.LockByID(ctx, x.table)
		if err != nil {
			return err
		}
		t.Policies = slices.DeleteFunc(t.Policies, func(p catalog.Policy) bool { return p.Oid == x.oid })
		if err := d.e.Coll.Put(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// dropColumnPolicies drops, with CASCADE, the policies that use a column that is dropped.
func (a *Alteration) dropColumnPolicies(ctx context.Context, col *catalog.Column, cascade bool) error {
	all, err := a.E.TablesOf(ctx, a.T.Database)
	if err != nil {
		return err
	}
	d := newDropper(a.E, cascade)
	d.target(a.T)
	on := "column " + col.Name + " of " + a.E.Describe(ctx, a.T)
	uses := func(p *catalog.Policy) bool { return policyUses(p, a.T.ID, col.ID) }
	for _, o := range all {
		d.policiesOf(ctx, o, on, uses)
	}
	delete(d.in, a.T.ID) // which stays
	if len(d.policies) == 0 {
		return nil
	}
	if err := d.report(ctx); err != nil {
		if pe := new(pgerr.Error); errors.As(err, &pe) {
			pe.Message = "cannot drop " + on + " because other objects depend on it"
		}
		return err
	}
	a.T.Policies = slices.DeleteFunc(a.T.Policies, func(p catalog.Policy) bool { return uses(&p) })
	d.in[a.T.ID] = true
	return d.dropPolicies(ctx)
}

// unpolicedColumn fails if a policy uses the column.
func (a *Alteration) unpolicedColumn(ctx context.Context, col *catalog.Column) error {
	table, id, name := a.T, col.ID, col.Name
	return a.E.CheckAgain(ctx, func(ctx context.Context) error {
		all, err := a.E.TablesOf(ctx, table.Database)
		if err != nil {
			return err
		}
		for _, o := range all {
			for i := range o.Policies {
				if p := &o.Policies[i]; policyUses(p, table.ID, id) {
					return pgerr.Unsupported("cannot alter type of a column used in a policy definition").
						WithDetail("%s depends on column \"%s\"", describePolicy(ctx, a.E, o, p), name)
				}
			}
		}
		return nil
	})
}

// rewritePolicies is rewriteViews for the conditions of policies that use the relation. Those of its own change in a.T.
func (a *Alteration) rewritePolicies(ctx context.Context, change func(v *catalog.Table, q *ast.Select, notes *planner.Notes) bool) ([]*catalog.Table, error) {
	all, err := a.E.TablesOf(ctx, a.T.Database)
	if err != nil {
		return nil, err
	}
	var out []*catalog.Table
	for _, o := range all {
		if !slices.ContainsFunc(o.Policies, func(p catalog.Policy) bool { return policyUses(&p, a.T.ID, 0) }) {
			continue
		}
		if o.ID == a.T.ID {
			o = a.T
		} else if o, err = a.E.LockByID(ctx, o.ID); err != nil {
			return nil, err
		}
		changed := false
		for i := range o.Policies {
			for _, v := range o.Policies[i].Queries() {
				q, notes, err := relations.ReadView(ctx, a.E, *v)
				if err != nil {
					return nil, err
				}
				if change(o, q, notes) {
					(*v).Query, changed = ast.Format(q), true
				}
			}
		}
		if changed && o != a.T {
			out = append(out, o)
		}
	}
	return out, nil
}
