package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

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
		if err := backfill.VerifyKey(ctx, a.E, a.T, ref, k, false); err != nil {
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
			if err := backfill.Build(ctx, a.E, backfill.Spec{Old: a.Old, Table: a.T, Checks: []string{k.Name}, Enforced: a.wasThere(k)}); err != nil {
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
	if err := backfill.VerifyKey(ctx, a.E, a.T, ref, k, a.found.ForeignKey(k.Oid) != nil); err != nil {
		return err
	}
	k.NotValid = false
	return a.Put(ctx)
}

// wasThere reports whether a constraint was there before the statement, so that all gateways enforce it.
func (a *Alteration) wasThere(k *catalog.Check) bool {
	return slices.ContainsFunc(a.found.Checks, func(old catalog.Check) bool { return old.Oid == k.Oid })
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
			if err := a.E.Lock(ctx, r.Table.ID); err != nil {
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
	return backfill.VerifyKey(ctx, a.E, t, ref, k, false)
}

func containsColumn(list []catalog.ColumnID, id catalog.ColumnID) bool {
	for _, c := range list {
		if c == id {
			return true
		}
	}
	return false
}
