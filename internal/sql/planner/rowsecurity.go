package planner

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Row-level security: conditions on the rows that are read stand below a plan.Barrier over the scan, those on rows that
// are written are checks. Which policies there are depends on whose privileges count for the relation, and with that
// the plan.

// PolicyColumn names the condition in the query that a policy is stored as.
const PolicyColumn = "policy"

// guard is a table whose policies say what the statement may do with its rows; nil for any other.
type guard struct {
	t    *catalog.Table
	as   privilege.Role // see access.Use.As
	auth *catalog.Authority
}

// guards returns the guard of a table that the statement uses under a name. What DDL rewrites is not restricted.
func (b *builder) guards(t *catalog.Table, name ast.TableName) (*guard, error) {
	if b.env.Stored || name.Schema == rewriteSchema {
		return nil, nil
	}
	c, ok := b.env.Catalog.(access.Roles)
	if ok {
		t = access.Present(c, t)
	}
	switch {
	case !t.RowSecurity:
		return nil, nil
	case !ok:
		return nil, pgerr.Assertion("no roles are known where table \"%s\" is used", t.Name)
	}
	role := b.as
	if role == 0 {
		role = c.User()
	}
	guarded, owner := access.RowsGuarded(c, role, t)
	switch {
	case !guarded:
		return nil, nil
	case b.env.NoRowSecurity:
		err := pgerr.New(pgerr.InsufficientPrivilege, "query would be affected by row-level security policy for table \"%s\"", t.Name)
		if owner {
			err = err.WithHint("To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY.")
		}
		return nil, err
	}
	return &guard{t: t, as: b.as, auth: c.Authority(role)}, nil
}

// readGuarded restricts the rows of an item that a query reads.
func (b *builder) readGuarded(it *item, n plan.Node, name ast.TableName) (plan.Node, error) {
	g, err := b.guards(it.table, name)
	if err != nil || g == nil {
		return n, err
	}
	it.guard, it.wall = g, barrier(n)
	return it.wall, b.restrict(g, it.wall, ast.PolicySelect)
}

// lockGuarded restricts the rows of an item to those that the query may lock, as well.
func (b *builder) lockGuarded(it *item) error {
	if it.guard == nil {
		return nil
	}
	return b.restrict(it.guard, it.wall, ast.PolicyUpdate)
}

// restrict adds the conditions of the policies for some commands below a barrier.
func (b *builder) restrict(g *guard, wall *plan.Barrier, commands ...byte) error {
	ids := plan.IDs(wall.Cols[:len(g.t.Columns)])
	for _, command := range commands {
		permissive, restrictive := access.Policies(g.auth, g.t, command)
		any, err := b.anyPolicy(g, permissive, (*catalog.Policy).Read, ids)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(permissive, func(p *catalog.Policy) bool { return p.Read() != nil }) {
			restrictive = nil // nothing passes anyway
		}
		for _, p := range restrictive {
			if p.Using == nil {
				continue
			}
			x, err := b.policyExpr(g, p.Using, ids)
			if err != nil {
				return err
			}
			wall.Input = filter(wall.Input, x)
		}
		wall.Input = filter(wall.Input, any)
	}
	return nil
}

// changedRows restricts the rows that UPDATE and DELETE look at before anything else is computed for them: by policies, and
// by the conditions of views with security_barrier and of those below. It returns the conditions that are left.
func (b *builder) changedRows(d *dmlSource, kind changeKind, quals []plan.Expr) (plan.Node, []plan.Expr, error) {
	n := d.scan
	if g := d.bottom().guard; g != nil {
		d.wall = barrier(n)
		command := ast.PolicyDelete
		if kind == changeUpdate {
			command = ast.PolicyUpdate
		}
		if err := b.restrict(g, d.wall, command); err != nil {
			return nil, nil, err
		}
		n = d.wall
	}
	i, walled := len(quals), 0 // a view without a condition has none
	for c := d.changed; c.view != nil; c = c.below {
		if walled == 0 && c.rel.View.SecurityBarrier() {
			walled = i
		}
		if c.view.query.Where != nil {
			i--
		}
	}
	if walled == 0 {
		return n, quals, nil
	}
	for _, q := range quals[:walled] {
		n = filter(n, q)
	}
	return barrier(n), quals[walled:], nil
}

// readChanged restricts the rows of UPDATE and DELETE to those that the user sees, if the statement reads any of them.
func (b *builder) readChanged(d *dmlSource) error {
	c := d.bottom()
	if c.guard == nil || !c.use.reads() {
		return nil
	}
	return b.restrict(c.guard, d.wall, ast.PolicySelect)
}

// updateGuarded is what policies demand of the rows that UPDATE writes. One that the statement reads must stay visible.
func (b *builder) updateGuarded(d *dmlSource, row []plan.ColID) ([]plan.CheckExpr, error) {
	g := d.bottom().guard
	if g == nil {
		return nil, nil
	}
	if err := b.readChanged(d); err != nil {
		return nil, err
	}
	return b.writtenGuarded(d.bottom(), ast.PolicyUpdate, row)
}

// writtenGuarded is what policies demand of a row that a command writes.
func (b *builder) writtenGuarded(c *changed, command byte, row []plan.ColID) ([]plan.CheckExpr, error) {
	if c.guard == nil {
		return nil, nil
	}
	out, err := b.policyChecks(c.guard, command, plan.PolicyRule{}, row)
	if err != nil || !c.use.reads() {
		return out, err
	}
	seen, err := b.policyChecks(c.guard, ast.PolicySelect, plan.PolicyRule{Seen: true}, row)
	return append(out, seen...), err
}

// conflictGuarded adds what policies demand of ON CONFLICT DO UPDATE: of the row that is there, and of the one that it becomes.
func (b *builder) conflictGuarded(c *changed, n *plan.Insert) error {
	oc := n.OnConflict
	if c = c.bottom(); c.guard == nil || oc == nil || !oc.Update {
		return nil
	}
	using := plan.PolicyRule{OfUsing: true}
	commands := []byte{ast.PolicyUpdate}
	if c.use.reads() {
		commands = append(commands, ast.PolicySelect)
	}
	for _, command := range commands {
		checks, err := b.policyChecks(c.guard, command, using, oc.Old)
		if err != nil {
			return err
		}
		oc.OldChecks = append(oc.OldChecks, checks...)
	}
	var err error
	oc.NewChecks, err = b.writtenGuarded(c, ast.PolicyUpdate, n.New)
	return err
}

// mergeRows returns the guard of the table that MERGE changes, and what stands for its scan.
func (b *builder) mergeRows(t *catalog.Table, name ast.TableName, scan plan.Node) (*guard, plan.Node, error) {
	g, err := b.guards(t, name)
	if err != nil || g == nil {
		return nil, scan, err
	}
	return g, barrier(scan), nil
}

// mergeGuarded adds what policies let MERGE do: it finds the rows that the user sees, and fails for those that an action may
// not change.
func (b *builder) mergeGuarded(n *plan.Merge, g *guard, u *use, rows plan.Node) error {
	if g == nil {
		return nil
	}
	c := &changed{guard: g, use: u}
	if wall, ok := rows.(*plan.Barrier); ok && u.reads() {
		if err := b.restrict(g, wall, ast.PolicySelect); err != nil {
			return err
		}
	}
	target := plan.PolicyRule{OfUsing: true, OfTarget: true}
	for i := range n.Actions {
		a := &n.Actions[i]
		var err error
		switch a.Kind {
		case plan.MergeInsert:
			a.NewChecks, err = b.policyChecks(g, ast.PolicyInsert, plan.PolicyRule{}, n.New)
		case plan.MergeUpdate:
			if a.OldChecks, err = b.policyChecks(g, ast.PolicyUpdate, target, n.Old); err == nil {
				a.NewChecks, err = b.writtenGuarded(c, ast.PolicyUpdate, n.New)
			}
		case plan.MergeDelete:
			a.OldChecks, err = b.policyChecks(g, ast.PolicyDelete, target, n.Old)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// anyPolicy is the condition that one of some policies holds for a row, false if there is none.
func (b *builder) anyPolicy(g *guard, list []*catalog.Policy, of func(*catalog.Policy) *catalog.View, row []plan.ColID) (plan.Expr, error) {
	var args []plan.Expr
	for _, p := range list {
		v := of(p)
		if v == nil {
			continue
		}
		x, err := b.policyExpr(g, v, row)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	switch len(args) {
	case 0:
		return plan.NewConst(types.Bool, types.NewBool(false)), nil
	case 1:
		return args[0], nil
	}
	return &plan.Or{Args: args}, nil
}

// policyExpr plans a condition of a policy over a row. Subqueries in it have the privileges of who reads the table.
func (b *builder) policyExpr(g *guard, v *catalog.View, row []plan.ColID) (plan.Expr, error) {
	st, err := parser.ParseStored(v.Query)
	if err != nil {
		return nil, err
	}
	q, ok := st.AST.(*ast.Select)
	if !ok || len(q.Items) != 1 || len(q.From) != 1 {
		return nil, pgerr.New(pgerr.DataCorrupted, "a policy of table \"%s\" is not a condition", g.t.Name)
	}
	ref, ok := q.From[0].(*ast.TableRef)
	if !ok {
		return nil, pgerr.New(pgerr.DataCorrupted, "a policy of table \"%s\" is not about its rows", g.t.Name)
	}
	if hasQuery(q.Items[0].X) {
		if slices.Contains(b.policyOf, g.t.ID) {
			return nil, pgerr.New(pgerr.InvalidObjectDefinition, "infinite recursion detected in policy for relation \"%s\"", g.t.Name)
		}
		if err := b.enterQuery(); err != nil {
			return nil, err
		}
		defer b.leaveQuery()
		outer := b.policyOf
		b.policyOf = append(slices.Clip(outer), g.t.ID)
		defer func() { b.policyOf = outer }()
	}
	it, err := b.rowItem(g.t, aliasOf(ref), row)
	if err != nil {
		return nil, err
	}
	defer b.enterPolicy(g, v, q)()
	x, err := b.boolExpr(q.Items[0].X, "POLICY", &scope{clause: clausePolicy, items: []*item{it}})
	return x, withoutPosition(err)
}

// enterPolicy makes the builder read the stored query of a policy, until leave is called.
func (b *builder) enterPolicy(g *guard, v *catalog.View, q ast.Node) (leave func()) {
	env, text, names, view, as := b.env, b.text, b.rowNames, b.view, b.as
	b.env, b.text, b.rowNames, b.view, b.as = env.unnoted(), q, nil, v, g.as
	end := b.trust()
	return func() { end(); b.env, b.text, b.rowNames, b.view, b.as = env, text, names, view, as }
}

// hasQuery reports whether an expression has a subquery.
func hasQuery(x ast.Expr) (found bool) {
	ast.Walk(x, func(n ast.Node) bool {
		_, ok := n.(*ast.Select)
		found = found || ok
		return !found
	})
	return found
}

// policyChecks plans what the policies for a command demand of a row. rule says which of their conditions, and how errors
// word it.
func (b *builder) policyChecks(g *guard, command byte, rule plan.PolicyRule, row []plan.ColID) ([]plan.CheckExpr, error) {
	of := (*catalog.Policy).Written
	if rule.OfUsing || rule.Seen {
		of = (*catalog.Policy).Read
	}
	permissive, restrictive := access.Policies(g.auth, g.t, command)
	any, err := b.anyPolicy(g, permissive, of, row)
	if err != nil {
		return nil, err
	}
	check := func(x plan.Expr, name string) plan.CheckExpr {
		r := rule
		r.Table = g.t.Name
		return plan.CheckExpr{Name: name, Policy: &r, Cond: x}
	}
	permissive = slices.DeleteFunc(permissive, func(p *catalog.Policy) bool { return of(p) == nil })
	out := []plan.CheckExpr{check(any, "")}
	if len(permissive) == 0 {
		return out, nil // which nothing passes
	}
	for _, p := range restrictive {
		if of(p) == nil {
			continue
		}
		x, err := b.policyExpr(g, of(p), row)
		if err != nil {
			return nil, err
		}
		out = append(out, check(x, p.Name))
	}
	return out, nil
}

// CheckPolicy returns an error if x can't be a condition on the rows of t.
func CheckPolicy(ctx context.Context, env *Env, x ast.Expr, t *catalog.Table) error {
	b := &builder{ctx: ctx, env: env, text: x}
	it, err := b.rowItem(t, t.Name, b.freshRow(t))
	if err == nil {
		_, err = b.boolExpr(x, "POLICY", &scope{clause: clausePolicy, items: []*item{it}})
	}
	return err
}
