package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

func errNotDomain(t *catalog.Table) error {
	return pgerr.New(pgerr.WrongObjectType, "%s is not a domain", t.UserType.SQLName)
}

// AlterDomain is ALTER DOMAIN. Values that are there are checked before the domain is
// changed, while the tables that have them are locked.
func AlterDomain(ctx context.Context, e *statement.Env, st *ast.AlterDomain) error {
	t, err := LockExisting(ctx, e, st.Name, "a domain")
	if err != nil {
		return err
	}
	if t.UserType.Def.Kind != types.DefDomain {
		return errNotDomain(t)
	}
	def := *t.UserType.Def
	def.Checks = slices.Clone(def.Checks)
	switch st.Kind {
	case ast.AlterDomainDefault:
		if err := alterDomainDefault(ctx, e, t, &def, st); err != nil {
			return err
		}
	case ast.AlterDomainSetNotNull:
		def.NotNull = true
		if err := verifyDomain(ctx, e, t, nil); err != nil {
			return err
		}
	case ast.AlterDomainDropNotNull:
		def.NotNull = false
	case ast.AlterDomainAdd:
		if err := addDomainCheck(ctx, e, t, &def, st.Constraint); err != nil {
			return err
		}
	default:
		if changed, err := alterDomainCheck(ctx, e, t, &def, st); err != nil || !changed {
			return err
		}
	}
	return RedefineType(ctx, e, t, &def)
}

// alterDomainDefault is SET DEFAULT and DROP DEFAULT, which columns without a default
// of their own follow.
func alterDomainDefault(ctx context.Context, e *statement.Env, t *catalog.Table, def *types.Def, st *ast.AlterDomain) error {
	def.Default = ""
	if st.X == nil {
		return nil
	}
	var err error
	if def.Default, err = storedtext.DefaultText(ctx, e, st.X, def.Base); err != nil || def.Default == "" {
		return err
	}
	return CheckDomain(ctx, e, t, def)
}

// addDomainCheck is ALTER DOMAIN ... ADD.
func addDomainCheck(ctx context.Context, e *statement.Env, t *catalog.Table, def *types.Def, c *ast.Constraint) error {
	switch c.Kind {
	case ast.ConstrCheck:
	case ast.ConstrUnique, ast.ConstrPrimaryKey, ast.ConstrForeignKey:
		return NotForDomains(c)
	default:
		return pgerr.New(pgerr.SyntaxError, "exclusion constraints not possible for domains")
	}
	if err := DomainCheck(ctx, e, t.Name, def, c); err != nil {
		return err
	}
	if err := CheckDomain(ctx, e, t, def); err != nil {
		return err
	}
	k := &def.Checks[len(def.Checks)-1]
	if k.NotValid = c.NotValid; k.NotValid {
		return nil
	}
	return verifyDomain(ctx, e, t, k)
}

// alterDomainCheck drops, renames or validates a constraint; changed is false if there
// was nothing to do.
func alterDomainCheck(ctx context.Context, e *statement.Env, t *catalog.Table, def *types.Def, st *ast.AlterDomain) (changed bool, err error) {
	at := func(name string) int {
		return slices.IndexFunc(def.Checks, func(k types.DomainCheck) bool { return k.Name == name })
	}
	i := at(st.Con)
	if i < 0 {
		missing := pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" of domain \"%s\" does not exist", st.Con, t.Name)
		if st.Kind == ast.AlterDomainRename {
			missing = pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for domain %s does not exist", st.Con, t.UserType.SQLName)
		}
		if st.IfExists {
			e.Skip(pgerr.SuccessfulCompletion, "constraint \"%s\" of domain \"%s\" does not exist, skipping", st.Con, t.Name)
			return false, nil
		}
		return false, missing
	}
	switch st.Kind {
	case ast.AlterDomainDrop:
		def.Checks = slices.Delete(def.Checks, i, i+1)
	case ast.AlterDomainRename:
		if at(st.NewName) >= 0 {
			return false, pgerr.New(pgerr.DuplicateObject, "constraint \"%s\" for domain %s already exists", st.NewName, t.UserType.SQLName)
		}
		def.Checks[i].Name = st.NewName
	case ast.AlterDomainValidate:
		if !def.Checks[i].NotValid {
			return false, nil
		}
		def.Checks[i].NotValid = false
		return true, verifyDomain(ctx, e, t, &def.Checks[i])
	}
	return true, nil
}

// verifyDomain locks the tables with columns of a domain and looks for a value that
// breaks a constraint; nil stands for NOT NULL.
func verifyDomain(ctx context.Context, e *statement.Env, t *catalog.Table, k *types.DomainCheck) error {
	users, err := usersOfType(ctx, e, t)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.Kind != catalog.KindTable {
			continue // types have no values, views have their tables'
		}
		if err := e.Coll.LockExclusive(ctx, u.ID); err != nil {
			return err
		}
		if u, err = e.Coll.TableByID(ctx, u.ID); err != nil {
			return err
		}
		for i := range u.Columns {
			domain := u.Columns[i].Domain
			if !usesType(&u.Columns[i], t.Oid) {
				continue
			}
			for domain != nil && domain.IsDomain() && domain.Oid != t.Oid {
				domain = domain.Def.Base
			}
			if domain == nil || !domain.IsDomain() { // it is within a value
				return pgerr.Unsupported("cannot alter type \"%s\" because column \"%s.%s\" uses it", t.Name, u.Name, u.Columns[i].Name)
			}
			if err := verifyDomainColumn(ctx, e, u, &u.Columns[i], k); err != nil {
				return err
			}
		}
	}
	return nil
}

func verifyDomainColumn(ctx context.Context, e *statement.Env, t *catalog.Table, c *catalog.Column, k *types.DomainCheck) error {
	column := ast.QuoteIdent(c.Name)
	broken := column + " IS NULL"
	if k != nil {
		x, err := parser.ParseExpr(k.Expr)
		if err != nil {
			return err
		}
		ast.Walk(x, func(n ast.Node) bool {
			if ref, ok := n.(*ast.ColumnRef); ok && ref.Table == "" && ref.Column == "value" {
				ref.Column = c.Name
			}
			return true
		})
		broken = "NOT (" + ast.Format(x) + ")"
	}
	rows, err := scratchRows(ctx, e, t, "SELECT 1 FROM "+ast.QuoteIdent(storedtext.ScratchSchema)+"."+ast.QuoteIdent(storedtext.ScratchOld)+" WHERE "+broken+" LIMIT 1")
	if err != nil || len(rows) == 0 {
		return err
	}
	if k == nil {
		return pgerr.New(pgerr.NotNullViolation, "column \"%s\" of table \"%s\" contains null values", c.Name, t.Name)
	}
	return pgerr.New(pgerr.CheckViolation, "column \"%s\" of table \"%s\" contains values that violate the new constraint", c.Name, t.Name)
}

// verifyColumnDomain looks for a value of the column of a table, as this command has
// left it, that its domain does not allow.
func verifyColumnDomain(ctx context.Context, e *statement.Env, table catalog.ID, col *catalog.Column) error {
	if col.Domain == nil {
		return nil
	}
	e.NextCommand()
	t, err := e.Coll.TableByID(ctx, table)
	if err != nil {
		return err
	}
	domain, array := col.Domain, ""
	if !domain.IsDomain() {
		domain, array = domain.Elem, "[]"
	}
	d, err := e.Coll.TableByOid(ctx, domain.Oid)
	if err != nil {
		return err
	}
	schema, err := e.Coll.SchemaByID(ctx, d.Schema)
	if err != nil {
		return err
	}
	_, err = scratchRows(ctx, e, t, "SELECT count("+ast.QuoteIdent(col.Name)+"::"+ast.QuoteIdent(schema.Name)+"."+ast.QuoteIdent(d.Name)+array+
		") FROM "+ast.QuoteIdent(storedtext.ScratchSchema)+"."+ast.QuoteIdent(storedtext.ScratchOld))
	return err
}

// scratchRows runs a query in which scratchOld stands for a table.
func scratchRows(ctx context.Context, e *statement.Env, t *catalog.Table, query string) ([]types.Row, error) {
	st, err := parser.ParseStored(query)
	if err != nil {
		return nil, err
	}
	prep, err := planner.Plan(ctx, st.AST, storedtext.PlannerEnv(e, &storedtext.ScratchResolver{Collection: e.Coll, Old: t}))
	if err != nil {
		return nil, err
	}
	program, err := exec.Compile(prep)
	if err != nil || e.WithoutRows {
		return nil, err
	}
	if err := e.WriteRows(ctx); err != nil {
		return nil, err
	}
	if err := e.Settle(ctx); err != nil {
		return nil, err
	}
	env := operator.Env{}
	if e.Exec != nil {
		env = *e.Exec
	}
	env.Ctx, env.Txn = ctx, e.Txn
	return program.Rows(&env)
}
