package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Limits of statistics objects, as in PostgreSQL.
const (
	maxExtendedColumns = 8
	maxExtendedTarget  = 10000
)

// extendedKinds are the names of the kinds of extended statistics.
var extendedKinds = map[ast.Name]string{
	"ndistinct": string(catalog.ExtendedDistinct), "dependencies": string(catalog.ExtendedDependencies), "mcv": string(catalog.ExtendedCommon),
}

// createStatistics is CREATE STATISTICS.
func createStatistics(ctx context.Context, e *statement.Env, st *ast.CreateStatistics) error {
	ref, ok := st.From[0].(*ast.TableRef)
	if len(st.From) > 1 || !ok {
		return pgerr.Unsupported("only a single relation is allowed in CREATE STATISTICS")
	}
	name := ref.Name
	name.Loc = ast.Loc{} // PostgreSQL's errors don't point at it
	t, index, err := e.LockRelationTo(ctx, name, e.Owns)
	switch {
	case err != nil:
		return err
	case t == nil:
		return e.UndefinedRelation(ctx, name)
	case index || t.Kind != catalog.KindTable:
		return noStatistics(t, index, name.Table)
	}
	own := st.Name
	own.Loc = ast.Loc{}
	schema, err := e.TargetSchema(ctx, own)
	if err != nil {
		return err
	}
	exists := pgerr.New(pgerr.DuplicateObject, "statistics object \"%s\" already exists", own.Table)
	if found, err := e.TablesOf(ctx, t.Database); err != nil {
		return err
	} else if slices.ContainsFunc(found, func(o *catalog.Table) bool { return relations.ExtendedNamed(o, schema.ID, own.Table) >= 0 }) {
		if st.IfNotExists {
			e.Skip(pgerr.DuplicateObject, "%s, skipping", exists.Message)
			return nil
		}
		return exists
	}
	x := catalog.Extended{Schema: schema.ID, Name: own.Table, Target: -1}
	if x.Columns, err = extendedColumns(t, st); err != nil {
		return err
	}
	if x.Kinds, err = kindsOf(st.Kinds); err != nil {
		return err
	}
	if len(x.Columns) < 2 {
		return pgerr.New(pgerr.InvalidObjectDefinition, "extended statistics require at least 2 columns")
	}
	if err := sortColumns(t, x.Columns); err != nil {
		return err
	}
	t = t.Clone()
	taken, err := relations.AddExtended(ctx, e, t, x)
	if err != nil {
		return err
	}
	if taken {
		return exists
	}
	return e.Coll.Put(ctx, t)
}

// noStatistics is 42809 for relations of a kind that has no extended statistics.
func noStatistics(t *catalog.Table, index bool, name string) error {
	kind := "sequences"
	switch {
	case index:
		kind = "indexes"
	case t.Kind == catalog.KindView:
		kind = "views"
	case t.IsComposite():
		kind = "composite types"
	}
	return pgerr.New(pgerr.WrongObjectType, "cannot define statistics for relation \"%s\"", name).WithDetail("This operation is not supported for %s.", kind)
}

// extendedColumns finds the columns of a statistics object.
func extendedColumns(t *catalog.Table, st *ast.CreateStatistics) (ids []catalog.ColumnID, err error) {
	if len(st.Elems) > maxExtendedColumns {
		return nil, pgerr.New(pgerr.TooManyColumns, "cannot have more than %d columns in statistics", maxExtendedColumns)
	}
	for i := range st.Elems {
		el := &st.Elems[i]
		column := el.Column
		if ref, ok := el.X.(*ast.ColumnRef); ok && ref.Table == "" && !ref.Star {
			column = ref.Column
		} else if el.X != nil {
			return nil, pgerr.Unsupported("extended statistics of expressions are not supported").At(el.Pos)
		}
		ord, ok := relations.VisibleColumn(t, column)
		if !ok && slices.Contains(systemColumns, column) {
			return nil, pgerr.Unsupported("statistics creation on system columns is not supported")
		}
		if !ok {
			return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", column)
		}
		c := &t.Columns[ord]
		switch {
		case !types.HasOrder(c.Type):
			return nil, pgerr.Unsupported("column \"%s\" cannot be used in statistics because its type %s has no default btree operator class",
				column, types.FormatType(c.ValueType().Shown().WithTypmod(-1)))
		case c.Virtual:
			return nil, pgerr.Unsupported("extended statistics of virtual columns are not supported")
		}
		ids = append(ids, c.ID)
	}
	return ids, nil
}

// systemColumns are those that every table of PostgreSQL has.
var systemColumns = []string{"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}

// kindsOf reads the kinds of a statistics object, all if none are written.
func kindsOf(names []ast.Name) (string, error) {
	if len(names) == 0 {
		return catalog.AllExtended, nil
	}
	given := ""
	for _, n := range names {
		k := extendedKinds[n]
		if k == "" {
			return "", pgerr.New(pgerr.SyntaxError, "unrecognized statistics kind \"%s\"", n)
		}
		given += k
	}
	var kinds strings.Builder
	for _, k := range catalog.AllExtended {
		if strings.ContainsRune(given, k) {
			kinds.WriteRune(k)
		}
	}
	return kinds.String(), nil
}

// sortColumns brings columns into the order of the table, and refuses one that is there twice.
func sortColumns(t *catalog.Table, ids []catalog.ColumnID) error {
	slices.SortFunc(ids, func(a, b catalog.ColumnID) int { return t.ColumnByID(a) - t.ColumnByID(b) })
	if len(slices.Compact(slices.Clone(ids))) < len(ids) {
		return pgerr.New(pgerr.DuplicateColumn, "duplicate column name in statistics definition")
	}
	return nil
}

// findStatistics finds a statistics object by its name, on the search path if it has no schema.
func findStatistics(ctx context.Context, e *statement.Env, n ast.TableName) (t *catalog.Table, i int, err error) {
	db := e.Coll.CurrentDatabase()
	if n.Catalog != "" && n.Catalog != db.Name {
		return nil, 0, pgerr.Unsupported("cross-database references are not implemented: %s.%s.%s", n.Catalog, n.Schema, n.Table)
	}
	all, err := e.TablesOf(ctx, db.ID)
	if err != nil {
		return nil, 0, err
	}
	path := e.Coll.SearchPath()
	if n.Schema != "" {
		if _, err := e.SchemaNamed(ctx, n.Schema, 0); err != nil {
			return nil, 0, err
		}
		path = []string{n.Schema}
	}
	for _, p := range path {
		s, err := e.Coll.FindSchema(ctx, p)
		if err != nil {
			return nil, 0, err
		}
		if s == nil {
			continue
		}
		for _, t := range all {
			if i := relations.ExtendedNamed(t, s.ID, n.Table); i >= 0 {
				return t, i, nil
			}
		}
	}
	name := n.Table
	if n.Schema != "" {
		name = n.Schema + "." + n.Table
	}
	return nil, 0, pgerr.New(pgerr.UndefinedObject, "statistics object \"%s\" does not exist", name)
}

// changeStatistics locks the table of a statistics object that the user owns, and stores what f makes of it.
func changeStatistics(ctx context.Context, e *statement.Env, n ast.TableName, f func(t *catalog.Table, x *catalog.Extended) error) error {
	n.Loc = ast.Loc{}
	found, i, err := findStatistics(ctx, e, n)
	if err != nil {
		return err
	}
	oid := found.Extended[i].Oid
	if !e.Coll.Me().Has(found.Owner.Role()) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of statistics object %s", statisticsName(n))
	}
	t, err := e.LockByID(ctx, found.ID)
	if err != nil {
		return err
	}
	x := t.ExtendedByOid(oid)
	if x == nil { // dropped meanwhile
		return changeStatistics(ctx, e, n, f)
	}
	if err := f(t, x); err != nil {
		return err
	}
	return e.Coll.Put(ctx, t)
}

// statisticsName is a name as errors about privileges have it.
func statisticsName(n ast.TableName) string {
	if n.Schema != "" {
		return n.Schema + "." + n.Table
	}
	return n.Table
}

// alterStatistics is ALTER STATISTICS ... SET STATISTICS.
func alterStatistics(ctx context.Context, e *statement.Env, st *ast.AlterStatistics) error {
	target := st.Target
	switch {
	case target < -1:
		return pgerr.New(pgerr.InvalidParameterValue, "statistics target %d is too low", target)
	case target > maxExtendedTarget:
		target = maxExtendedTarget
		e.Notify("WARNING", pgerr.New(pgerr.InvalidParameterValue, "lowering statistics target to %d", maxExtendedTarget))
	}
	err := changeStatistics(ctx, e, st.Name, func(_ *catalog.Table, x *catalog.Extended) error {
		x.Target = int32(target)
		return nil
	})
	return skipMissing(e, err, st.IfExists)
}

// skipMissing makes a notice of the error of what does not exist, with IF EXISTS.
func skipMissing(e *statement.Env, err error, ifExists bool) error {
	if code := pgerr.CodeOf(err); ifExists && (code == pgerr.UndefinedObject || code == pgerr.InvalidSchemaName) {
		e.Skip(pgerr.SuccessfulCompletion, "%s, skipping", pgerr.From(err).Message)
		return nil
	}
	return err
}

// alterStatisticsObject is ALTER STATISTICS ... RENAME, SET SCHEMA and OWNER.
func alterStatisticsObject(ctx context.Context, e *statement.Env, st *ast.AlterObject) error {
	return changeStatistics(ctx, e, qualified(st.Name, st.Loc), func(t *catalog.Table, x *catalog.Extended) error {
		if st.Owner != nil {
			to, err := e.Role(st.Owner)
			if err == nil && to != t.Owner {
				err = pgerr.Unsupported("statistics objects belong to the owner of their table").WithHint("Change the owner of table %s.", ast.QuoteIdent(t.Name))
			}
			return err
		}
		schema, err := e.Coll.SchemaByID(ctx, x.Schema)
		if err != nil {
			return err
		}
		name := x.Name
		if st.NewSchema != "" {
			if schema, err = e.TargetSchema(ctx, ast.TableName{Schema: st.NewSchema}); err != nil || schema.ID == x.Schema {
				return err
			}
		} else {
			if err := e.MayCreateIn(schema); err != nil {
				return err
			}
			name = st.NewName
		}
		taken, err := relations.RenameExtended(ctx, e, t, x, schema.ID, name)
		if taken {
			return pgerr.New(pgerr.DuplicateObject, "statistics object \"%s\" already exists in schema \"%s\"", name, schema.Name)
		}
		return err
	})
}

// commentStatistics is COMMENT ON STATISTICS.
func commentStatistics(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	return changeStatistics(ctx, e, qualified(st.Name, st.Loc), func(_ *catalog.Table, x *catalog.Extended) error {
		x.Comment = st.Text
		return nil
	})
}

// dropStatistics is DROP STATISTICS.
func dropStatistics(ctx context.Context, e *statement.Env, st *ast.Drop) error {
	for _, n := range st.Names {
		err := changeStatistics(ctx, e, n, func(t *catalog.Table, x *catalog.Extended) error {
			oid := x.Oid
			return relations.RemoveExtended(ctx, e, t, func(x *catalog.Extended) bool { return x.Oid == oid })
		})
		if err := skipMissing(e, err, st.IfExists); err != nil {
			return err
		}
	}
	return nil
}
