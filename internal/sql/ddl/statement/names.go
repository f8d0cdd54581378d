package statement

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// TargetSchema finds the schema in which a new object goes.
func (e *Env) TargetSchema(ctx context.Context, n ast.TableName) (*catalog.Schema, error) {
	if n.Catalog != "" && n.Catalog != e.Coll.CurrentDatabase().Name {
		return nil, pgerr.Unsupported("cross-database references are not implemented: \"%s.%s.%s\"",
			n.Catalog, n.Schema, n.Table).At(n.Pos)
	}
	if n.Schema == "pg_temp" {
		return e.tempSchema(ctx)
	}
	if n.Schema != "" {
		s, err := e.SchemaNamed(ctx, n.Schema, n.Pos)
		if err != nil {
			return nil, err
		}
		if err := NotBuiltIn(s, n.Table); err != nil {
			return nil, err
		}
		return s, at(e.MayCreateIn(s), n.Pos)
	}
	for _, name := range e.Coll.CreationPath() {
		s, err := e.Coll.FindSchema(ctx, name)
		if err != nil {
			return nil, err
		}
		if s != nil && !s.ID.IsVirtual() && e.Coll.MayUse(s) {
			return s, at(e.MayCreateIn(s), n.Pos)
		}
	}
	if slices.Contains(e.Coll.CreationPath(), "pg_temp") {
		return e.tempSchema(ctx)
	}
	return nil, pgerr.New(pgerr.InvalidSchemaName, "no schema has been selected to create in").At(n.Pos)
}

// SchemaNamed finds a schema of the current database; 3F000 if there is none.
func (e *Env) SchemaNamed(ctx context.Context, name string, pos int) (*catalog.Schema, error) {
	s, err := e.Coll.FindSchema(ctx, name)
	if err == nil && s == nil {
		return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", name).At(pos)
	}
	return s, err
}

// NotBuiltIn refuses to put objects into schemas of the system.
func NotBuiltIn(s *catalog.Schema, object string) error {
	if s.ID.IsVirtual() {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to create \"%s.%s\"", s.Name, object).
			WithDetail("System catalog modifications are currently disallowed.")
	}
	return nil
}

// AddRelation takes the name of a relation or index in its schema.
func (e *Env) AddRelation(ctx context.Context, t *catalog.Table, name string, index bool) error {
	if err := e.RowArrays(ctx, t); err != nil {
		return err
	}
	k := catalog.NameKey{Database: t.Database, Schema: t.Schema, Name: name}
	taken, err := e.Coll.AddName(ctx, k, catalog.NameEntry{ID: t.ID, Index: index})
	if err == nil && taken {
		return ErrRelationExists(name)
	}
	if err != nil || index {
		return err
	}
	if err = e.TypeNameFree(ctx, k); pgerr.CodeOf(err) == pgerr.DuplicateObject {
		return pgerr.From(err).WithHint("A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.")
	}
	return err
}

// TypeNameFree locks a name and fails if a type other than a relation's row type has it.
func (e *Env) TypeNameFree(ctx context.Context, k catalog.NameKey) error {
	name := k.Name
	k.Name = catalog.TypeName(name)
	_, taken, err := e.Coll.LockName(ctx, k)
	if err == nil && taken {
		err = ErrTypeExists(name)
	}
	return err
}

// AddTypeName adds the name of a type other than a relation's row type to the catalog.
func (e *Env) AddTypeName(ctx context.Context, t *catalog.Table) error {
	k := catalog.NameKey{Database: t.Database, Schema: t.Schema, Name: t.StoredName()}
	taken, err := e.Coll.AddName(ctx, k, catalog.NameEntry{ID: t.ID})
	if err == nil && taken {
		return ErrTypeExists(t.Name)
	}
	if err != nil {
		return err
	}
	k.Name = t.Name
	return e.NoRowType(ctx, k)
}

// NoRowType locks a name and fails if a relation with a row type has it.
func (e *Env) NoRowType(ctx context.Context, k catalog.NameKey) error {
	entry, found, err := e.Coll.LockName(ctx, k)
	if err != nil || !found || entry.Index {
		return err
	}
	r, err := e.Coll.TableByID(ctx, entry.ID)
	if err == nil && r.NamesType() {
		err = ErrTypeExists(k.Name)
	}
	return err
}

// ErrTypeExists returns the error for a type whose name is taken.
func ErrTypeExists(name string) *pgerr.Error {
	return pgerr.New(pgerr.DuplicateObject, "type \"%s\" already exists", name)
}

// ErrRelationExists returns the error for a relation whose name is taken.
func ErrRelationExists(name string) *pgerr.Error {
	return pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", name)
}

// RowArrays creates the array type of a relation's row type, if it is missing.
func (e *Env) RowArrays(ctx context.Context, t *catalog.Table) error {
	if t.RowArrayOid != 0 || !t.HasRows() {
		return nil
	}
	var err error
	t.RowArrayOid, err = e.Coll.NewOid(ctx)
	return err
}

// RemoveRelationName frees the name of a relation.
func (e *Env) RemoveRelationName(ctx context.Context, t *catalog.Table, name string) error {
	return e.Coll.RemoveName(ctx, catalog.NameKey{Database: t.Database, Schema: t.Schema, Name: name})
}

// Relation finds a relation by the name written; index says that it names an
// index of the table returned. It returns nil if there is none.
func (e *Env) Relation(ctx context.Context, n ast.TableName) (t *catalog.Table, index bool, err error) {
	t, index, err = e.Coll.FindRelation(ctx, n.Catalog, n.Schema, n.Table)
	if err == nil && t != nil && t.ID.IsVirtual() {
		return nil, false, pgerr.New(pgerr.InsufficientPrivilege, "permission denied: \"%s\" is a system catalog", t.Name).At(n.Pos)
	}
	return t, index, err
}

// RelationToLock is Relation for a statement that locks the relation exclusively afterwards: it waits for those who change it
// before it pins it, since two that have pinned a relation can't both lock it.
func (e *Env) RelationToLock(ctx context.Context, n ast.TableName) (t *catalog.Table, index bool, err error) {
	if err := e.queue(ctx, n); err != nil {
		return nil, false, err
	}
	return e.Relation(ctx, n)
}

// LockRelation finds a relation that the user owns and locks it exclusively. It returns nil if
// there is none.
func (e *Env) LockRelation(ctx context.Context, n ast.TableName) (t *catalog.Table, index bool, err error) {
	return e.LockRelationTo(ctx, n, e.Owns)
}

// LockRelationTo is LockRelation for who may do something else than owners.
func (e *Env) LockRelationTo(ctx context.Context, n ast.TableName, may May) (t *catalog.Table, index bool, err error) {
	for {
		if err := e.queue(ctx, n); err != nil {
			return nil, false, err
		}
		if t, index, err = e.Relation(ctx, n); err != nil || t == nil {
			return nil, false, err
		}
		if err := may(t); err != nil {
			return nil, false, err
		}
		if err := e.Lock(ctx, t.ID); err != nil {
			return nil, false, err
		}
		again, index2, err := e.Relation(ctx, n)
		if err != nil {
			return nil, false, err
		}
		if again != nil && again.ID == t.ID && index2 == index {
			return again, index, nil
		}
	}
}

// LockTable finds a table and locks it exclusively; anything else is an error.
func (e *Env) LockTable(ctx context.Context, n ast.TableName) (*catalog.Table, error) {
	return e.LockTableTo(ctx, n, e.Owns)
}

// LockTableTo is LockTable for who may do something else than owners.
func (e *Env) LockTableTo(ctx context.Context, n ast.TableName, may May) (*catalog.Table, error) {
	t, index, err := e.LockRelationTo(ctx, n, may)
	return e.table(ctx, n, t, index, err)
}

// queue waits for those who change the relation, before it is pinned.
func (e *Env) queue(ctx context.Context, n ast.TableName) error {
	if n.Catalog != "" {
		return nil
	}
	return e.Coll.Queue(ctx, string(n.Schema), string(n.Table))
}

// table returns what was found by a name if it is a table.
func (e *Env) table(ctx context.Context, n ast.TableName, t *catalog.Table, index bool, err error) (*catalog.Table, error) {
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, e.UndefinedRelation(ctx, n)
	case index || t.Kind != catalog.KindTable:
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table", n.Table)
	}
	return t, nil
}

// UndefinedRelation says that there is no relation of a name.
func (e *Env) UndefinedRelation(ctx context.Context, n ast.TableName) error {
	return e.Coll.UndefinedRelation(ctx, n.Schema, n.Table)
}

// NameExists reports whether a relation or index of that name is in the schema.
func (e *Env) NameExists(ctx context.Context, schema ast.Name, name string) (bool, error) {
	s, err := e.Coll.FindSchema(ctx, schema)
	if err != nil {
		return false, err
	}
	// The names of a table that is being made lead nowhere yet.
	if s != nil && e.Coll.NameTaken(catalog.NameKey{Database: s.Database, Schema: s.ID, Name: name}) {
		return true, nil
	}
	t, _, err := e.Coll.FindRelation(ctx, "", schema, name)
	return t != nil, err
}

// ChooseName makes the name of a generated object as PostgreSQL does, for
// example t_a_b_key, with a number if a relation has it, or it is taken otherwise.
func (e *Env) ChooseName(ctx context.Context, schema, table, columns, label string, taken func(string) bool) (string, error) {
	for n := 0; ; n++ {
		suffix := label
		if n > 0 {
			suffix += strconv.Itoa(n)
		}
		name := ObjectName(table, columns, suffix)
		if taken != nil && taken(name) {
			continue
		}
		exists, err := e.NameExists(ctx, schema, name)
		if err != nil || !exists {
			return name, err
		}
	}
}

// ObjectName joins the parts with underscores and shortens the longer of the
// first two until the result fits an identifier.
func ObjectName(a, b, label string) string {
	overhead := 0
	if label != "" {
		overhead += len(label) + 1
	}
	if b != "" {
		overhead++
	}
	avail := max(ast.MaxIdentLen-overhead, 2)
	for len(a)+len(b) > avail {
		if len(a) > len(b) {
			a = clip(a, len(a)-1)
		} else {
			b = clip(b, len(b)-1)
		}
	}
	parts := []string{a}
	if b != "" {
		parts = append(parts, b)
	}
	if label != "" {
		parts = append(parts, label)
	}
	return strings.Join(parts, "_")
}

// clip shortens s to at most n bytes without splitting a character.
func clip(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ColumnsPart joins column names for a generated name.
func ColumnsPart(cols []string) string {
	s := strings.Join(cols, "_")
	if len(s) > ast.MaxIdentLen {
		s = clip(s, ast.MaxIdentLen)
	}
	return s
}

// Describe names an object in messages about dependencies, with its schema
// unless the search path finds it.
func (e *Env) Describe(ctx context.Context, t *catalog.Table) string {
	kind := map[catalog.Kind]string{
		catalog.KindTable: "table", catalog.KindView: "view", catalog.KindSequence: "sequence",
		catalog.KindType: "type", catalog.KindCollation: "collation", catalog.KindRoutine: "function",
	}[t.Kind]
	switch {
	case t.OwnOperator():
		kind = "operator"
	case t.Materialized():
		kind = "materialized view"
	}
	return kind + " " + e.DisplayName(ctx, t)
}

// DisplayName names a relation, a type or a collation, with its schema unless search_path finds it.
func (e *Env) DisplayName(ctx context.Context, t *catalog.Table) string {
	if t.Kind == catalog.KindRoutine {
		return e.Signature(ctx, t)
	}
	if t.Kind == catalog.KindCollation {
		if found, err := e.Coll.FindCollation(ctx, "", t.Name); err == nil && found != nil && found.ID == t.ID {
			return ast.QuoteIdent(t.Name)
		}
		return QualifiedName(ctx, e.Coll, t)
	}
	if t.Kind == catalog.KindType {
		return types.FormatType(catalog.Qualified(ctx, e.Coll, t.UserType))
	}
	if found, _, err := e.Coll.FindRelation(ctx, "", "", t.Name); err == nil && found != nil && found.ID == t.ID {
		return ast.QuoteIdent(t.Name)
	}
	return QualifiedName(ctx, e.Coll, t)
}

// Signature names a routine by its name and the types of its arguments.
func (e *Env) Signature(ctx context.Context, t *catalog.Table) string {
	if t.OwnOperator() {
		return e.operatorSignature(ctx, t)
	}
	return Signature(ctx, e.Coll, t)
}

// Signature names a routine by its name and the types of its arguments, with its schema where the search path does not
// lead to it.
func Signature(ctx context.Context, coll *catalog.Collection, t *catalog.Table) string {
	name := QualifiedName(ctx, coll, t)
	if found, err := coll.FindRoutines(ctx, "", t.Name); err == nil && slices.ContainsFunc(found, func(o *catalog.Table) bool { return o.ID == t.ID }) {
		name = ast.QuoteIdent(t.Name)
	}
	var args []string
	for _, a := range t.Routine.IdentityTypes() {
		args = append(args, types.FormatType(catalog.Qualified(ctx, coll, a)))
	}
	return name + "(" + strings.Join(args, ",") + ")"
}

// operatorSignature is Signature for an operator, whose name is never quoted.
func (e *Env) operatorSignature(ctx context.Context, t *catalog.Table) string {
	name := t.Name
	found, err := e.Coll.FindOperators(ctx, "", t.Name)
	if err != nil || !slices.ContainsFunc(found, func(o *catalog.Table) bool { return o.ID == t.ID }) {
		name = strings.TrimSuffix(QualifiedName(ctx, e.Coll, t), ast.QuoteIdent(t.Name)) + t.Name
	}
	var args []string
	if len(t.Routine.Params) == 1 {
		args = append(args, "NONE")
	}
	for _, a := range t.Routine.IdentityTypes() {
		args = append(args, types.FormatType(catalog.Qualified(ctx, e.Coll, a)))
	}
	return name + "(" + strings.Join(args, ",") + ")"
}

// QualifiedName names a relation with its schema.
func QualifiedName(ctx context.Context, coll *catalog.Collection, t *catalog.Table) string {
	schema := ""
	if d, err := coll.Peek(ctx, t.Schema); err == nil && d != nil {
		schema = ast.QuoteIdent(d.Ident().Name) + "."
	}
	return schema + ast.QuoteIdent(t.Name)
}
