package relations

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxIndexColumns bounds the columns of an index, as in PostgreSQL.
const maxIndexColumns = 32

// pendingIndex is an index or key constraint as written.
type pendingIndex struct {
	loc              ast.Loc
	name             string // "" to choose one
	unique           bool
	primary          bool
	constraint       bool
	nullsNotDistinct bool
	keys             []ast.IndexElem
	stored           []ast.Name
	where            ast.Expr
	exclusion        bool
	deferrable       bool
	deferred         bool
	// sharded hashes all key columns, to buckets of them; nil: defaultBuckets.
	sharded bool
	buckets ast.Expr
	method  ast.Name
	options []string
}

// methodHash is the access method of hash indexes.
const methodHash = "hash"

// Buckets of USING HASH: so many if it does not say, and at most.
const (
	defaultBuckets = 16
	maxBuckets     = 2048
)

// inlineIndex is the INDEX element of CREATE TABLE.
func inlineIndex(e *statement.Env, d *ast.InlineIndex) (pendingIndex, error) {
	p := pendingIndex{loc: d.Loc, name: d.Name, unique: d.Unique, keys: d.Keys, stored: d.Storing}
	p.where, p.sharded, p.buckets, p.nullsNotDistinct = d.Where, d.Sharded, d.Buckets, d.NullsNotDistinct
	var err error
	if p.method, err = accessMethod(d.Loc, d.Method, d.Inverted); err != nil {
		return p, err
	}
	p.options, err = StorageOptions(e, nil, d.With, IndexParameters(p.method))
	return p, err
}

// accessMethod checks the method of an index; the dialect's INVERTED means GIN.
func accessMethod(at ast.Loc, method ast.Name, isInverted bool) (ast.Name, error) {
	if isInverted && method == "" {
		return methodGIN, nil
	}
	switch method {
	case "", "btree", methodHash, methodGIN:
		if !isInverted || method == methodGIN {
			return method, nil
		}
		return "", pgerr.New(pgerr.SyntaxError, "an inverted index can't use access method \"%s\"", method).At(at.Pos)
	case "ybgin": // YugabyteDB's names, which its dumps have
		return methodGIN, nil
	case "lsm":
		return "", nil
	case "gist", "spgist", "brin", "prefix":
		return "", pgerr.Unsupported("access method \"%s\" is not supported", method).At(at.Pos)
	}
	return "", pgerr.New(pgerr.UndefinedObject, "access method \"%s\" does not exist", method)
}

// includedColumns returns the columns of INCLUDE, which have none of the properties
// of keys.
func includedColumns(list []ast.IndexElem) (names []ast.Name, err error) {
	for i := range list {
		el, what := &list[i], ""
		switch {
		case el.X != nil:
			return nil, pgerr.Unsupported("expressions are not supported in included columns")
		case el.Collate != nil:
			what = "a collation"
		case el.OpClass != nil:
			what = "an operator class"
		case el.Hash:
			what = "HASH"
		case el.Dir != ast.DirDefault:
			what = "ASC/DESC options"
		case el.Nulls != ast.NullsDefault:
			what = "NULLS FIRST/LAST options"
		}
		if what != "" {
			return nil, pgerr.New(pgerr.InvalidObjectDefinition, "including column does not support %s", what)
		}
		names = append(names, el.Column)
	}
	return names, nil
}

// CreateIndex is CREATE INDEX. It builds the index beside those who use the table if it need not place it.
func CreateIndex(ctx context.Context, e *statement.Env, st *ast.CreateIndex) error {
	e, done := e.Beside(st.Tablespace == "" && e.DefaultTablespace == "")
	defer done(ctx)
	if err := createIndex(ctx, e, st); err != nil {
		return err
	}
	return e.Settle(ctx)
}

func createIndex(ctx context.Context, e *statement.Env, st *ast.CreateIndex) error {
	old, err := e.LockTable(ctx, st.Table.Name)
	if err != nil {
		return err
	}
	if err := e.CheckUnused(old, "CREATE INDEX"); err != nil {
		return err
	}
	method, err := accessMethod(st.Loc, st.Method, st.Inverted)
	if err != nil {
		return err
	}
	options, err := StorageOptions(e, nil, st.With, IndexParameters(method))
	if err != nil {
		return err
	}
	e.IgnoreConcurrently(st.Concurrently && !e.Sharing())
	ts, err := ChosenTablespace(ctx, e, st.Tablespace)
	if err != nil {
		return err
	}
	schema, err := e.Coll.SchemaByID(ctx, old.Schema)
	if err != nil {
		return err
	}
	if err := e.MayCreateIn(schema); err != nil {
		return err
	}
	stored, err := includedColumns(st.Include)
	if err != nil {
		return err
	}
	t := old.Clone()
	ix, err := newIndex(ctx, e, t, schema.Name, pendingIndex{
		loc: st.Loc, name: st.Name, unique: st.Unique, keys: st.Keys, stored: stored, nullsNotDistinct: st.NullsNotDistinct,
		where: st.Where, sharded: st.Sharded, buckets: st.Buckets, method: method, options: options,
	})
	if err != nil {
		return err
	}
	if st.Name != "" && st.IfNotExists { // what is wrong with its keys was told before
		exists, err := e.NameExists(ctx, schema.Name, st.Name)
		if err != nil {
			return err
		}
		if exists {
			e.Skip(pgerr.DuplicateTable, "relation \"%s\" already exists, skipping", st.Name)
			return nil
		}
	}
	if ts != nil {
		ix.Tablespace = ts.Name
		if err := Place(ctx, e, zoneconfig.IndexObject(t, &ix), ts); err != nil {
			return err
		}
	}
	if err := AddBuiltIndex(ctx, e, old, t, ix); err != nil {
		return err
	}
	return zoneconfig.Presplit(ctx, e, t, &ix, st.SplitInto, st.SplitAt)
}

// AddBuiltIndex adds an index to t, the changed form of old, and fills it.
func AddBuiltIndex(ctx context.Context, e *statement.Env, old, t *catalog.Table, ix catalog.Index) error {
	spec, err := addIndex(ctx, e, old, t, ix)
	if err != nil {
		return err
	}
	return fillIndex(ctx, e, t, ix, spec)
}

// addIndex adds an index to t, the changed form of old, and returns how to fill it.
func addIndex(ctx context.Context, e *statement.Env, old, t *catalog.Table, ix catalog.Index) (spec backfill.Spec, err error) {
	if err := e.AddRelation(ctx, t, ix.Name, true); err != nil {
		return spec, err
	}
	t.Indexes = append(t.Indexes, ix)
	if err := storedtext.CheckExprs(ctx, e, t); err != nil {
		return spec, err
	}
	if err := ComputeConstants(ctx, e, t, DerivedParts{Columns: keyIDs(&ix), predicates: []catalog.IndexID{ix.ID}}); err != nil {
		return spec, err
	}
	return backfill.Spec{Old: old, Table: t, Indexes: []int{len(t.Indexes) - 1}}, nil
}

// fillIndex fills an index that was added.
func fillIndex(ctx context.Context, e *statement.Env, t *catalog.Table, ix catalog.Index, spec backfill.Spec) error {
	if ix.Primary {
		SetNotNull(t, ix.Columns)
		for _, k := range ix.Columns {
			spec.NotNull = append(spec.NotNull, k.Column)
		}
	}
	if t.View == nil || !t.View.Unpopulated { // else there is nothing to fill it with
		if err := backfill.Build(ctx, e, spec); err != nil {
			return err
		}
	}
	return e.Coll.Put(ctx, t)
}

func keyIDs(ix *catalog.Index) []catalog.ColumnID {
	out := make([]catalog.ColumnID, len(ix.Columns))
	for i, k := range ix.Columns {
		out[i] = k.Column
	}
	return out
}

// newIndex makes the descriptor of an index of t. It takes an index id of t but
// does not add the index.
func newIndex(ctx context.Context, e *statement.Env, t *catalog.Table, schema string, p pendingIndex) (catalog.Index, error) {
	ix := catalog.Index{Name: p.name, Unique: p.unique && !p.deferrable, Primary: p.primary, Constraint: p.constraint}
	ix.Deferrable, ix.Deferred, ix.Options = p.deferrable, p.deferred, p.options
	ix.NullsNotDistinct, ix.Exclusion = p.nullsNotDistinct && p.unique, p.exclusion
	if len(p.keys)+len(p.stored) > maxIndexColumns {
		return ix, pgerr.New(pgerr.TooManyColumns, "cannot use more than %d columns in an index", maxIndexColumns).At(p.loc.Pos)
	}
	if p.method == methodGIN {
		if err := checkInverted(&p); err != nil {
			return ix, err
		}
	}
	if p.method == methodHash && !p.sharded {
		if what := notHashed(p); what != "" {
			return ix, pgerr.Unsupported("access method \"hash\" does not support %s", what)
		}
	}
	names, err := keyColumns(ctx, e, t, &ix, &p)
	if err != nil {
		return ix, err
	}
	for _, name := range p.stored {
		ord, ok := VisibleColumn(t, name)
		if !ok {
			return ix, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", name)
		}
		names = append(names, name)
		ix.Stored = append(ix.Stored, t.Columns[ord].ID)
	}
	if err := hashKeys(&ix, p); err != nil {
		return ix, err
	}
	if p.where != nil {
		if ix.Where, ix.WhereColumns, err = storedtext.RowText(ctx, e, t, p.where, nil, storedtext.InIndexPredicate); err != nil {
			return ix, err
		}
	}
	if ix.Name == "" {
		if ix.Name, err = indexName(ctx, e, t, schema, p, names); err != nil {
			return ix, err
		}
	}
	if ix.ID, err = TakeIndexID(ctx, e, t); err != nil {
		return ix, err
	}
	ix.Oid, err = e.Coll.NewOid(ctx)
	return ix, err
}

// keyColumns gives ix its key columns, and returns the names that they lend to the index.
func keyColumns(ctx context.Context, e *statement.Env, t *catalog.Table, ix *catalog.Index, p *pendingIndex) (names []string, err error) {
	for i := range p.keys {
		c, name, err := resolveKey(ctx, e, t, ix, &p.keys[i], p)
		if err != nil {
			return nil, err
		}
		repeated := slices.ContainsFunc(ix.Columns, func(o catalog.IndexColumn) bool { return o.Column == c.Column })
		if repeated && p.constraint {
			return nil, RepeatedKey(name, p.primary).At(p.loc.Pos)
		}
		names = append(names, name)
		ix.Columns = append(ix.Columns, c)
	}
	return names, nil
}

// resolveKey returns a key column of an index, as the method of the index keeps it, and the name
// of what it is a key of.
func resolveKey(
	ctx context.Context, e *statement.Env, t *catalog.Table, ix *catalog.Index, k *ast.IndexElem, p *pendingIndex,
) (c catalog.IndexColumn, name string, err error) {
	if p.method == methodGIN {
		c, ix.Inverted, err = invertedColumn(ctx, e, t, k)
	} else {
		c, err = indexColumn(ctx, e, t, k, p)
	}
	if err != nil {
		return c, "", err
	}
	name = keyName(t, c.Column)
	if ordered := !p.constraint && (p.method == "" || p.method == "btree") && !p.sharded && !k.Hash; ordered {
		if err := SortKeys(ctx, e, t, &c, p.unique); err != nil {
			return c, "", err
		}
	}
	if err := storedtext.ByteKey(t, &c); err != nil {
		return c, "", pgerr.From(err).At(k.Pos)
	}
	if p.primary && t.Columns[t.ColumnByID(c.Column)].Virtual {
		return c, "", pgerr.Unsupported("primary keys on virtual generated columns are not supported").At(p.loc.Pos)
	}
	return c, name, nil
}

// TakeIndexID returns an index id that t never had. A table that is being
// defined counts them; later ones come from the catalog's generator, because
// data may be written under an id outside the transaction, and an id that was
// rolled back must not come again while that data waits to be cleared.
func TakeIndexID(ctx context.Context, e *statement.Env, t *catalog.Table) (catalog.IndexID, error) {
	id := t.NextIndexID
	for t.Version > 0 {
		n, err := e.NewIndexID(ctx)
		if err != nil {
			return 0, err
		}
		if n > math.MaxUint32-1 {
			return 0, pgerr.New(pgerr.ProgramLimitExceeded, "the catalog has run out of index ids")
		}
		if id = catalog.IndexID(n); id >= t.NextIndexID {
			break
		}
	}
	t.NextIndexID = id + 1
	return id, nil
}

// RepeatedKey says that a key names a column twice.
func RepeatedKey(column ast.Name, primary bool) *pgerr.Error {
	kind := "unique"
	if primary {
		kind = "primary key"
	}
	return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" appears twice in %s constraint", column, kind)
}

func indexName(ctx context.Context, e *statement.Env, t *catalog.Table, schema string, p pendingIndex, cols []string) (string, error) {
	taken := func(name string) bool { return p.constraint && ConstraintExists(t, name) }
	columns, label := statement.ColumnsPart(numbered(cols)), "idx"
	switch {
	case p.primary:
		columns, label = "", "pkey"
	case p.exclusion:
		label = "excl"
	case p.constraint:
		label = "key"
	}
	return e.ChooseName(ctx, schema, t.Name, columns, label, taken)
}

// keyName is the part of an index's name that stands for a key column.
func keyName(t *catalog.Table, id catalog.ColumnID) string {
	c := &t.Columns[t.ColumnByID(id)]
	if !c.IndexExpression() {
		return c.Name
	}
	if x, err := parser.ParseExpr(c.Generated); err == nil {
		return planner.IndexColumnName(x)
	}
	return "expr"
}

// numbered tells equal names apart as those of an index's columns are.
func numbered(names []string) []string {
	out := make([]string, 0, len(names))
	for _, base := range names {
		name := base
		for n := 1; slices.Contains(out, name); n++ {
			name = base + strconv.Itoa(n)
		}
		out = append(out, name)
	}
	return out
}

// hashKeys sets which columns of the key are hashed.
func hashKeys(ix *catalog.Index, p pendingIndex) error {
	for ix.HashColumns < len(p.keys) && p.keys[ix.HashColumns].Hash {
		ix.HashColumns++
	}
	for _, k := range p.keys[ix.HashColumns:] {
		if k.Hash {
			return pgerr.New(pgerr.SyntaxError, "hash columns must come before all others in a key").At(k.Pos)
		}
	}
	switch {
	case p.method == methodHash && !p.sharded:
		ix.HashColumns = 1
	case p.sharded:
		ix.HashColumns, ix.Buckets = len(p.keys), defaultBuckets
		if p.buckets == nil {
			return nil
		}
		n, ok := p.buckets.(*ast.IntLit)
		if !ok || n.Val < 2 || n.Val > maxBuckets {
			return pgerr.New(pgerr.InvalidParameterValue, "the number of buckets must be between 2 and %d", maxBuckets).At(p.buckets.Position())
		}
		ix.Buckets = int32(n.Val)
	}
	return nil
}

// notHashed names what keeps an index from using access method hash, "" for nothing.
func notHashed(p pendingIndex) string {
	switch k := p.keys[0]; {
	case p.unique:
		return "unique indexes"
	case len(p.keys) > 1:
		return "multicolumn indexes"
	case len(p.stored) > 0:
		return "included columns"
	case k.Dir != ast.DirDefault:
		return "ASC/DESC options"
	case k.Nulls != ast.NullsDefault:
		return "NULLS FIRST/LAST options"
	}
	return ""
}

// VisibleColumn returns the position of the column that SQL knows by that name.
func VisibleColumn(t *catalog.Table, name string) (int, bool) {
	ord, ok := t.ColumnByName(name)
	return ord, ok && !t.Columns[ord].Hidden
}

// keyColumn finds the column of a key, or makes that of its expression.
func keyColumn(ctx context.Context, e *statement.Env, t *catalog.Table, k *ast.IndexElem, constraint bool) (*catalog.Column, error) {
	name := k.Column
	if ref, ok := k.X.(*ast.ColumnRef); ok && !ref.Star {
		name = ref.Column
	} else if k.X != nil {
		col, err := expressionColumn(ctx, e, t, k.X)
		if err != nil {
			return nil, err
		}
		name = col.Name
	}
	ord, ok := t.ColumnByName(name)
	if ok && t.Columns[ord].Hidden {
		ok = t.Columns[ord].IndexExpression() && k.X != nil
	}
	if !ok {
		if constraint {
			return nil, undefinedKeyColumn(name)
		}
		err := pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", name)
		if k.X != nil {
			err = err.At(k.X.Position())
		}
		return nil, err
	}
	col := &t.Columns[ord]
	return col, nil
}

// indexColumn checks one key column.
func indexColumn(ctx context.Context, e *statement.Env, t *catalog.Table, k *ast.IndexElem, p *pendingIndex) (catalog.IndexColumn, error) {
	var c catalog.IndexColumn
	k = collatedKey(k)
	col, err := keyColumn(ctx, e, t, k, p.constraint)
	if err != nil {
		return c, err
	}
	method := p.accessMethod()
	if err := CheckOpClass(k, method, keyType(col)); err != nil {
		return c, err
	}
	if !hasClass(method, col.Type) {
		return c, errNoClass(method, keyType(col))
	}
	if err := rowcodec.CheckOrderable(col.Type); err != nil {
		return c, pgerr.From(err).At(k.Pos)
	}
	c.Column = col.ID
	if name := lastName(k.OpClass); name != defaultClass(col.Type) {
		c.OpClass = name
	}
	if c.Collate, err = storedtext.KeyCollation(ctx, e, k, col); err != nil {
		return c, err
	}
	c.Desc = k.Dir == ast.DirDesc
	c.NullsFirst = c.Desc
	if k.Nulls != ast.NullsDefault {
		c.NullsFirst = k.Nulls == ast.NullsFirst
	}
	return c, nil
}

// accessMethod is the method that a key's operator class is of.
func (p *pendingIndex) accessMethod() string {
	if p.method == methodHash && !p.sharded {
		return methodHash
	}
	return "btree"
}

// keyType is the type of a key as it was declared, a domain if it is of one.
func keyType(col *catalog.Column) *types.T {
	if col.Domain != nil {
		return col.Domain
	}
	return col.Type
}

// hasClass reports whether a type has a default operator class of an access method.
func hasClass(method string, t *types.T) bool {
	unhashed := t.Is(types.Bit) || t.Is(types.Varbit) || t.Is(types.TSVector) || t.Is(types.TSQuery)
	return types.HasOrder(t) && !(method == methodHash && unhashed)
}

func errNoClass(method string, t *types.T) error {
	return pgerr.New(pgerr.UndefinedObject, "data type %s has no default operator class for access method \"%s\"", t.SQLName, method).
		WithHint("You must specify an operator class for the index or define a default operator class for the data type.")
}

// collatedKey makes the collation of a key's expression that of the key: (x COLLATE y) is the
// same as x COLLATE y.
func collatedKey(k *ast.IndexElem) *ast.IndexElem {
	x, ok := k.X.(*ast.Collate)
	if !ok {
		return k
	}
	c := *k
	c.X = x.X
	if c.Collate == nil {
		c.Collate = x.Name
	}
	return collatedKey(&c)
}

// lastName is a name without its schema, "" if there is none.
func lastName(name []ast.Name) string {
	if len(name) == 0 {
		return ""
	}
	return name[len(name)-1]
}

// familyClasses are the default operator classes of types that are made of others.
var familyClasses = map[types.Family]ast.Name{
	types.ArrayFamily: "array_ops", types.EnumFamily: "enum_ops", types.RangeFamily: "range_ops", types.MultirangeFamily: "multirange_ops",
	types.RecordFamily: "record_ops",
}

// defaultClass is the name of the operator class that a type has unless another one is written.
func defaultClass(t *types.T) ast.Name {
	switch {
	case t.Is(types.Varchar):
		t = types.Text
	case t.Is(types.CIDR):
		t = types.Inet
	}
	if class, ok := familyClasses[t.Family]; ok {
		return class
	}
	return t.Name + "_ops"
}

// sharedClass reports whether an operator class that several types share accepts type t, and
// whether it is one.
func sharedClass(name ast.Name, t *types.T) (ok, known bool) {
	switch name {
	case "text_ops", "varchar_ops", "text_pattern_ops", "varchar_pattern_ops":
		return t.Is(types.Text) || t.Is(types.Varchar), true
	case "bpchar_ops", "bpchar_pattern_ops":
		return t.Is(types.Bpchar) || t.Is(types.Text) || t.Is(types.Varchar), true
	case "inet_ops", "cidr_ops":
		return t.Is(types.Inet) || t.Is(types.CIDR), true
	}
	return false, false
}

// CheckOpClass accepts the default operator class of a type, and the pattern
// classes, which order as the only collation does.
func CheckOpClass(k *ast.IndexElem, method string, declared *types.T) error {
	if len(k.OpClass) == 0 {
		return nil
	}
	t := declared.BaseType()
	name := k.OpClass[len(k.OpClass)-1]
	if len(k.OpArgs) == 0 {
		if name == defaultClass(t) {
			return nil
		}
		if ok, known := sharedClass(name, t); ok {
			return nil
		} else if known {
			return pgerr.New(pgerr.DatatypeMismatch, "operator class \"%s\" does not accept data type %s", name, declared.SQLName)
		}
	}
	switch {
	case !existingClass(name):
		return pgerr.New(pgerr.UndefinedObject, "operator class \"%s\" does not exist for access method \"%s\"", strings.Join(k.OpClass, "."), method)
	case name != "record_image_ops" && len(k.OpArgs) == 0:
		return pgerr.New(pgerr.DatatypeMismatch, "operator class \"%s\" does not accept data type %s", name, types.FormatType(declared))
	}
	return pgerr.Unsupported("operator class \"%s\" is not supported", name).At(k.Pos)
}

// otherClasses are the operator classes of PostgreSQL's btree that no type here has by default.
var otherClasses = []ast.Name{"enum_ops", "name_ops", "oidvector_ops", "record_image_ops", "tid_ops"}

// existingClass reports whether there is an operator class of a name.
func existingClass(name ast.Name) bool {
	return slices.Contains(otherClasses, name) || slices.ContainsFunc(types.All(), func(t *types.T) bool { return defaultClass(t) == name })
}
