package backfill

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// VerifyKey verifies that all rows of t refer to rows of ref. Both tables are locked or shared; enforced says that all that
// is written since the statement began obeys the key.
func VerifyKey(ctx context.Context, e *statement.Env, t, ref *catalog.Table, k *catalog.ForeignKey, enforced bool) error {
	v := &keyCheck{e: e, t: t, ref: ref, k: k, enforced: enforced}
	schema, err := e.Coll.SchemaByID(ctx, t.Schema)
	if err != nil {
		return err
	}
	v.schema = schema.Name
	if v.orphans, err = v.compile(ctx, t, ref, orphansQuery(t, ref, k)); err != nil || e.WithoutRows {
		return err
	}
	if e.Later != nil {
		e.Later.Verify(func() error { return v.verify(ctx) })
		return nil
	}
	return v.verify(ctx)
}

// keyCheck verifies a foreign key. As a statement.Step it looks at all rows in a snapshot, and then follows both tables:
// a row that refers to something must find it, and if something went that could be referred to it looks at all rows again.
type keyCheck struct {
	e        *statement.Env
	t, ref   *catalog.Table
	k        *catalog.ForeignKey
	schema   string
	enforced bool
	orphans  *exec.Program // finds a row that refers to nothing
	// What follows is for the changes: the columns of the key on both sides, of changed rows, and the index that is referred to.
	from, to *exec.Program
	x        *rowcodec.Index
	casts    []types.CastFunc
	as       []*types.T
	refOrds  []int
	row      types.Row // of ref
	at       *kv.Txn   // reads the snapshot that was verified last
}

// compile compiles a query in which the names of storedtext stand for tables.
func (v *keyCheck) compile(ctx context.Context, old, table *catalog.Table, query string) (*exec.Program, error) {
	st, err := parser.ParseStored(query)
	if err != nil {
		return nil, err
	}
	resolver := &storedtext.ScratchResolver{Collection: v.e.Coll, Old: old, Table: table}
	prep, err := planner.Plan(ctx, st.AST, storedtext.PlannerEnv(v.e, resolver))
	if err != nil {
		return nil, err
	}
	if err := v.e.OptimizePlan(ctx, prep); err != nil {
		return nil, err
	}
	return exec.Compile(prep)
}

// verify looks at all rows, or begins to follow them while others change them.
func (v *keyCheck) verify(ctx context.Context) error {
	if !v.e.CanFollow() {
		if err := v.e.Settle(ctx); err != nil {
			return err
		}
		return v.findOrphan(ctx, v.e.Txn)
	}
	if err := v.compileChanges(ctx); err != nil {
		return err
	}
	v.at = Snapshot(v.e)
	if err := v.findOrphan(ctx, v.at); err != nil {
		v.at.Rollback(ctx)
		return err
	}
	v.e.AddStep(v, false)
	return nil
}

// compileChanges makes what Follow works with.
func (v *keyCheck) compileChanges(ctx context.Context) (err error) {
	list := func(t *catalog.Table, ids []catalog.ColumnID) string {
		var names []string
		for _, id := range ids {
			names = append(names, ast.QuoteIdent(t.Columns[t.ColumnByID(id)].Name))
		}
		return "SELECT " + strings.Join(names, ", ") + " FROM " + ast.QuoteIdent(storedtext.ScratchSchema) + "." + ast.QuoteIdent(storedtext.ScratchOld)
	}
	if v.from, err = v.compile(ctx, unindexed(v.t), nil, list(v.t, v.k.Columns)); err != nil {
		return err
	}
	if v.to, err = v.compile(ctx, unindexed(v.ref), nil, list(v.ref, v.k.RefColumns)); err != nil {
		return err
	}
	i := slices.IndexFunc(v.ref.Indexes, func(ix catalog.Index) bool { return ix.Oid == v.k.RefIndex })
	if i < 0 {
		return pgerr.Assertion("a foreign key refers to no index")
	}
	if v.x, err = rowcodec.Compile(v.ref, &v.ref.Indexes[i]); err != nil {
		return err
	}
	v.row = make(types.Row, len(v.ref.Columns))
	for i, id := range v.k.RefColumns {
		ord := v.ref.ColumnByID(id)
		cast, as, _ := rowcodec.ReferenceCast(v.t.Columns[v.t.ColumnByID(v.k.Columns[i])].Type, v.ref.Columns[ord].Type)
		v.refOrds, v.casts, v.as = append(v.refOrds, ord), append(v.casts, cast), append(v.as, as)
	}
	return nil
}

// findOrphan looks at all rows that a transaction sees.
func (v *keyCheck) findOrphan(ctx context.Context, txn tableaccess.Txn) error {
	return v.run(ctx, v.orphans, txn, func(row types.Row) error { return v.orphan(row) })
}

// run calls f for the rows of a query, each valid until it returns.
func (v *keyCheck) run(ctx context.Context, program *exec.Program, txn tableaccess.Txn, f func(types.Row) error) error {
	env := operator.Env{}
	if v.e.Exec != nil {
		env = *v.e.Exec
	}
	env.Ctx, env.Txn = ctx, txn
	_, err := program.Run(&env, func(batch *rowcontainer.Batch) error {
		for i := range batch.Len() {
			if err := f(batch.Row(i)); err != nil {
				return err
			}
		}
		return v.e.Tell(ctx, batch.Len())
	})
	return err
}

// Close implements statement.Step.
func (v *keyCheck) Close(ctx context.Context) { v.at.Rollback(ctx) }

// Follow implements statement.Step.
func (v *keyCheck) Follow(ctx context.Context) (int, error) {
	if v.enforced {
		return 0, nil
	}
	to := Snapshot(v.e)
	changed, err := v.move(ctx, to)
	v.at.Rollback(ctx)
	v.at = to
	return changed, err
}

// Look implements statement.Step. To look at all rows again takes long.
func (v *keyCheck) Look(ctx context.Context) (little bool, err error) {
	if v.enforced {
		return true, nil
	}
	now := Snapshot(v.e)
	defer now.Rollback(ctx)
	left, more, err := changes(ctx, v.ref, v.at, now)
	if err != nil || more {
		return false, err
	}
	if len(left) > 0 {
		if gone, err := v.lost(ctx, now, left); err != nil || gone {
			return false, err
		}
	}
	_, more, err = changes(ctx, v.t, v.at, now)
	return !more, err
}

// Finish implements statement.Step.
func (v *keyCheck) Finish(ctx context.Context) error {
	if v.enforced {
		return nil
	}
	_, err := v.move(ctx, v.e.Txn)
	return err
}

// move verifies what has changed up to what a transaction sees, and returns how many keys of rows that may be.
func (v *keyCheck) move(ctx context.Context, to *kv.Txn) (int, error) {
	gone := false
	left, err := EachChange(ctx, v.ref, v.at, to, func(spans []kvpb.Span) error {
		var err error
		if !gone && !plant.On(plant.ReferredUnfollowed) {
			gone, err = v.lost(ctx, to, spans)
		}
		return err
	})
	if err != nil {
		return left, err
	}
	if gone {
		if err := v.findOrphan(ctx, to); err != nil {
			return left, err
		}
	}
	came, err := EachChange(ctx, v.t, v.at, to, func(spans []kvpb.Span) error {
		if gone {
			return nil // it looked at all rows
		}
		return v.refer(ctx, to, spans)
	})
	return max(left, came), err
}

// lost reports whether changed rows of ref had a key that they have no longer.
func (v *keyCheck) lost(ctx context.Context, to *kv.Txn, spans []kvpb.Span) (bool, error) {
	now := map[string]bool{}
	err := v.run(ctx, v.to, RowsOf(to, spans), func(row types.Row) error {
		key, err := v.key(row, false)
		now[string(key)] = true
		return err
	})
	if err != nil {
		return false, err
	}
	gone := false
	err = v.run(ctx, v.to, RowsOf(v.at, spans), func(row types.Row) error {
		key, err := v.key(row, false)
		gone = gone || !now[string(key)]
		return err
	})
	return gone, err
}

// refer verifies that changed rows of t refer to rows of ref.
func (v *keyCheck) refer(ctx context.Context, to *kv.Txn, spans []kvpb.Span) error {
	wanted := map[string]types.Row{}
	err := v.run(ctx, v.from, RowsOf(to, spans), func(row types.Row) error {
		nulls := 0
		for _, d := range row {
			if d.IsNull() {
				nulls++
			}
		}
		switch {
		case nulls == len(row), nulls > 0 && !v.k.Full:
			return nil
		case nulls > 0:
			return v.orphan(row)
		}
		key, err := v.key(row, true)
		if _, ok := wanted[string(key)]; err != nil || ok {
			return err
		}
		values := make(types.Row, len(row))
		for i, d := range row {
			values[i] = d.Clone()
		}
		wanted[string(key)] = values
		return nil
	})
	if err != nil {
		return err
	}
	return v.findAll(ctx, to, wanted)
}

// findAll fails unless all keys are there; wanted has the values that refer to them.
func (v *keyCheck) findAll(ctx context.Context, txn *kv.Txn, wanted map[string]types.Row) error {
	var spans []kvpb.Span
	for key := range wanted {
		spans = append(spans, kvpb.Span{Key: []byte(key), EndKey: keys.Next([]byte(key))})
	}
	slices.SortFunc(spans, func(a, b kvpb.Span) int { return bytes.Compare(a.Key, b.Key) })
	err := eachFound(ctx, txn, spans, func(key, _ []byte) error {
		delete(wanted, string(key))
		return nil
	})
	if err != nil {
		return err
	}
	for _, values := range wanted {
		return v.orphan(values)
	}
	return nil
}

// key returns the key in the index that is referred to, of the values of the key's columns of a row that has it, or that
// refers to it.
func (v *keyCheck) key(values types.Row, refers bool) (key []byte, err error) {
	for i, ord := range v.refOrds {
		d := values[i]
		if refers && v.casts[i] != nil {
			if d, err = v.casts[i](v.e.Format, d, v.as[i]); err != nil {
				return nil, err
			}
		}
		v.row[ord] = d
	}
	return v.x.AppendKey(nil, v.row)
}

// orphansQuery selects the foreign keys of rows that violate it. Usually there are none, so no plan is to be chosen for
// finding one soon.
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
		" WHERE p." + ast.QuoteIdent(ref.Columns[ref.ColumnByID(k.RefColumns[0])].Name) + " IS NULL AND (" + strings.Join(notNull, some) + ")"
}

// orphan says that a row refers to nothing.
func (v *keyCheck) orphan(row types.Row) *pgerr.Error {
	t, k := v.t, v.k
	err := pgerr.New(pgerr.ForeignKeyViolation, "insert or update on table \"%s\" violates foreign key constraint \"%s\"", t.Name, k.Name)
	err.Schema, err.Table, err.Constraint = v.schema, t.Name, k.Name
	var names, texts []string
	for i, d := range row {
		if d.IsNull() {
			return err.WithDetail("MATCH FULL does not allow mixing of null and nonnull key values.")
		}
		c := &t.Columns[t.ColumnByID(k.Columns[i])]
		names, texts = append(names, c.Name), append(texts, typeio.FormatDatum(c.Type, d, v.e.Format))
	}
	return err.WithDetail("Key (%s)=(%s) is not present in table \"%s\".", strings.Join(names, ", "), strings.Join(texts, ", "), v.ref.Name)
}
