package alter

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// typeChange is one ALTER COLUMN TYPE of a statement.
type typeChange struct {
	cmd      *ast.AlterCmd
	id       catalog.ColumnID
	from     *types.T
	declared *types.T // what from was declared as: a domain over it, or itself
	resorted bool     // there are indexes with its sort keys
}

// columnTypes is ALTER COLUMN TYPE, of all columns whose types the statement changes: the rows
// and the indexes that hold them are built again, once, unless their stored form
// stays the same.
func (a *Alteration) columnTypes(ctx context.Context) error {
	list := make([]typeChange, 0, len(a.types))
	texts := a.printedTexts(ctx, a.types)
	for _, c := range a.types {
		col, err := a.column(c.Name)
		if err != nil {
			return err
		}
		ch := typeChange{cmd: c, id: col.ID, from: col.Type, declared: relations.DeclaredType(col)}
		if i := slices.IndexFunc(list, func(ch typeChange) bool { return ch.id == col.ID }); i >= 0 {
			if !relations.DeclaredType(col).Shown().Is(list[i].declared.Shown()) || col.Type.Typmod != list[i].from.Typmod {
				return pgerr.New(pgerr.FeatureNotSupported, "cannot alter type of column \"%s\" twice", c.Name)
			}
			list[i] = ch // that one changed nothing but values, which this one computes
		} else {
			list = append(list, ch)
		}
		if err := a.retype(ctx, c, col); err != nil {
			return err
		}
	}
	rewrite, err := a.redefine(ctx, list, texts)
	if err != nil {
		return err
	}
	if err := storedtext.CheckExprs(ctx, a.E, a.T); err != nil {
		return a.castDefaultError(ctx, err, list)
	}
	for i := range list {
		ch := &list[i]
		var err error
		if ch.resorted, err = a.resortKeys(ctx, ch.id); err != nil {
			return err
		}
		rewrite = rewrite || ch.resorted || ch.cmd.X != nil || !sameStorage(ch.from, a.columnByID(ch.id).Type)
	}
	if !rewrite {
		return a.retyped(ctx, list, false)
	}
	if err := a.rebuildColumns(ctx, list); err != nil {
		return a.castError(ctx, err, list)
	}
	return a.retyped(ctx, list, true)
}

// redefine defines what rests on the columns anew, and reports whether values of index expressions are
// stored in another way than before. As in PostgreSQL the expressions of all indexes are read before any index
// gets its operator classes.
func (a *Alteration) redefine(ctx context.Context, list []typeChange, texts []string) (rewrite bool, err error) {
	if err := a.defineTexts(ctx, texts); err != nil {
		return false, err
	}
	if err := a.readIndexTexts(ctx); err != nil {
		return false, err
	}
	for _, ch := range list {
		if err := a.keysServe(ch); err != nil {
			return false, err
		}
	}
	return a.retypeExpressions(ctx)
}

func (a *Alteration) columnByID(id catalog.ColumnID) *catalog.Column {
	return &a.T.Columns[a.T.ColumnByID(id)]
}

// retyped stores the table and verifies what its new types are subject to: foreign keys and
// the constraints of domains.
func (a *Alteration) retyped(ctx context.Context, list []typeChange, rewritten bool) error {
	keys := func() error {
		for _, ch := range list {
			if err := a.retypeKeys(ctx, ch.id, rewritten); err != nil {
				return err
			}
		}
		return nil
	}
	if !rewritten {
		if err := keys(); err != nil {
			return err
		}
	}
	if err := a.Put(ctx); err != nil {
		return err
	}
	for _, ch := range list {
		if err := verifyColumnDomain(ctx, a.E, a.T.ID, a.columnByID(ch.id)); err != nil {
			return err
		}
	}
	if rewritten {
		return keys()
	}
	return nil
}

// prepareType checks one ALTER COLUMN TYPE by itself, on the table as the statement found it.
func (a *Alteration) prepareType(ctx context.Context, c *ast.AlterCmd) error {
	col, err := a.column(c.Name)
	if err != nil {
		return err
	}
	if err := a.declareType(ctx, c, col); err != nil {
		return err
	}
	change := []typeChange{{cmd: c, id: col.ID}}
	spec := backfill.Spec{Old: a.Old, Table: a.T, Values: map[catalog.ColumnID]ast.Expr{}}
	if c.X != nil {
		if err := planner.CheckTransform(ctx, storedtext.PlannerEnv(a.E, a.E.Coll), c.X, a.Old); err != nil {
			return err
		}
		spec.Values[col.ID] = c.X
	}
	// What rests on the columns is checked in its phase.
	a.T.Checks, a.T.ForeignKeys, a.T.Indexes = nil, nil, a.T.Indexes[:1]
	for i := range a.T.Columns {
		a.T.Columns[i].Default, a.T.Columns[i].Generated = "", ""
	}
	prep, err := (&backfill.Builder{E: a.E, Spec: spec, Table: a.T}).Plan(ctx)
	if err != nil {
		return a.castError(ctx, err, change)
	}
	return prep.Failure()
}

// declareType finds the type that c says, gives it to the column, and checks the form of USING.
func (a *Alteration) declareType(ctx context.Context, c *ast.AlterCmd, col *catalog.Column) error {
	typ, domain, err := relations.ColumnType(ctx, a.E, col.Name, c.Type)
	if err != nil {
		return storedtext.Placed(a.E, err)
	}
	if typ, err = storedtext.Collated(ctx, a.E, c.Collate, typ, 0); err != nil {
		return err
	}
	if err := notMember(a.T, typ.WithDomain(domain)); err != nil {
		return err
	}
	if col.Generated != "" && c.X != nil {
		return pgerr.New(pgerr.InvalidColumnDefinition, "cannot specify USING when altering type of generated column").
			WithDetail("Column \"%s\" is a generated column.", col.Name)
	}
	if err := checkTransform(c.X); err != nil {
		return err
	}
	col.Type, col.Domain = typ, domain
	return nil
}

// checkTransform refuses what USING may not contain.
func checkTransform(x ast.Expr) (err error) {
	if x == nil {
		return nil
	}
	ast.Walk(x, func(n ast.Node) bool {
		if err == nil {
			err = storedtext.CheckExprNode(n, "transform expressions", "transform expression")
		}
		return err == nil
	})
	return err
}

// retype gives a column the type that c says.
func (a *Alteration) retype(ctx context.Context, c *ast.AlterCmd, col *catalog.Column) error {
	was := *col
	if err := a.declareType(ctx, c, col); err != nil {
		return err
	}
	typeDefault(ctx, a.E, col, was.Type)
	if err := planner.CheckDefault(ctx, storedtext.PlannerEnv(a.E, a.E.Coll), col); err != nil {
		return a.castDefaultError(ctx, storedtext.DefaultMessage(err), []typeChange{{cmd: c, id: col.ID}})
	}
	if err := a.unpolicedColumn(ctx, col); err != nil {
		return err
	}
	if err := a.untriggeredColumn(col); err != nil {
		return err
	}
	if err := a.unviewedColumn(ctx, col, "cannot alter type of a column used by a view or rule"); err != nil {
		return err
	}
	if err := a.unstoredRows(ctx); err != nil {
		return err
	}
	if list := relations.GeneratedFrom(a.T, col.ID); len(list) > 0 {
		return pgerr.Unsupported("cannot alter type of a column used by a generated column").
			WithDetail("Column \"%s\" is used by generated column \"%s\".", col.Name, list[0].Name)
	}
	return a.retypeIdentity(ctx, c, col)
}

// keysServe makes sure that the indexes and foreign keys over a column can have its new type.
func (a *Alteration) keysServe(ch typeChange) error {
	col := a.columnByID(ch.id)
	if err := relations.CheckClasses(a.T, col, ch.from); err != nil {
		return err
	}
	if k := col.Type.Collation(); k != nil && k.Nondeterministic && storedtext.InKey(a.T, col.ID) {
		return storedtext.ErrByteKey(k)
	}
	return nil
}

// retypeIdentity makes the sequence of an identity column one of the column's new type.
func (a *Alteration) retypeIdentity(ctx context.Context, c *ast.AlterCmd, col *catalog.Column) error {
	if col.Identity == 0 {
		return nil
	}
	if err := relations.IdentityType(col); err != nil {
		return err
	}
	s, err := a.lockSequence(ctx, col)
	if err != nil || s.Sequence.Type.Is(col.Type) {
		return err
	}
	as := ast.SequenceOption{Kind: ast.SeqAs, Type: &ast.TypeName{Names: []ast.Name{ast.Name(col.Type.Name)}}}
	return a.redefineSequence(ctx, s, []ast.SequenceOption{as})
}

// typeDefault gives a default that is a string constant the type that the column had, as whose
// value it is converted to the present one.
func typeDefault(ctx context.Context, e *statement.Env, col *catalog.Column, from *types.T) {
	if col.Default == "" || col.Type.Is(from) || col.Type.Family == from.Family && from.Family == types.StringFamily {
		return
	}
	x, err := parser.ParseExpr(col.Default)
	if _, text := x.(*ast.StrLit); err == nil && text {
		name := types.FormatType(from)
		if schema, _ := e.Coll.PeekTypeSchema(ctx, from.Oid); schema != "" && from.Def != nil {
			name = ast.QuoteIdent(schema) + "." + ast.QuoteIdent(from.Name)
		}
		col.Default += "::" + name
	}
}

// rebuildColumns builds what holds the columns again with their new types. Their values are
// computed of the rows that the statement found, columns that it has dropped included, unless
// the rows have moved since.
func (a *Alteration) rebuildColumns(ctx context.Context, list []typeChange) error {
	spec := backfill.Spec{Old: a.Old, Table: a.T, Values: map[catalog.ColumnID]ast.Expr{}}
	if a.found.Primary().ID == a.Old.Primary().ID {
		spec.Old = a.found
	}
	for _, ch := range list {
		if ch.cmd.X != nil {
			spec.Values[ch.id] = ch.cmd.X
		}
		if a.columnByID(ch.id).NotNull {
			spec.NotNull = append(spec.NotNull, ch.id)
		}
	}
	changes := func(id catalog.ColumnID) bool {
		return slices.ContainsFunc(list, func(ch typeChange) bool { return ch.id == id })
	}
	for i := range a.T.Checks {
		if slices.ContainsFunc(a.T.Checks[i].Columns, changes) {
			spec.Checks = append(spec.Checks, a.T.Checks[i].Name)
		}
	}
	var err error
	if spec.Indexes, err = a.renewHolding(ctx, changes); err != nil {
		return err
	}
	return backfill.Build(ctx, a.E, spec)
}

// renewHolding gives fresh ids to the indexes that hold columns that change, and returns
// their positions: all of them if the primary key changes.
func (a *Alteration) renewHolding(ctx context.Context, changes func(catalog.ColumnID) bool) ([]int, error) {
	inKeys := func(ix *catalog.Index) bool {
		return slices.ContainsFunc(ix.WhereColumns, changes) || slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool {
			c := a.columnByID(k.Column)
			return changes(c.ID) || c.IndexExpression() && slices.ContainsFunc(c.BaseColumns, changes)
		})
	}
	all := inKeys(a.T.Primary()) || slices.ContainsFunc(a.T.Primary().Stored, changes)
	var out []int
	for i := range a.T.Indexes {
		ix := a.T.Declared(&a.T.Indexes[i])
		if i > 0 && !all && !inKeys(ix) && !slices.ContainsFunc(ix.Stored, changes) {
			continue
		}
		renew := a.RenewAlike
		if all || inKeys(ix) {
			renew = a.renewIndex
		}
		if err := renew(ctx, i); err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	return out, nil
}

// resortKeys makes the sort keys of a column that indexes have those under its new collation,
// and reports whether there are such indexes.
func (a *Alteration) resortKeys(ctx context.Context, id catalog.ColumnID) (bool, error) {
	found := false
	for i := range a.T.Indexes {
		for j := range a.T.Indexes[i].Columns {
			k := &a.T.Indexes[i].Columns[j]
			if !k.SortKey || a.T.DeclaredKey(k) != id {
				continue
			}
			found = true
			k.Column, k.SortKey = id, false
			if !a.T.Columns[a.T.ColumnByID(id)].Type.Collatable() {
				k.Collate = nil
			}
			if err := relations.SortKeys(ctx, a.E, a.T, k, a.T.Indexes[i].Unique); err != nil {
				return false, err
			}
		}
	}
	if found {
		backfill.DropUnusedExpressions(a.T)
	}
	return found, nil
}

// sameStorage reports whether all values of one type are stored alike, and
// valid, in the other.
func sameStorage(from, to *types.T) bool {
	text := func(t *types.T) bool { return t.Is(types.Text) || t.Is(types.Varchar) }
	longer := to.Typmod < 0 || from.Typmod >= 0 && from.Typmod <= to.Typmod
	switch {
	case text(from) && text(to):
		return to.Typmod < 0 || from.Is(types.Varchar) && longer
	case integerRank(from) > 0:
		return integerRank(from) <= integerRank(to)
	case !from.Is(to):
		return false
	case from.Is(types.Varbit), from.Is(types.Time), from.Is(types.TimeTZ), from.Is(types.Timestamp), from.Is(types.TimestampTZ):
		return longer
	case from.Is(types.Numeric) && from.Typmod >= 0:
		p, s, _ := types.NumericTypmod(from.Typmod)
		toP, toS, limited := types.NumericTypmod(to.Typmod)
		return !limited || p <= toP && s == toS
	}
	return from.Typmod == to.Typmod
}

// integerRank orders the integers, which are stored alike, by their widths; 0 for other types.
func integerRank(t *types.T) int {
	return 1 + slices.IndexFunc([]*types.T{types.Int2, types.Int4, types.Int8}, t.Is)
}

// changeOf returns the change whose column a type error is about, nil if it is another error.
func (a *Alteration) changeOf(err error, list []typeChange, what string) *typeChange {
	var pe *pgerr.Error
	if !errors.As(err, &pe) || pe.Code != pgerr.DatatypeMismatch || !strings.Contains(pe.Message, what) {
		return nil
	}
	for i := range list {
		if strings.HasPrefix(pe.Message, "column \""+list[i].cmd.Name+"\" is of type ") {
			return &list[i]
		}
	}
	return nil
}

// castDefaultError words a default that does not fit the new type as PostgreSQL does.
func (a *Alteration) castDefaultError(ctx context.Context, err error, list []typeChange) error {
	ch := a.changeOf(err, list, "but default expression is of type")
	if ch == nil {
		return err
	}
	return pgerr.New(pgerr.DatatypeMismatch, "default for column \"%s\" cannot be cast automatically to type %s",
		ch.cmd.Name, typeText(ctx, a.E, a.columnByID(ch.id)))
}

// typeText is what errors call the type that a column was declared with.
func typeText(ctx context.Context, e *statement.Env, c *catalog.Column) string {
	return types.FormatType(catalog.Qualified(ctx, e.Coll, relations.DeclaredType(c)))
}

// castError words a failed conversion as PostgreSQL does.
func (a *Alteration) castError(ctx context.Context, err error, list []typeChange) error {
	ch := a.changeOf(err, list, "but expression is of type")
	if ch == nil {
		return err
	}
	name, typ := ch.cmd.Name, typeText(ctx, a.E, a.columnByID(ch.id))
	if ch.cmd.X != nil {
		return pgerr.New(pgerr.DatatypeMismatch, "result of USING clause for column \"%s\" cannot be cast automatically to type %s",
			name, typ).WithHint("You might need to add an explicit cast.")
	}
	plain := pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" cannot be cast automatically to type %s", name, typ)
	if a.Old.Columns[a.Old.ColumnByID(ch.id)].Generated != "" {
		return plain
	}
	return plain.WithHint("You might need to specify \"USING %s::%s\".", ast.QuoteIdent(name), typ)
}

// unviewedColumn fails if a view uses the column.
func (a *Alteration) unviewedColumn(ctx context.Context, col *catalog.Column, message string) error {
	table, id, name := a.T, col.ID, col.Name
	return a.E.CheckAgain(ctx, func(ctx context.Context) error {
		all, err := a.E.TablesOf(ctx, table.Database)
		if err != nil {
			return err
		}
		for _, v := range all {
			if v.View != nil && viewUses(v, table.ID, id) {
				return pgerr.Unsupported("%s", message).
					WithDetail("rule _RETURN on %s depends on column \"%s\"", a.E.Describe(ctx, v), name)
			}
		}
		return nil
	})
}
