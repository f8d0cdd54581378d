package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
)

// The phases of ALTER TABLE, PostgreSQL's: what goes makes room for what comes, columns are
// there before constraints on them, and indexes before the keys that rest on them.
const (
	phaseDrop = iota
	phaseTypes
	phaseColumns
	phaseAttributes
	phaseIndexes
	phaseDefaults
	phaseConstraints
	phaseOthers
)

func phaseOf(c *ast.AlterCmd) int {
	switch c.Kind {
	case ast.AlterDropColumn, ast.AlterDropConstraint, ast.AlterColumnDropNotNull, ast.AlterColumnDropDefault,
		ast.AlterColumnDropOnUpdate, ast.AlterColumnDropExpr, ast.AlterColumnDropIdentity:
		return phaseDrop
	case ast.AlterColumnType:
		return phaseTypes
	case ast.AlterAddColumn:
		return phaseColumns
	case ast.AlterColumnSetNotNull, ast.AlterColumnSetVisible, ast.AlterColumnSetNotVisible:
		return phaseAttributes
	case ast.AlterPrimaryKey:
		return phaseIndexes
	case ast.AlterAddConstraint:
		switch c.Constraint.Kind {
		case ast.ConstrPrimaryKey, ast.ConstrUnique, ast.ConstrExclude:
			return phaseIndexes
		}
		return phaseConstraints
	case ast.AlterColumnSetDefault, ast.AlterColumnSetOnUpdate, ast.AlterColumnAddIdentity:
		return phaseDefaults
	}
	return phaseOthers
}

// inPhases orders the commands of a statement. Those that change types come together, the others
// one by one. A statement that renames is none of PostgreSQL's: its commands run as written.
func inPhases(cmds []*ast.AlterCmd) [][]*ast.AlterCmd {
	if !renames(cmds) {
		cmds = slices.Clone(cmds)
		slices.SortStableFunc(cmds, func(a, b *ast.AlterCmd) int { return phaseOf(a) - phaseOf(b) })
	}
	var out [][]*ast.AlterCmd
	for i, c := range cmds {
		together := i > 0 && c.Kind == ast.AlterColumnType && cmds[i-1].Kind == c.Kind
		if last := len(out) - 1; together && !plant.On(plant.TypesInTurn) {
			out[last] = append(out[last], c)
			continue
		}
		out = append(out, []*ast.AlterCmd{c})
	}
	return out
}

// besideUsers reports whether a statement has commands that read or write all rows, and none that must have the table locked
// from the start: what those listed here find out of other objects, which they don't lock, they find out by Env.CheckAgain.
func besideUsers(st *ast.AlterTable) bool {
	if st.Kind != ast.ObjTable {
		return false
	}
	rows := false
	for _, c := range st.Cmds {
		switch c.Kind {
		case ast.AlterColumnSetNotNull, ast.AlterValidateConstraint, ast.AlterColumnType, ast.AlterAddColumn, ast.AlterAddConstraint, ast.AlterPrimaryKey:
			rows = true
		case ast.AlterDropConstraint, ast.AlterDropColumn: // rows too, if it takes the primary key
			if rows = true; c.Cascade {
				return false
			}
		case ast.AlterColumnSetDefault, ast.AlterColumnDropDefault, ast.AlterColumnDropNotNull, ast.AlterColumnDropExpr,
			ast.AlterColumnSetOnUpdate, ast.AlterColumnDropOnUpdate, ast.AlterColumnSetVisible, ast.AlterColumnSetNotVisible,
			ast.AlterAlterConstraint:
		default:
			return false
		}
	}
	return rows
}

// renames reports whether a statement is the dialect's, with commands that rename.
func renames(cmds []*ast.AlterCmd) bool {
	return slices.ContainsFunc(cmds, func(c *ast.AlterCmd) bool {
		switch c.Kind {
		case ast.AlterRename, ast.AlterRenameColumn, ast.AlterRenameConstraint:
			return true
		}
		return false
	})
}

// rewrites reports whether PostgreSQL would write all rows anew: for other types, and for new
// columns with a value of each row's own.
func rewrites(cmds []*ast.AlterCmd) bool {
	own := func(k *ast.Constraint) bool {
		return k.Kind == ast.ConstrGenerated || k.Kind == ast.ConstrIdentity
	}
	return slices.ContainsFunc(cmds, func(c *ast.AlterCmd) bool {
		if c.Kind != ast.AlterAddColumn {
			return c.Kind == ast.AlterColumnType
		}
		return relations.SerialType(c.Def.Type) != nil || slices.ContainsFunc(c.Def.Constraints, own)
	})
}

// onTrial is e for looking at what a statement would do to the catalog.
func onTrial(e *statement.Env) *statement.Env {
	trial := *e
	trial.WithoutRows = true
	trial.Notice, trial.Presplit, trial.Filled = nil, nil, nil
	return &trial
}

// prepareTypes looks at the changes of types of a statement, as PostgreSQL does before it
// changes anything.
func prepareTypes(ctx context.Context, e *statement.Env, st *ast.AlterTable, t *catalog.Table, index bool) error {
	if t.Kind != catalog.KindTable || index || renames(st.Cmds) {
		return nil
	}
	for _, c := range st.Cmds {
		if c.Kind != ast.AlterColumnType {
			continue
		}
		a := &Alteration{E: onTrial(e), found: t, Old: t, T: t.Clone()}
		if err := a.prepareType(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// examine runs the commands of a statement that rewrites rows on the catalog alone, and undoes
// that: PostgreSQL too changes the catalog in all phases before it reads the first row.
func examine(ctx context.Context, e *statement.Env, st *ast.AlterTable, t *catalog.Table, index bool) error {
	trial := onTrial(e)
	start, changes := e.Txn.StatementStart(), e.Coll.Savepoint()
	if err := runCommands(ctx, trial, st, t, index); err != nil {
		return err
	}
	return undo(ctx, e, start, changes)
}

// undo takes back what was done to the catalog and to rows since a time.
func undo(ctx context.Context, e *statement.Env, start kv.Savepoint, changes catalog.Savepoint) error {
	if err := e.Txn.RollbackTo(ctx, start); err != nil {
		return err
	}
	e.Coll.RollbackTo(changes)
	return nil
}

// runVerifyingLast runs the commands of a statement. Rows are written and verified once all commands have
// run; unique indexes are built when it is their turn, unless all rows are written anyway.
func runVerifyingLast(ctx context.Context, e *statement.Env, st *ast.AlterTable, t *catalog.Table, index bool) error {
	run := *e
	run.Later = &statement.Later{}
	if err := runCommands(ctx, &run, st, t, index); err != nil {
		return err
	}
	return run.EndCommands(ctx)
}

// constraintsApart makes the constraints of new columns commands of their own, whose phases come
// later than that of the columns.
func constraintsApart(cmds []*ast.AlterCmd) []*ast.AlterCmd {
	var out []*ast.AlterCmd
	for _, c := range cmds {
		if c.Kind != ast.AlterAddColumn || c.IfNotExists {
			out = append(out, c)
			continue
		}
		add, def := *c, *c.Def
		def.Constraints, add.Def = nil, &def
		out = append(out, &add)
		for _, k := range c.Def.Constraints {
			switch k.Kind {
			case ast.ConstrPrimaryKey, ast.ConstrUnique, ast.ConstrCheck, ast.ConstrForeignKey:
				out = append(out, &ast.AlterCmd{Loc: k.Loc, Kind: ast.AlterAddConstraint, Name: c.Def.Name, Constraint: k})
			default:
				def.Constraints = append(def.Constraints, k)
			}
		}
	}
	return out
}

// checkKeys checks what PostgreSQL does before it makes the first of the new keys, on the way from
// one phase to the next: that none has a column twice, once the columns are there, and that the
// columns of primary keys exist, with the columns' attributes.
func (a *Alteration) checkKeys(cmds []*ast.AlterCmd, before, next int) error {
	var constraints []*ast.Constraint
	for _, c := range cmds {
		if c.Kind == ast.AlterAddConstraint {
			constraints = append(constraints, c.Constraint)
		}
	}
	for _, c := range constraints {
		if before <= phaseColumns && next > phaseColumns {
			if err := repeatedKeys(c); err != nil {
				return err
			}
		}
	}
	for _, c := range constraints {
		if before > phaseAttributes || next <= phaseAttributes || c.Kind != ast.ConstrPrimaryKey {
			continue
		}
		for _, k := range c.Keys {
			if _, ok := relations.VisibleColumn(a.T, k.Column); k.Column != "" && !ok {
				return a.T.UndefinedColumn(k.Column)
			}
		}
	}
	return nil
}

// repeatedKeys fails if a primary key or a unique constraint has a column twice.
func repeatedKeys(c *ast.Constraint) error {
	if c.Kind != ast.ConstrPrimaryKey && c.Kind != ast.ConstrUnique {
		return nil
	}
	var names []ast.Name
	for _, k := range c.Keys {
		if slices.Contains(names, k.Column) {
			return relations.RepeatedKey(k.Column, c.Kind == ast.ConstrPrimaryKey).At(c.Pos)
		}
		names = append(names, k.Column)
	}
	return nil
}
