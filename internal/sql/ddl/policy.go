package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// maxPolicies bounds the policies of a table: its queries have all of them as conditions.
const maxPolicies = 1000

// execPolicy executes the statements about policies.
func execPolicy(ctx context.Context, e *statement.Env, stmt ast.Statement) error {
	switch s := stmt.(type) {
	case *ast.CreatePolicy:
		return createPolicy(ctx, e, s)
	case *ast.AlterPolicy:
		if s.NewName != "" {
			return renamePolicy(ctx, e, s)
		}
		return alterPolicy(ctx, e, s)
	case *ast.DropPolicy:
		return dropPolicy(ctx, e, s)
	}
	return pgerr.Unsupported("%s is not supported", stmt.Tag())
}

// lockPolicies locks a table whose policies change, and returns a copy; nil, and a notice, if there is none and that is no error.
func lockPolicies(ctx context.Context, e *statement.Env, n ast.TableName, ifExists bool) (*catalog.Table, error) {
	t, index, err := e.LockRelationTo(ctx, n, e.Owns)
	switch {
	case err != nil:
		return nil, err
	case t == nil && ifExists:
		e.Skip(pgerr.SuccessfulCompletion, "relation \"%s\" does not exist, skipping", n.Table)
		return nil, nil
	case t == nil:
		return nil, e.UndefinedRelation(ctx, n)
	case index || t.Kind != catalog.KindTable || t.Materialized():
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table", n.Table)
	}
	return t.Clone(), nil
}

func createPolicy(ctx context.Context, e *statement.Env, st *ast.CreatePolicy) error {
	p := catalog.Policy{Name: st.Name, Restrictive: st.As == "restrictive", Command: st.Command}
	if p.Command == 0 {
		p.Command = ast.PolicyAll
	}
	switch {
	case st.Check != nil && (p.Command == ast.PolicySelect || p.Command == ast.PolicyDelete):
		return pgerr.New(pgerr.SyntaxError, "WITH CHECK cannot be applied to SELECT or DELETE")
	case st.Using != nil && p.Command == ast.PolicyInsert:
		return pgerr.New(pgerr.SyntaxError, "only WITH CHECK expression allowed for INSERT")
	}
	var err error
	if p.Roles, err = policyRoles(e, st.Roles); err != nil {
		return err
	}
	t, err := lockPolicies(ctx, e, st.Table, false)
	switch {
	case err != nil:
		return err
	case t.PolicyByName(st.Name) >= 0:
		return policyExists(t, st.Name)
	case len(t.Policies) >= maxPolicies:
		return pgerr.New(pgerr.ProgramLimitExceeded, "a table can have no more than %d policies", maxPolicies)
	}
	if p.Using, err = policyQuery(ctx, e, t, st.Using); err != nil {
		return err
	}
	if p.Check, err = policyQuery(ctx, e, t, st.Check); err != nil {
		return err
	}
	if p.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	t.AddPolicy(p)
	return e.Coll.Put(ctx, t)
}

func policyExists(t *catalog.Table, name ast.Name) error {
	return pgerr.New(pgerr.DuplicateObject, "policy \"%s\" for table \"%s\" already exists", name, t.Name)
}

func noPolicy(t *catalog.Table, name ast.Name) error {
	return pgerr.New(pgerr.UndefinedObject, "policy \"%s\" for table \"%s\" does not exist", name, t.Name)
}

// policyRoles are the roles that a policy is for.
func policyRoles(e *statement.Env, list []ast.RoleSpec) ([]privilege.Role, error) {
	var out []privilege.Role
	for i := range list {
		r, err := e.RoleOf(&list[i], true)
		switch {
		case err != nil:
			return nil, err
		case r == nil && len(list) > 1:
			e.Notify("WARNING", pgerr.New(pgerr.Warning, "ignoring specified roles other than PUBLIC").WithHint("All roles are members of the PUBLIC role."))
			return []privilege.Role{privilege.Public}, nil
		case r != nil:
			out = append(out, r.Oid)
		}
	}
	if out == nil {
		out = []privilege.Role{privilege.Public}
	}
	return out, nil
}

// policyQuery makes the stored form of a condition of a policy of t.
func policyQuery(ctx context.Context, e *statement.Env, t *catalog.Table, x ast.Expr) (*catalog.View, error) {
	if x == nil {
		return nil, nil
	}
	env := storedtext.PlannerEnv(e, e.Coll)
	env.Stored = true
	if err := planner.CheckPolicy(ctx, env, x, t); err != nil {
		return nil, err
	}
	q := &ast.Select{
		Items: []ast.SelectItem{{X: x, Alias: planner.PolicyColumn}},
		From:  []ast.TableExpr{&ast.TableRef{Name: e.NameOf(ctx, t)}},
	}
	prep, _, err := relations.Noted(ctx, e, q, nil)
	if err != nil {
		return nil, err
	}
	return relations.ViewQuery(ctx, e, q, prep)
}

func alterPolicy(ctx context.Context, e *statement.Env, st *ast.AlterPolicy) error {
	var roles []privilege.Role
	var err error
	if st.Roles != nil {
		if roles, err = policyRoles(e, st.Roles); err != nil {
			return err
		}
	}
	t, err := lockPolicies(ctx, e, st.Table, false)
	if err != nil {
		return err
	}
	i := t.PolicyByName(st.Name)
	if i < 0 {
		return noPolicy(t, st.Name)
	}
	p := &t.Policies[i]
	switch {
	case st.Check != nil && (p.Command == ast.PolicySelect || p.Command == ast.PolicyDelete):
		return pgerr.New(pgerr.SyntaxError, "only USING expression allowed for SELECT, DELETE")
	case st.Using != nil && p.Command == ast.PolicyInsert:
		return pgerr.New(pgerr.SyntaxError, "only WITH CHECK expression allowed for INSERT")
	}
	if roles != nil {
		p.Roles = roles
	}
	for _, c := range [...]struct {
		to **catalog.View
		x  ast.Expr
	}{{&p.Using, st.Using}, {&p.Check, st.Check}} {
		v, err := policyQuery(ctx, e, t, c.x)
		if err != nil {
			return err
		}
		if v != nil {
			*c.to = v
		}
	}
	return e.Coll.Put(ctx, t)
}

func renamePolicy(ctx context.Context, e *statement.Env, st *ast.AlterPolicy) error {
	t, err := lockPolicies(ctx, e, st.Table, st.IfExists)
	if err != nil || t == nil {
		return err
	}
	i := t.PolicyByName(st.Name)
	switch {
	case t.PolicyByName(st.NewName) >= 0:
		return policyExists(t, st.NewName)
	case i < 0:
		return noPolicy(t, st.Name)
	}
	p := t.Policies[i]
	p.Name = st.NewName
	t.Policies = append(t.Policies[:i:i], t.Policies[i+1:]...)
	t.AddPolicy(p)
	return e.Coll.Put(ctx, t)
}

func dropPolicy(ctx context.Context, e *statement.Env, st *ast.DropPolicy) error {
	t, err := lockPolicies(ctx, e, st.Table, st.IfExists)
	if err != nil || t == nil {
		return err
	}
	i := t.PolicyByName(st.Name)
	switch {
	case i < 0 && st.IfExists:
		e.Skip(pgerr.SuccessfulCompletion, "policy \"%s\" for relation \"%s\" does not exist, skipping", st.Name, t.Name)
		return nil
	case i < 0:
		return noPolicy(t, st.Name)
	}
	t.Policies = append(t.Policies[:i:i], t.Policies[i+1:]...)
	return e.Coll.Put(ctx, t)
}

// commentPolicy is COMMENT ON POLICY.
func commentPolicy(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	t, err := lockPolicies(ctx, e, qualified(st.On, st.Loc), false)
	if err != nil {
		return err
	}
	i := t.PolicyByName(st.Name[0])
	if i < 0 {
		return noPolicy(t, st.Name[0])
	}
	t.Policies[i].Comment = st.Text
	return e.Coll.Put(ctx, t)
}
