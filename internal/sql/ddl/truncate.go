package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// truncate is TRUNCATE: the tables get fresh, empty indexes.
func (e *Env) truncate(ctx context.Context, st *ast.Truncate) error {
	tables, err := e.truncated(ctx, st)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := e.truncateTable(ctx, t.Clone()); err != nil {
			return err
		}
		if !st.RestartIdentity {
			continue
		}
		for j := range t.Columns {
			if id := t.Columns[j].OwnsSequence; id != 0 {
				if err := e.restartSequence(ctx, id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// truncated locks the tables to truncate: with CASCADE also those that refer to
// them.
func (e *Env) truncated(ctx context.Context, st *ast.Truncate) ([]*catalog.Table, error) {
	var tables []*catalog.Table
	in := map[catalog.ID]bool{}
	for i := range st.Tables {
		t, err := e.lockTable(ctx, st.Tables[i].Name)
		if err != nil {
			return nil, err
		}
		if t.Materialized() {
			return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table", t.Name)
		}
		if err := e.checkUnused(t, "TRUNCATE"); err != nil {
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
			if from, err = e.lockByID(ctx, r.Table); err != nil {
				return nil, err
			}
			e.skip(pgerr.SuccessfulCompletion, "truncate cascades to table \"%s\"", from.Name)
			if err := e.checkUnused(from, "TRUNCATE"); err != nil {
				return nil, err
			}
			in[from.ID] = true
			tables = append(tables, from)
		}
	}
	return tables, nil
}

func (e *Env) truncateTable(ctx context.Context, t *catalog.Table) error {
	a := &alteration{e: e, t: t}
	for i := range t.Indexes {
		if err := a.renewAlike(ctx, i); err != nil {
			return err
		}
	}
	return e.Coll.Put(ctx, t)
}

func (e *Env) restartSequence(ctx context.Context, id catalog.ID) error {
	if err := e.Coll.LockExclusive(ctx, id); err != nil {
		return err
	}
	s, err := e.Coll.TableByID(ctx, id)
	if err != nil {
		return err
	}
	s = s.Clone()
	s.Sequence.First = s.Sequence.Start
	if err := e.moveSequence(ctx, s); err != nil {
		return err
	}
	return e.Coll.Put(ctx, s)
}
