package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/exec/mutation"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// truncate is TRUNCATE: the tables get fresh, empty indexes.
func truncate(ctx context.Context, e *statement.Env, st *ast.Truncate) error {
	tables, err := truncated(ctx, e, st)
	if err != nil {
		return err
	}
	fired, err := truncateTriggers(ctx, e, tables)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if t, err = e.Coll.TableByID(ctx, t.ID); err != nil { // triggers may have changed it
			return err
		}
		if err := truncateTable(ctx, e, t.Clone()); err != nil {
			return err
		}
		if !st.RestartIdentity {
			continue
		}
		for j := range t.Columns {
			if id := t.Columns[j].OwnsSequence; id != 0 {
				if err := restartSequence(ctx, e, id); err != nil {
					return err
				}
			}
		}
	}
	for _, f := range fired {
		if err := f.Fire(e.Exec, true); err != nil {
			return err
		}
	}
	return nil
}

// truncateTriggers fires the triggers of tables before TRUNCATE, and returns what fires those after it.
func truncateTriggers(ctx context.Context, e *statement.Env, tables []*catalog.Table) ([]*mutation.StatementTriggers, error) {
	var list []*mutation.StatementTriggers
	for _, t := range tables {
		g, err := planner.StatementTriggers(ctx, storedtext.PlannerEnv(e, e.Coll), t, ast.OnTruncate)
		if err != nil {
			return nil, err
		}
		if !g.Any() {
			continue
		}
		f, err := mutation.NewStatementTriggers(g)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	for _, f := range list {
		if err := f.Fire(e.Exec, false); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// truncated locks the tables to truncate: with CASCADE also those that refer to
// them.
func truncated(ctx context.Context, e *statement.Env, st *ast.Truncate) ([]*catalog.Table, error) {
	var tables []*catalog.Table
	in := map[catalog.ID]bool{}
	for i := range st.Tables {
		t, err := e.LockTableTo(ctx, st.Tables[i].Name, e.Has(privilege.Truncate))
		if err != nil {
			return nil, err
		}
		if t.Materialized() {
			return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table", t.Name)
		}
		if err := e.CheckUnused(t, "TRUNCATE"); err != nil {
			return nil, err
		}
		if !in[t.ID] {
			in[t.ID] = true
			tables = append(tables, t)
		}
	}
	for i := 0; i < len(tables); i++ {
		t := tables[i]
		for _, r := range t.References {
			if in[r.Table] {
				continue
			}
			from, err := e.Coll.TableByID(ctx, r.Table)
			if err != nil {
				return nil, err
			}
			if !st.Cascade {
				return nil, pgerr.Unsupported("cannot truncate a table referenced in a foreign key constraint").
					WithDetail("Table \"%s\" references \"%s\".", from.Name, t.Name).
					WithHint("Truncate table \"%s\" at the same time, or use TRUNCATE ... CASCADE.", from.Name)
			}
			if err := e.Has(privilege.Truncate)(from); err != nil {
				return nil, err
			}
			if from, err = e.LockByID(ctx, r.Table); err != nil {
				return nil, err
			}
			e.Skip(pgerr.SuccessfulCompletion, "truncate cascades to table \"%s\"", from.Name)
			if err := e.CheckUnused(from, "TRUNCATE"); err != nil {
				return nil, err
			}
			in[from.ID] = true
			tables = append(tables, from)
		}
	}
	return tables, nil
}

func truncateTable(ctx context.Context, e *statement.Env, t *catalog.Table) error {
	a := &alter.Alteration{E: e, T: t}
	for i := range t.Indexes {
		if err := a.RenewAlike(ctx, i); err != nil {
			return err
		}
	}
	return e.Coll.Put(ctx, t)
}

func restartSequence(ctx context.Context, e *statement.Env, id catalog.ID) error {
	if err := e.Coll.LockExclusive(ctx, id); err != nil {
		return err
	}
	s, err := e.Coll.TableByID(ctx, id)
	if err != nil {
		return err
	}
	s = s.Clone()
	s.Sequence.First = s.Sequence.Start
	if err := relations.MoveSequence(ctx, e, s); err != nil {
		return err
	}
	return e.Coll.Put(ctx, s)
}
