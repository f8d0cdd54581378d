package alter

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// validateForeignKey verifies that all rows of t refer to rows of ref. Both tables
// are locked.
func validateForeignKey(ctx context.Context, e *statement.Env, t, ref *catalog.Table, k *catalog.ForeignKey) error {
	st, err := parser.ParseStored(orphansQuery(t, ref, k))
	if err != nil {
		return err
	}
	resolver := &storedtext.ScratchResolver{Collection: e.Coll, Old: t, Table: ref}
	prep, err := planner.Plan(ctx, st.AST, storedtext.PlannerEnv(e, resolver))
	if err != nil {
		return err
	}
	if err := e.OptimizePlan(ctx, prep); err != nil {
		return err
	}
	program, err := exec.Compile(prep)
	if err != nil || e.WithoutRows {
		return err
	}
	verify := func() error { return findOrphan(ctx, e, t, ref, k, program) }
	if e.Later != nil {
		*e.Later = append(*e.Later, verify)
		return nil
	}
	return verify()
}

// findOrphan runs an orphansQuery.
func findOrphan(ctx context.Context, e *statement.Env, t, ref *catalog.Table, k *catalog.ForeignKey, program *exec.Program) error {
	env := operator.Env{}
	if e.Exec != nil {
		env = *e.Exec
	}
	env.Ctx, env.Txn = ctx, e.Txn
	rows, err := program.Rows(&env)
	if err != nil || len(rows) == 0 {
		return err
	}
	schema, err := e.Coll.SchemaByID(ctx, t.Schema)
	if err != nil {
		return err
	}
	orphan := orphanError(e, t, ref, k, rows[0])
	orphan.Schema = schema.Name
	return orphan
}

// orphansQuery selects the foreign key of a row that violates it.
func orphansQuery(t, ref *catalog.Table, k *catalog.ForeignKey) string {
	var cols, on, notNull []string
	for i := range k.Columns {
		from, to := &t.Columns[t.ColumnByID(k.Columns[i])], &ref.Columns[ref.ColumnByID(k.RefColumns[i])]
		c, p, equal := "c."+ast.QuoteIdent(from.Name), "p."+ast.QuoteIdent(to.Name), " = "
		if a, b := from.Type.Collation(), to.Type.Collation(); a != nil && b != nil && a.Oid != b.Oid {
			equal = " COLLATE \"C\" = " // keys are equal if their bytes are
		}
		if cast, as, _ := rowcodec.ReferenceCast(from.Type, to.Type); cast != nil {
			equal = "::" + as.SQLName + " = "
		}
		cols, on, notNull = append(cols, c), append(on, c+equal+p), append(notNull, c+" IS NOT NULL")
	}
	some := " AND "
	if k.Full {
		some = " OR "
	}
	// Without a match the referenced columns, which are unique, are NULL.
	return "SELECT " + strings.Join(cols, ", ") +
		" FROM " + ast.QuoteIdent(storedtext.ScratchSchema) + "." + ast.QuoteIdent(storedtext.ScratchOld) + " AS c" +
		" LEFT JOIN " + ast.QuoteIdent(storedtext.ScratchSchema) + "." + ast.QuoteIdent(storedtext.ScratchNew) + " AS p ON " + strings.Join(on, " AND ") +
		" WHERE p." + ast.QuoteIdent(ref.Columns[ref.ColumnByID(k.RefColumns[0])].Name) + " IS NULL AND (" + strings.Join(notNull, some) + ") LIMIT 1"
}

func orphanError(e *statement.Env, t, ref *catalog.Table, k *catalog.ForeignKey, row types.Row) *pgerr.Error {
	err := pgerr.New(pgerr.ForeignKeyViolation, "insert or update on table \"%s\" violates foreign key constraint \"%s\"", t.Name, k.Name)
	err.Table, err.Constraint = t.Name, k.Name
	var names, texts []string
	for i, d := range row {
		if d.IsNull() {
			return err.WithDetail("MATCH FULL does not allow mixing of null and nonnull key values.")
		}
		c := &t.Columns[t.ColumnByID(k.Columns[i])]
		names, texts = append(names, c.Name), append(texts, typeio.FormatDatum(c.Type, d, e.Format))
	}
	return err.WithDetail("Key (%s)=(%s) is not present in table \"%s\".", strings.Join(names, ", "), strings.Join(texts, ", "), ref.Name)
}

// addForeignKey is ADD CONSTRAINT ... FOREIGN KEY.
func (a *Alteration) addForeignKey(ctx context.Context, c relations.PendingConstraint) error {
	schema, err := a.schemaName(ctx)
	if err != nil {
		return err
	}
	k, ref, err := relations.AddForeignKey(ctx, a.E, a.T, schema, c)
	if err != nil {
		return err
	}
	if k.NotValid = c.NotValid; !c.NotValid {
		if err := validateForeignKey(ctx, a.E, a.T, ref, k); err != nil {
			return err
		}
	}
	return a.Put(ctx)
}

// validateConstraint is VALIDATE CONSTRAINT.
func (a *Alteration) validateConstraint(ctx context.Context, c *ast.AlterCmd) error {
	for i := range a.T.Checks {
		if k := &a.T.Checks[i]; k.Name == c.Name {
			if !k.NotValid {
				return nil
			}
			k.NotValid = false
			if err := backfill.Build(ctx, a.E, backfill.Spec{Old: a.Old, Table: a.T, Checks: []string{k.Name}}); err != nil {
				return err
			}
			return a.Put(ctx)
		}
	}
	i := a.T.ForeignKeyByName(c.Name)
	if i < 0 {
		if relations.ConstraintExists(a.T, c.Name) {
			return pgerr.New(pgerr.WrongObjectType, "constraint \"%s\" of relation \"%s\" is not a foreign key or check constraint", c.Name, a.T.Name)
		}
		return a.undefinedConstraint(c)
	}
	k := &a.T.ForeignKeys[i]
	if !k.NotValid {
		return nil
	}
	ref := a.T
	if k.Table != a.T.ID {
		var err error
		if ref, err = a.E.LockByID(ctx, k.Table); err != nil {
			return err
		}
	}
	if err := validateForeignKey(ctx, a.E, a.T, ref, k); err != nil {
		return err
	}
	k.NotValid = false
	return a.Put(ctx)
}

// retypeKeys checks the foreign keys that a column with a new type is part of, on
// either side.
func (a *Alteration) retypeKeys(ctx context.Context, id catalog.ColumnID, rewritten bool) error {
	for i := range a.T.ForeignKeys {
		k := &a.T.ForeignKeys[i]
		if !containsColumn(k.Columns, id) {
			continue
		}
		ref := a.T
		if k.Table != a.T.ID {
			var err error
			if ref, err = a.E.LockByID(ctx, k.Table); err != nil {
				return err
			}
		}
		if err := a.recheckKey(ctx, a.T, ref, k, rewritten); err != nil {
			return err
		}
	}
	list, err := relations.Referrers(ctx, a.E, a.T, func(k *catalog.ForeignKey) bool { return containsColumn(k.RefColumns, id) })
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.Table.ID != a.T.ID {
			if err := a.E.Coll.LockExclusive(ctx, r.Table.ID); err != nil {
				return err
			}
		}
		if err := a.recheckKey(ctx, r.Table, a.T, r.Key, rewritten); err != nil {
			return err
		}
	}
	return nil
}

func (a *Alteration) recheckKey(ctx context.Context, t, ref *catalog.Table, k *catalog.ForeignKey, rewritten bool) error {
	if err := relations.CompatibleKeys(t, ref, k); err != nil {
		return err
	}
	if !rewritten || k.NotValid {
		return nil
	}
	a.E.NextCommand()
	return validateForeignKey(ctx, a.E, t, ref, k)
}

func containsColumn(list []catalog.ColumnID, id catalog.ColumnID) bool {
	for _, c := range list {
		if c == id {
			return true
		}
	}
	return false
}
