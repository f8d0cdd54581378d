package relations

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// like adds what LIKE copies from another table or a composite type.
func (b *TableBuilder) like(ctx context.Context, l *ast.LikeClause) error {
	has := func(o ast.LikeOption) bool { return l.Options&o != 0 }
	src, _, err := b.e.Coll.FindRelation(ctx, l.Table.Catalog, l.Table.Schema, l.Table.Table)
	if err == nil && src != nil && src.IsComposite() {
		return b.likeColumns(ctx, src.FieldColumns(), has)
	}
	if src, err = b.e.Coll.ResolveTable(ctx, l.Table.Catalog, l.Table.Schema, l.Table.Table); err != nil {
		return pgerr.From(err).At(l.Table.Pos)
	}
	if src.Kind != catalog.KindTable && src.Kind != catalog.KindView && src.Kind != catalog.KindVirtual {
		return pgerr.New(pgerr.WrongObjectType, "relation \"%s\" is invalid in LIKE clause", src.Name).At(l.Pos)
	}
	if err := b.e.Has(privilege.Select)(src); err != nil {
		return err
	}
	if err := b.likeColumns(ctx, src.Columns, has); err != nil {
		return err
	}
	if has(ast.LikeConstraints) {
		for i := range src.Checks {
			if err := b.likeCheck(ctx, src, &src.Checks[i], has(ast.LikeComments)); err != nil {
				return err
			}
		}
	}
	if has(ast.LikeStatistics) {
		b.likeExtended(src, has(ast.LikeComments))
	}
	if has(ast.LikeIndexes) {
		for i := range src.Indexes {
			b.likeIndex(ctx, src, &src.Indexes[i], l.Loc)
		}
		b.likeFamilies(src, l.Loc)
	}
	return nil
}

func (b *TableBuilder) likeColumns(ctx context.Context, cols []catalog.Column, has func(ast.LikeOption) bool) error {
	for i := range cols {
		if cols[i].Hidden {
			continue
		}
		if err := b.likeColumn(ctx, &cols[i], has); err != nil {
			return err
		}
	}
	return nil
}

// likeFamilies asks for families like those of src, which like its indexes say how rows
// are stored.
func (b *TableBuilder) likeFamilies(src *catalog.Table, at ast.Loc) {
	for i := range src.Families {
		f := &src.Families[i]
		d := &ast.FamilyDef{Loc: at, Name: f.Name}
		if slices.ContainsFunc(b.likedFamilies, func(o *ast.FamilyDef) bool { return o.Name == d.Name }) {
			d.Name = "" // of another LIKE: chosen anew
		}
		for _, id := range f.Columns {
			if c := &src.Columns[src.ColumnByID(id)]; !c.Hidden {
				d.Cols = append(d.Cols, c.Name)
			}
		}
		if len(d.Cols) > 0 || f.ID == 0 {
			b.likedFamilies = append(b.likedFamilies, d)
		}
	}
}

func (b *TableBuilder) likeColumn(ctx context.Context, c *catalog.Column, has func(ast.LikeOption) bool) error {
	def := &ColumnDef{Col: catalog.Column{Name: c.Name, Type: c.Type, Domain: c.Domain, NotNull: c.NotNull, NotVisible: c.NotVisible}}
	if has(ast.LikeComments) {
		def.Col.Comment = c.Comment
	}
	if c.Identity == 0 && has(ast.LikeDefaults) {
		def.Col.Default, def.Col.OnUpdate = c.Default, c.OnUpdate
	}
	if c.Identity != 0 && has(ast.LikeIdentity) {
		k := &ast.Constraint{Kind: ast.ConstrIdentity, Always: c.Identity == 'a'}
		if err := ColumnValue(ctx, b.e, b.T, def, k); err != nil {
			return err
		}
		if err := OwnedSequence(ctx, b.e, b.T, b.Schema.Name, def, b.T.NextColumnID); err != nil {
			return err
		}
	}
	if c.Generated != "" && has(ast.LikeGenerated) {
		x, err := parser.ParseExpr(c.Generated)
		if err != nil {
			return err
		}
		def.Generated, def.Col.Virtual = x, c.Virtual
	}
	return b.addColumn(def)
}

func (b *TableBuilder) likeCheck(ctx context.Context, src *catalog.Table, k *catalog.Check, comments bool) error {
	if storedtext.HasWholeRow(k.Expr) {
		return pgerr.Unsupported("cannot convert whole-row table reference").
			WithDetail("Constraint \"%s\" contains a whole-row reference to table \"%s\".", k.Name, src.Name)
	}
	n := catalog.Check{Name: k.Name, Expr: k.Expr, NoInherit: k.NoInherit}
	for _, id := range k.Columns {
		ord, _ := b.T.ColumnByName(src.Columns[src.ColumnByID(id)].Name)
		n.Columns = append(n.Columns, b.T.Columns[ord].ID)
	}
	if ConstraintExists(b.T, n.Name) {
		return DuplicateConstraint(b.T, n.Name)
	}
	if comments {
		n.Comment = k.Comment
	}
	var err error
	n.Oid, err = b.e.Coll.NewOid(ctx)
	b.T.Checks = append(b.T.Checks, n)
	return err
}

// likeIndex asks for an index, or key constraint, like one of src; the name is
// chosen anew.
func (b *TableBuilder) likeIndex(ctx context.Context, src *catalog.Table, ix *catalog.Index, at ast.Loc) {
	ix = src.Declared(ix)
	if ix.Primary && !ix.Constraint {
		return
	}
	name := func(id catalog.ColumnID) string { return src.Columns[src.ColumnByID(id)].Name }
	var keys []ast.IndexElem
	for _, c := range ix.Columns {
		k := ast.IndexElem{Loc: at, Column: name(c.Column), Hash: len(keys) < ix.HashColumns && ix.Buckets == 0, Dir: ast.DirAsc, Nulls: ast.NullsLast}
		if c.Desc {
			k.Dir = ast.DirDesc
		}
		if c.NullsFirst {
			k.Nulls = ast.NullsFirst
		}
		if c.OpClass != "" {
			k.OpClass = []ast.Name{c.OpClass}
		}
		if c.Collate != nil {
			k.Collate = storedtext.CollationRef(ctx, b.e, c.Collate)
		}
		if ix.Method() == catalog.MethodInverted {
			k.Dir, k.Nulls, k.OpClass = ast.DirDefault, ast.NullsDefault, []ast.Name{ix.Inverted}
		}
		if col := &src.Columns[src.ColumnByID(c.Column)]; col.IndexExpression() {
			k.Column = ""
			if k.X, _ = parser.ParseExpr(col.Generated); k.X == nil {
				return
			}
		}
		keys = append(keys, k)
	}
	var buckets ast.Expr
	if ix.Buckets > 0 {
		buckets = &ast.IntLit{Loc: at, Val: int64(ix.Buckets)}
	}
	var where ast.Expr
	if !ix.Total() {
		where, _ = parser.ParseExpr(ix.Where)
	}
	stored := make([]ast.Name, len(ix.Stored))
	for i, id := range ix.Stored {
		stored[i] = name(id)
	}
	if ix.Constraint {
		k := &ast.Constraint{
			Loc: at, Kind: ast.ConstrUnique, Keys: keys, Include: stored, NullsNotDistinct: ix.NullsNotDistinct,
			Sharded: ix.Buckets > 0, Buckets: buckets, Deferrable: ix.Deferrable, InitiallyDeferred: ix.Deferred,
			With: writtenOptions(ix.Options),
		}
		switch {
		case ix.Primary:
			k.Kind = ast.ConstrPrimaryKey
		case ix.Exclusion:
			k.Kind, k.Where, k.ExcludeOps = ast.ConstrExclude, where, slices.Repeat([]ast.Operator{{Name: "="}}, len(keys))
		}
		b.constraints = append(b.constraints, PendingConstraint{Constraint: k})
		return
	}
	method := ast.Name("")
	if !ix.EntriesByRow() {
		method = ast.Name(ix.Method().String())
	}
	b.indexes = append(b.indexes, pendingIndex{
		method: method, loc: at, unique: ix.Unique, keys: keys, stored: slices.Clip(stored), where: where,
		nullsNotDistinct: ix.NullsNotDistinct, sharded: ix.Buckets > 0, buckets: buckets,
		options: ix.Options,
	})
}
