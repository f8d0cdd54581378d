package backfill

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/inverted"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// exclusionViolation is 23P01.
const exclusionViolation pgerr.Code = "23P01"

// Spec says how the rows of a table become those of its changed form.
type Spec struct {
	// old is where rows are read, table what they become. Columns with the same
	// id keep their values; new ones get their defaults.
	Old, Table *catalog.Table
	// values are expressions over old's columns for columns of table that change.
	Values map[catalog.ColumnID]ast.Expr
	// reshape, if set, is applied to the values that keep their column.
	Reshape *types.Reshape
	// indexes are the positions in table.Indexes of the indexes to fill.
	Indexes []int
	// checks are the CHECK constraints, notNull the columns, to verify.
	Checks  []string
	NotNull []catalog.ColumnID
	// Enforced says that the checks hold for all that is written since the statement began: what one snapshot has is
	// enough to look at.
	Enforced bool
	// InTurn says that the rows are written when it is the command's turn, though later commands may write them again: what is
	// wrong with them is told before what the catalog has against those.
	InTurn bool
	// query, if set, produces the rows instead: those of table's columns that
	// are not hidden.
	Query *plan.Prepared
}

// Build reads the rows, verifies the constraints and fills the indexes. The
// table is locked, or was created by this transaction.
func Build(ctx context.Context, e *statement.Env, spec Spec) error {
	_, err := BuildRows(ctx, e, spec)
	return err
}

// BuildRows is Build, and returns how many rows the table has.
func BuildRows(ctx context.Context, e *statement.Env, spec Spec) (rows int64, err error) {
	if len(spec.Indexes) == 0 && len(spec.Checks) == 0 && len(spec.NotNull) == 0 {
		return 0, nil
	}
	b, program, err := prepare(ctx, e, spec)
	if err != nil || e.WithoutRows {
		return 0, err
	}
	if done, err := waits(ctx, e, &spec); done || err != nil {
		return 0, err
	}
	if e.Later != nil && len(spec.Indexes) == 0 {
		e.Later.Verify(func() error {
			_, err := b.build(ctx, program)
			return err
		})
		return 0, nil
	}
	return b.build(ctx, program)
}

// build reads the rows, or begins to follow them while others change them.
func (b *Builder) build(ctx context.Context, program *exec.Program) (int64, error) {
	if b.E.Sharing() {
		if b.followed() {
			if done, err := b.follow(ctx, program); done || err != nil {
				return 0, err
			}
			b.sink.close()
			b.sink, b.rows = newSink(ctx, b.E, b.indexes, b.prefixes()), 0 // the table may have others
			b.out = b.sink
		}
		if err := b.E.Settle(ctx); err != nil {
			return 0, err
		}
	}
	b.ids.close()
	b.ids = nil // each row is read once
	return b.fill(ctx, program)
}

// followed reports whether the rows can be followed while others change them: what is computed of a row that has not
// changed is the same each time, or replaces what was computed before.
func (b *Builder) followed() bool {
	s := &b.Spec
	if !b.E.CanFollow() || s.Old == nil || s.Query != nil || s.Old.View != nil || s.Reshape != nil {
		return false
	}
	b.inPlace = !b.repeatable && len(s.Indexes) > 0 && s.Indexes[0] == 0 && (b.ids != nil || samePrimaryKey(s)) && !b.Table.HasFamilies() && b.onlyInRows()
	return b.repeatable || b.inPlace
}

// onlyInRows reports whether what is computed anew each time goes into the rows alone, and not into other indexes.
func (b *Builder) onlyInRows() bool {
	if len(b.indexes) == 1 && len(b.inverted) == 0 {
		return true
	}
	return b.volatile != nil && b.derived == nil && len(b.inverted) == 0 && !slices.ContainsFunc(b.indexes[1:], func(x *rowcodec.Index) bool {
		return x.EntryChanged(func(ord int) bool { return b.volatile[ord] })
	})
}

// samePrimaryKey reports whether rows keep their primary keys.
func samePrimaryKey(s *Spec) bool {
	old, now := s.Old.Primary(), s.Table.Primary()
	return slices.EqualFunc(old.Columns, now.Columns, func(a, b catalog.IndexColumn) bool {
		i, j := s.Old.ColumnByID(a.Column), s.Table.ColumnByID(b.Column)
		return a.Column == b.Column && s.Values[a.Column] == nil && s.Old.Columns[i].Type.Is(s.Table.Columns[j].Type)
	}) && old.HashColumns == now.HashColumns && old.Buckets == now.Buckets
}

// volatileColumns returns the positions of the columns that a plan of rows computes anew each time, nil if that can't be told.
func volatileColumns(n plan.Node) map[int]bool {
	p, ok := n.(*plan.Project)
	if !ok || !repeatable(p.Input) {
		return nil
	}
	out := map[int]bool{}
	for i := range p.Exprs {
		one := *p
		one.Cols, one.Exprs = p.Cols[i:i+1], p.Exprs[i:i+1]
		out[i] = !repeatable(&one)
	}
	return out
}

// repeatable reports whether a plan of rows gives the same for a row each time that the statement computes it.
func repeatable(n plan.Node) bool {
	ok := true
	plan.Walk(n, func(n plan.Node) bool {
		plan.VisitExprs(n, func(e *plan.Expr) {
			plan.WalkExpr(*e, func(x plan.Expr) bool {
				switch x := x.(type) {
				case *plan.Call:
					ok = ok && (x.Fn.Volatility == call.Immutable || x.Fn.Volatility == call.Stable && x.Fn.Routine == nil)
				case *plan.Subquery:
					ok = false
				}
				return ok
			})
		})
		return ok
	})
	return ok
}

// prepare makes what builds, and the program that reads the rows.
func prepare(ctx context.Context, e *statement.Env, spec Spec) (*Builder, *exec.Program, error) {
	b := &Builder{E: e, Spec: spec, Table: spec.Table, check: rowcodec.NewRowCheck(spec.Table)}
	schema, err := e.Coll.SchemaByID(ctx, spec.Table.Schema)
	if err != nil {
		return nil, nil, err
	}
	b.schema = schema.Name
	if err := b.compile(); err != nil {
		return nil, nil, err
	}
	if e.CanFollow() {
		if b.ids, err = newRowIDs(&b.Spec, e.Memory()); err != nil {
			return nil, nil, err
		}
	}
	prep, err := b.Plan(ctx)
	if err != nil {
		return nil, nil, err
	}
	b.sink = newSink(ctx, e, b.indexes, b.prefixes())
	b.out = b.sink
	program, err := exec.Compile(prep)
	return b, program, err
}

// fill writes the entries of the indexes.
func (b *Builder) fill(ctx context.Context, program *exec.Program) (rows int64, err error) {
	defer b.sink.close()
	if err := b.read(ctx, program); err != nil {
		return 0, err
	}
	if err := b.sink.finish(ctx); err != nil {
		return 0, err
	}
	if b.E.Filled != nil {
		b.E.Filled(b.Spec.Table, b.rows, slices.Contains(b.Spec.Indexes, 0))
	}
	if b.deferrable() {
		b.E.NextCommand()
	}
	return b.rows, b.verifyUnique(ctx, b.E.Txn)
}

// read runs the program. Many rows are written by other transactions, later than the snapshot,
// which has to move before the commit (sink.finish). Those who write meanwhile what a query has
// read would keep it from that for ever: nobody sees the rows before the commit, so it is
// enough that they were right in the snapshot.
func (b *Builder) read(ctx context.Context, program *exec.Program) error {
	if b.E.Alone && b.Spec.Query != nil && !b.Spec.Query.Modifies {
		defer b.E.Txn.ReadApart()()
	}
	return b.run(ctx, program)
}

// run makes the entries of all rows that the statement's transaction sees.
func (b *Builder) run(ctx context.Context, program *exec.Program) error {
	return b.runIn(ctx, program, b.E.Txn)
}

// entries takes what the rows that are read have in the indexes to fill.
type entries interface {
	// add takes an entry of an index, by its position; unique says that no other row may have the key.
	add(index int, key, value []byte, unique bool) error
}

// Builder is one build in progress.
type Builder struct {
	E       *statement.Env
	Spec    Spec
	Table   *catalog.Table
	indexes []*rowcodec.Index
	// inverted are those of the indexes to fill that are inverted; rows are the keys to
	// which their entries lead. They come after indexes in the sink.
	inverted []*inverted.Index
	rowIndex *rowcodec.Index
	rowKey   []byte
	check    *rowcodec.RowCheck // of what is written
	checks   []plan.CheckExpr
	notNull  []int
	derived  *tableaccess.Deriver
	schema   string
	sink     *sink
	out      entries // where the entries of rows go: sink, or another
	// ids, if set, are those of rows that lose their primary key while others change the table.
	ids *rowIDs
	// repeatable says that a row's values are computed alike each time, inPlace that they are not, but replace one another, as
	// rows keep their keys.
	repeatable, inPlace bool
	immutable           bool         // nothing but the row's own columns and the table counts for that, on any node
	volatile            map[int]bool // positions of the columns that are computed anew each time, nil if that is not known
	rows                int64
	key                 []byte
	value               []byte
}

// Plan makes the plan of the rows: the columns of the table, then one boolean
// per CHECK constraint.
func (b *Builder) Plan(ctx context.Context) (*plan.Prepared, error) {
	st, resolver := b.insertion()
	prep, err := planner.Plan(ctx, st, storedtext.PlannerEnv(b.E, resolver))
	if err != nil {
		return nil, err
	}
	ins, ok := prep.Root.(*plan.Insert)
	if !ok {
		return nil, pgerr.Assertion("unexpected plan of a table rewrite")
	}
	for _, c := range ins.Checks {
		if slices.Contains(b.Spec.Checks, c.Name) {
			b.checks = append(b.checks, c)
		}
	}
	if b.derived, err = tableaccess.NewDeriver(b.Table, ins.Derived); err != nil {
		return nil, err
	}
	input := ins.Input
	b.repeatable, b.volatile = repeatable(b.ids.but(input)), volatileColumns(b.ids.but(input))
	b.immutable = immutablePlan(input, ins.Derived)
	if b.Spec.Query != nil {
		return b.queryRows(ctx, prep, input)
	}
	with, ok := b.ids.withKeys(input, prep.NextCol)
	if !ok {
		b.ids.close()
		b.ids, b.repeatable = nil, false
	}
	input, prep.NextCol = with, prep.NextCol+plan.ColID(b.ids.extras())
	prep.Root = b.narrow(withChecks(input, b.checks, prep.NextCol), prep.NextCol)
	prep.Columns = prep.Root.Props().Cols
	prep.NextCol += plan.ColID(len(prep.Columns))
	return prep, b.E.OptimizePlan(ctx, prep)
}

// narrow makes NULL of the columns that no entry holds, where nothing else is done with the rows but to fill secondary
// indexes: the scan below need not decode them. next is free for a column's number.
func (b *Builder) narrow(input plan.Node, next plan.ColID) plan.Node {
	s := &b.Spec
	if b.derived != nil || s.Reshape != nil || len(s.Values)+len(s.Checks)+len(s.NotNull)+len(b.inverted) > 0 || slices.Contains(s.Indexes, 0) {
		return input
	}
	p := &plan.Project{Input: input}
	for ord, c := range input.Props().Cols {
		used := slices.ContainsFunc(b.indexes, func(x *rowcodec.Index) bool {
			return x.HasFamilies() || x.EntryChanged(func(o int) bool { return o == ord })
		})
		if used {
			p.Cols, p.Exprs = append(p.Cols, c), append(p.Exprs, &plan.ColRef{Col: c.ID, T: c.Type, Name: c.Name})
			continue
		}
		p.Cols = append(p.Cols, plan.Column{ID: next, Name: c.Name, Type: c.Type})
		p.Exprs = append(p.Exprs, &plan.Const{T: c.Type, D: types.Null})
		next++
	}
	return p
}

// withChecks adds the conditions as columns.
func withChecks(input plan.Node, checks []plan.CheckExpr, next plan.ColID) plan.Node {
	if len(checks) == 0 {
		return input
	}
	p := &plan.Project{Input: input}
	for _, c := range input.Props().Cols {
		p.Cols = append(p.Cols, c)
		p.Exprs = append(p.Exprs, &plan.ColRef{Col: c.ID, T: c.Type, Name: c.Name})
	}
	for _, c := range checks {
		p.Cols = append(p.Cols, plan.Column{ID: next, Name: c.Name, Type: types.Bool})
		p.Exprs = append(p.Exprs, c.Cond)
		next++
	}
	return p
}

// insertion is INSERT INTO new (...) SELECT ... FROM old: planning it converts
// and completes the rows.
func (b *Builder) insertion() (*ast.Insert, *storedtext.ScratchResolver) {
	s := &b.Spec
	st := &ast.Insert{
		Table:      &ast.TableRef{Name: ast.TableName{Schema: storedtext.ScratchSchema, Table: storedtext.ScratchNew}},
		Overriding: ast.OverridingSystem,
	}
	r := &storedtext.ScratchResolver{Collection: b.E.Coll, Table: s.Table}
	if s.Old == nil {
		return st, r
	}
	r.Old = unindexed(s.Old)
	sel := &ast.Select{From: []ast.TableExpr{&ast.TableRef{
		Name:  ast.TableName{Schema: storedtext.ScratchSchema, Table: storedtext.ScratchOld},
		Alias: ast.Alias{Name: s.Old.Name},
	}}}
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		if c.Virtual {
			continue
		}
		x := s.Values[c.ID]
		if x == nil {
			ord := s.Old.ColumnByID(c.ID)
			if ord < 0 {
				continue
			}
			x = &ast.ColumnRef{Table: s.Old.Name, Column: s.Old.Columns[ord].Name}
		}
		st.Cols = append(st.Cols, ast.Target{Column: c.Name})
		sel.Items = append(sel.Items, ast.SelectItem{X: x})
	}
	st.Source = sel
	return st, r
}

// unindexed is a table without its secondary indexes, whose expressions may have got texts
// already that fit its new form only.
func unindexed(t *catalog.Table) *catalog.Table {
	t = t.Clone()
	t.Indexes = t.Indexes[:1]
	DropUnusedExpressions(t)
	return t
}

// queryRows completes the rows of a query with the defaults of hidden columns.
func (b *Builder) queryRows(ctx context.Context, defaults *plan.Prepared, values plan.Node) (*plan.Prepared, error) {
	q := b.Spec.Query
	if err := b.E.OptimizePlan(ctx, q); err != nil {
		return nil, err
	}
	v, ok := values.(*plan.Values)
	if !ok || len(v.RowExprs) != 1 {
		return nil, pgerr.Assertion("unexpected plan of a table's defaults")
	}
	p := &plan.Project{Input: q.Root}
	next := max(defaults.NextCol, q.NextCol)
	visible := 0
	for ord := range b.Table.Columns {
		c := &b.Table.Columns[ord]
		x := v.RowExprs[0][ord]
		if !c.Hidden {
			src := q.Columns[visible]
			visible++
			x = &plan.ColRef{Col: src.ID, T: src.Type, Name: src.Name}
		}
		p.Cols = append(p.Cols, plan.Column{ID: next, Name: c.Name, Type: c.Type})
		p.Exprs = append(p.Exprs, x)
		next++
	}
	return &plan.Prepared{Root: p, Columns: p.Cols, NextCol: next, Failed: q.Failed}, nil
}

func (b *Builder) compile() error {
	for _, i := range b.Spec.Indexes {
		if b.Table.Indexes[i].Method() == catalog.MethodInverted {
			x, err := inverted.Compile(b.Table, &b.Table.Indexes[i])
			if err != nil {
				return err
			}
			b.inverted = append(b.inverted, x)
			continue
		}
		x, err := rowcodec.Compile(b.Table, &b.Table.Indexes[i])
		if err != nil {
			return err
		}
		b.indexes = append(b.indexes, x)
	}
	if len(b.inverted) > 0 {
		var err error
		if b.rowIndex, err = rowcodec.Compile(b.Table, b.Table.Primary()); err != nil {
			return err
		}
	}
	for i := range b.Table.Columns {
		if slices.Contains(b.Spec.NotNull, b.Table.Columns[i].ID) {
			b.notNull = append(b.notNull, i)
		}
	}
	return nil
}

// prefixes are what the keys of the indexes to fill begin with.
func (b *Builder) prefixes() (out [][]byte) {
	for _, x := range b.indexes {
		out = append(out, x.Prefix())
	}
	for _, x := range b.inverted {
		out = append(out, x.Prefix())
	}
	return out
}

// runIn makes the entries of all rows that a transaction sees.
func (b *Builder) runIn(ctx context.Context, program *exec.Program, txn tableaccess.Txn) error {
	return b.privileged(func() error { return b.runRows(ctx, program, txn) })
}

// privileged calls f with the privileges of the table's owner where f computes nothing but entries of indexes: who builds
// them, perhaps a superuser, has not chosen the functions that their expressions call. Expressions of the statement itself, and defaults of
// new columns, are computed with the privileges of the user.
func (b *Builder) privileged(f func() error) error {
	s := &b.Spec
	if len(s.Indexes) == 0 || len(s.Values) > 0 || s.Query != nil || s.Old == nil || len(s.Old.Columns) != len(s.Table.Columns) {
		return f()
	}
	return b.E.AsOwner(b.Table, f)
}

func (b *Builder) runRows(ctx context.Context, program *exec.Program, txn tableaccess.Txn) error {
	env := operator.Env{}
	if b.E.Exec != nil {
		env = *b.E.Exec
	}
	env.Ctx, env.Txn = ctx, txn
	if _, inOrder := txn.(*part); inOrder {
		env.ParallelWorkers = 0
	}
	b.derived.Start(ctx, env.Builtin, env.Mem)
	_, err := program.Run(&env, func(batch *rowcontainer.Batch) error {
		for i := range batch.Len() {
			if err := b.row(ctx, batch.Row(i)); err != nil {
				return err
			}
		}
		return b.E.Tell(ctx, batch.Len())
	})
	return err
}

// row verifies one row and makes its entries.
func (b *Builder) row(ctx context.Context, row types.Row) error {
	b.rows++
	if err := b.reshape(row); err != nil {
		return err
	}
	if b.ids != nil {
		if err := b.ids.keep(row); err != nil {
			return err
		}
	}
	if err := b.derived.Compute(row[:len(b.Table.Columns)]); err != nil {
		return err
	}
	for _, ord := range b.notNull {
		if row[ord].IsNull() {
			return b.nullsError(ord)
		}
	}
	n := len(b.Table.Columns)
	for i := range b.checks {
		if d := row[n+b.ids.extras()+i]; !d.IsNull() && !d.Bool() {
			e := pgerr.New(pgerr.CheckViolation, "check constraint \"%s\" of relation \"%s\" is violated by some row", b.checks[i].Name, b.Table.Name)
			e.Schema, e.Table, e.Constraint = b.schema, b.Table.Name, b.checks[i].Name
			return e
		}
	}
	row = row[:n]
	if err := b.check.Check(row, b.E.Format); err != nil {
		return err
	}
	for i, x := range b.indexes {
		in, err := b.derived.Has(x.Desc, row)
		if err != nil {
			return err
		}
		if !in {
			continue
		}
		if b.key, err = x.AppendKey(b.key[:0], row); err != nil {
			return err
		}
		if b.value, err = firstValue(b.value[:0], x, row); err != nil {
			return err
		}
		if err := b.out.add(i, b.key, b.value, x.UniqueKeyComplete(row)); err != nil {
			return err
		}
		if err := b.otherPairs(ctx, i, row); err != nil {
			return err
		}
	}
	return b.tokens(ctx, row)
}

// reshape gives the values of a changed composite type its present fields.
func (b *Builder) reshape(row types.Row) (err error) {
	r := b.Spec.Reshape
	if r == nil {
		return nil
	}
	for i := range b.Table.Columns {
		if old := b.Spec.Old.ColumnByID(b.Table.Columns[i].ID); old >= 0 && err == nil {
			row[i], err = r.Apply(b.Spec.Old.Columns[old].Type, row[i], b.E.Format)
		}
	}
	return err
}

// firstValue appends the value of an entry, or of the first pair of a row of several.
func firstValue(dst []byte, x *rowcodec.Index, row types.Row) ([]byte, error) {
	if !x.HasFamilies() {
		return x.AppendValue(dst, row)
	}
	dst, _, err := x.AppendPair(dst, 0, row)
	return dst, err
}

// otherPairs makes the pairs but the first of a row of index i, whose key is at hand.
func (b *Builder) otherPairs(ctx context.Context, i int, row types.Row) error {
	x := b.indexes[i]
	for f := 1; f < x.Families(); f++ {
		value, there, err := x.AppendPair(b.value[:0], f, row)
		if err != nil {
			return err
		}
		if b.value = value; !there {
			continue
		}
		x.SetFamily(b.key, f)
		if err := b.out.add(i, b.key, value, false); err != nil {
			return err
		}
	}
	return nil
}

// tokens makes a row's entries of inverted indexes.
func (b *Builder) tokens(ctx context.Context, row types.Row) error {
	for i, x := range b.inverted {
		in, err := b.derived.Has(x.Desc, row)
		if err != nil {
			return err
		}
		if !in {
			continue
		}
		if b.rowKey, err = b.rowIndex.AppendKey(b.rowKey[:0], row); err != nil {
			return err
		}
		tokens, err := x.Tokens(row, b.E.Format)
		if err != nil {
			return err
		}
		for _, t := range tokens {
			if b.key, err = x.AppendEntry(b.key[:0], t, b.rowKey); err != nil {
				return err
			}
			if err := b.out.add(len(b.indexes)+i, b.key, inverted.EntryValue(), false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Builder) nullsError(ord int) error {
	t := b.Table
	e := pgerr.New(pgerr.NotNullViolation, "column \"%s\" of relation \"%s\" contains null values", t.Columns[ord].Name, t.Name)
	e.Schema, e.Table, e.Column = b.schema, t.Name, t.Columns[ord].Name
	return e
}

// duplicate is 23505 for the key of a row.
func (b *Builder) duplicate(x *rowcodec.Index, row types.Row) error {
	e := pgerr.New(pgerr.UniqueViolation, "could not create unique index \"%s\"", x.Desc.Name)
	if x.Desc.Exclusion {
		e = pgerr.New(exclusionViolation, "could not create exclusion constraint \"%s\"", x.Desc.Name)
	}
	e.Schema, e.Table, e.Constraint = b.schema, b.Table.Name, x.Desc.Name
	if row == nil {
		return e
	}
	cols, vals := "", ""
	for i := range x.Declared {
		if i > 0 {
			cols, vals = cols+", ", vals+", "
		}
		ord := b.Table.DeclaredOrd(x.Desc, i)
		c := &b.Table.Columns[ord]
		cols += c.Name
		if row[ord].IsNull() {
			vals += "null"
			continue
		}
		vals += typeio.FormatDatum(c.Type, row[ord], b.E.Format)
	}
	if x.Desc.Exclusion {
		return e.WithDetail("Key (%s)=(%s) conflicts with key (%s)=(%s).", cols, vals, cols, vals)
	}
	return e.WithDetail("Key (%s)=(%s) is duplicated.", cols, vals)
}

// DropUnusedExpressions removes the hidden columns of t that no index has any more.
func DropUnusedExpressions(t *catalog.Table) {
	t.Columns = slices.DeleteFunc(t.Columns, func(c catalog.Column) bool {
		return c.IndexExpression() && !slices.ContainsFunc(t.Indexes, func(ix catalog.Index) bool {
			return slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool { return k.Column == c.ID })
		})
	})
}
