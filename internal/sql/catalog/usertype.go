package catalog

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxTypeDepth bounds how deep the definitions of types nest.
const maxTypeDepth = 32

// userTypeRecord is a stored types.Def. Whatever uses a type holds a copy of its
// definition, which a change of the type renews.
type userTypeRecord struct {
	Name, SQLName string
	Kind          byte
	ArrayOid      uint32
	Labels        []labelRecord        `json:",omitempty"`
	Fields        []fieldRecord        `json:",omitempty"`
	Base          *typeRecord          `json:",omitempty"`
	NotNull       bool                 `json:",omitempty"`
	Default       string               `json:",omitempty"`
	Checks        []types.DomainCheck  `json:",omitempty"`
	Multirange    *types.MultirangeDef `json:",omitempty"`
	SubDiff       string               `json:",omitempty"`
	Relation      bool                 `json:",omitempty"`
	Casts         []types.CastDef      `json:",omitempty"`
}

type labelRecord struct {
	Oid   uint32
	Name  string
	Rank  []byte
	Order float32 `json:",omitempty"`
}

type fieldRecord struct {
	Name    string
	Type    typeRecord
	Domain  *typeRecord `json:",omitempty"`
	Comment string      `json:",omitempty"`
}

func encodeTypePtr(t *types.T) *typeRecord {
	if t == nil {
		return nil
	}
	r := encodeType(t)
	return &r
}

func encodeType(t *types.T) typeRecord {
	r := typeRecord{Oid: t.Oid, Typmod: t.Typmod, Collation: t.Declared()}
	u := t
	if t.Elem != nil && t.Def == nil && t.Elem.Def != nil {
		u, r.Array = t.Elem, true
	}
	if u.Def == nil || u.Def.Kind == types.DefRow {
		return r
	}
	d := &userTypeRecord{
		Name: u.Name, SQLName: u.SQLName, Kind: byte(u.Def.Kind), ArrayOid: u.Def.ArrayOid,
		Base: encodeTypePtr(u.Def.Base), NotNull: u.Def.NotNull, Default: u.Def.Default, Checks: u.Def.Checks,
		Relation: u.Def.Relation, Casts: u.Def.Casts,
	}
	if u.Def.Kind == types.DefRange {
		d.Multirange, d.SubDiff = &u.Def.Multirange, u.Def.SubDiff
	}
	if r.Array {
		r.Oid = u.Oid
	}
	for _, l := range u.Def.Labels {
		d.Labels = append(d.Labels, labelRecord{l.Oid, l.Name, []byte(l.Rank), l.Order})
	}
	for _, f := range u.Def.Fields {
		d.Fields = append(d.Fields, fieldRecord{f.Name, encodeType(f.Type), encodeTypePtr(f.Type.Domain()), f.Comment})
	}
	r.User = d
	return r
}

func decodeTypePtr(id ID, r *typeRecord) (*types.T, error) {
	if r == nil {
		return nil, nil
	}
	return decodeType(id, *r, 0)
}

func decodeType(id ID, r typeRecord, depth int) (*types.T, error) {
	if depth > maxTypeDepth {
		return nil, corrupt(id, "types nest deeper than %d levels", maxTypeDepth)
	}
	if r.User == nil {
		t, ok := types.ByOid(r.Oid)
		if !ok {
			return nil, corrupt(id, "unknown type %d", r.Oid)
		}
		return r.modify(t), nil
	}
	u := r.User
	def := &types.Def{
		Kind: types.DefKind(u.Kind), ArrayOid: u.ArrayOid, NotNull: u.NotNull, Default: u.Default, Checks: u.Checks, Relation: u.Relation,
		Casts: u.Casts,
	}
	for _, l := range u.Labels {
		def.Labels = append(def.Labels, types.EnumLabel{Oid: l.Oid, Name: l.Name, Rank: string(l.Rank), Order: l.Order})
	}
	if !slices.ContainsFunc(def.Labels, func(l types.EnumLabel) bool { return l.Order != 0 }) {
		types.NumberLabels(def.Labels) // as they were stored before they had orders
	}
	for _, f := range u.Fields {
		t, err := decodeType(id, f.Type, depth+1)
		if err != nil {
			return nil, err
		}
		if f.Domain != nil {
			domain, err := decodeType(id, *f.Domain, depth+1)
			if err != nil {
				return nil, err
			}
			t = t.WithDomain(domain)
		}
		def.Fields = append(def.Fields, types.FieldDef{Name: f.Name, Type: t, Comment: f.Comment})
	}
	if u.Base != nil {
		var err error
		if def.Base, err = decodeType(id, *u.Base, depth+1); err != nil {
			return nil, err
		}
	}
	defined := false
	switch def.Kind {
	case types.DefDomain:
		defined = def.Base != nil
	case types.DefRange:
		if defined = def.Base != nil && u.Multirange != nil; defined {
			def.Multirange, def.SubDiff = *u.Multirange, u.SubDiff
		}
	case types.DefMultirange:
		defined = def.Base != nil && def.Base.Family == types.RangeFamily
	case types.DefEnum, types.DefComposite:
		defined = true
	}
	if !defined {
		return nil, corrupt(id, "type %s is not defined", u.Name)
	}
	t := types.NewUserType(r.Oid, u.Name, u.SQLName, def)
	if r.Array {
		a, ok := types.ArrayOf(t)
		if !ok {
			return nil, corrupt(id, "type %s has no array type", u.Name)
		}
		t = a
	}
	return r.modify(t), nil
}

// modify returns t with the modifier and the collation of a column.
func (r *typeRecord) modify(t *types.T) *types.T {
	t = t.WithTypmod(r.Typmod)
	if r.Collation == nil {
		return t
	}
	c := types.CollationByOid(r.Collation.Oid)
	if c == nil {
		c = r.Collation
	}
	return t.WithCollation(c)
}

// TypeFinder is a Resolver that knows user-defined types.
type TypeFinder interface {
	// FindTypeTable returns the descriptor of a type by its name, nil if there is
	// none; an empty schema means the search path. A relation is a type too.
	FindTypeTable(ctx context.Context, schema, name string) (*Table, error)
	// PeekTypeSchema returns the schema of a user-defined type or of one of an extension, "" if there is no such
	// type, and whether the search path leads to the type. It pins nothing.
	PeekTypeSchema(ctx context.Context, oid uint32) (schema string, visible bool)
}

// TypeOf returns the type that a descriptor found by FindTypeTable stands for.
func TypeOf(t *Table) *types.T {
	if t.Kind == KindType {
		return t.UserType
	}
	return RowType(t)
}

// TypeName is under what name a type is found in its schema: types have a name space of their
// own. Relations with rows and composite types, which are types and relations, take the name
// that they have among relations in both.
func TypeName(name string) string { return "type\x00" + name }

// afterTypeNames comes after all that TypeName returns.
const afterTypeNames = "type\x01"

// IsComposite reports whether t is a composite type, which is a relation that nothing can read.
func (t *Table) IsComposite() bool {
	return t.Kind == KindType && t.UserType != nil && t.UserType.Def.Kind == types.DefComposite
}

// FieldColumns returns the fields of a composite type as columns.
func (t *Table) FieldColumns() []Column {
	cols := make([]Column, 0, len(t.UserType.Def.Fields))
	for i, f := range t.UserType.Def.Fields {
		cols = append(cols, Column{ID: ColumnID(i + 1), Attnum: int16(i + 1), Name: f.Name,
			Type: f.Type.WithDomain(nil), Domain: f.Type.Domain()})
	}
	return cols
}

// NamesType reports whether the name that t has among relations is one of a type too.
func (t *Table) NamesType() bool { return t.HasRows() || t.IsComposite() }

// HasRows reports whether t is a relation with a type of its rows.
func (t *Table) HasRows() bool {
	return t.Kind == KindTable || t.Kind == KindView || t.Kind == KindVirtual
}

// RowType returns the composite type of a relation's rows.
func RowType(t *Table) *types.T {
	def := &types.Def{Kind: types.DefComposite, ArrayOid: types.RecordArray.Oid, Relation: true}
	if t.RowArrayOid != 0 {
		def.ArrayOid = t.RowArrayOid
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.InStar() {
			def.Fields = append(def.Fields, types.FieldDef{Name: c.Name, Type: c.ValueType()})
		}
	}
	return types.NewUserType(t.Oid, t.Name, ast.QuoteIdent(t.Name), def)
}

// FindTypeDescriptor returns the descriptor of a user-defined type, nil if there
// is none.
func (c *Collection) FindTypeDescriptor(ctx context.Context, schema, name string) (*Table, error) {
	t, err := c.FindTypeTable(ctx, schema, name)
	if err != nil || t == nil || t.Kind != KindType {
		return nil, err
	}
	return t, nil
}

// FindTypeTable implements TypeFinder.
func (c *Collection) FindTypeTable(ctx context.Context, schema, name string) (*Table, error) {
	schemas, err := c.schemasFor(ctx, schema)
	if err != nil {
		return nil, err
	}
	for _, s := range schemas {
		if t, err := c.findTypeIn(ctx, s, name); t != nil || err != nil {
			return t, err
		}
	}
	return nil, nil
}

// findTypeIn is FindTypeTable in one schema.
func (c *Collection) findTypeIn(ctx context.Context, s *Schema, name string) (*Table, error) {
	if t, _, err := c.findIn(ctx, s, TypeName(name)); t != nil || err != nil {
		return t, err
	}
	t, index, err := c.findIn(ctx, s, name)
	if err != nil || t == nil || index || !t.NamesType() {
		return nil, err
	}
	return t, nil
}

// PeekTypeNamed returns the type, or the relation that is one, that has a name in a stored
// schema of the session's database, without pinning it; nil if there is none.
func (c *Collection) PeekTypeNamed(ctx context.Context, schema ID, name string) *Table {
	if t := c.PeekNamed(ctx, schema, TypeName(name)); t != nil {
		return t
	}
	if t := c.PeekNamed(ctx, schema, name); t != nil && t.Name == name && t.NamesType() {
		return t
	}
	return nil
}

// PeekType returns the type that the search path finds by a bare name, without pinning
// anything; nil if there is none, or a built-in one.
func (c *Collection) PeekType(ctx context.Context, name string) *Table {
	for _, p := range c.SearchPath() {
		if s := c.store.virtual.schemas[p]; s != nil {
			if t, ok := types.ByName(name); ok && t.Name == name && p == pgCatalog {
				return nil
			}
			if t := c.store.virtual.names[NameKey{Schema: s.ID, Name: name}]; t != nil {
				return t
			}
			continue
		}
		s, ok, err := c.lookup(ctx, NameKey{Database: c.db.ID, Name: p})
		if err != nil || !ok {
			continue
		}
		if t := c.PeekTypeNamed(ctx, s.ID, name); t != nil {
			return t
		}
	}
	return nil
}

// PeekTypeByOid returns a user-defined type, one of the rows of a relation, or the array of one,
// without a pin; nil if there is none.
func (c *Collection) PeekTypeByOid(ctx context.Context, oid uint32) *types.T {
	if c.ReadPast(ctx) != nil {
		return nil
	}
	t, ok := c.PeekOwner(oid).(*Table)
	if !ok {
		t = c.BuiltInOfType(oid)
	}
	if t == nil || t.Kind != KindType && !t.HasRows() {
		return nil
	}
	u := TypeOf(t)
	switch oid {
	case u.Oid:
		return u
	case u.Def.ArrayOid:
		a, _ := types.ArrayOf(u)
		return a
	}
	return nil
}

// PeekTypeSchema implements TypeFinder.
func (c *Collection) PeekTypeSchema(ctx context.Context, oid uint32) (schema string, visible bool) {
	if x, ok := types.ByOid(oid); ok && x.Extension() != "" {
		s, visible := c.PeekExtensionSchema(ctx, x.Extension())
		if s == nil {
			return "", false
		}
		return s.Name, visible
	}
	t := c.PeekByOid(ctx, oid)
	if t == nil {
		return "", false
	}
	d, err := c.Peek(ctx, t.Schema)
	if err != nil || d == nil {
		return "", false
	}
	found := c.PeekType(ctx, t.Name)
	return d.Ident().Name, found != nil && found.ID == t.ID
}

// Qualified returns a type with the name by which SQL finds it: with its schema where the
// search path does not lead to it.
func Qualified(ctx context.Context, f TypeFinder, t *types.T) *types.T {
	if d := t.Domain(); d != nil {
		return Qualified(ctx, f, t.WithDomain(nil)).WithDomain(Qualified(ctx, f, d))
	}
	extension := t.Extension() != ""
	if t.Def == nil && t.Elem != nil && (t.Elem.Def != nil || extension) {
		a := *t
		a.Elem = Qualified(ctx, f, t.Elem)
		a.SQLName = a.Elem.SQLName + "[]"
		return &a
	}
	if !extension && (t.Def == nil || t.Def.ArrayOid == 0) {
		return t
	}
	schema, visible := f.PeekTypeSchema(ctx, t.Oid)
	if schema == "" || visible {
		return t
	}
	q := *t
	q.SQLName = ast.QuoteIdent(schema) + "." + ast.QuoteIdent(t.Name)
	return &q
}

// UsesType reports whether t is the type with the given oid, or is made of it.
func UsesType(t *types.T, oid uint32) bool {
	switch {
	case t == nil:
		return false
	case t.Oid == oid || UsesType(t.Domain(), oid):
		return true
	case t.Elem != nil && UsesType(t.Elem, oid):
		return true
	case t.Def == nil:
		return false
	}
	for _, f := range t.Def.Fields {
		if UsesType(f.Type, oid) {
			return true
		}
	}
	return UsesType(t.Def.Base, oid)
}

// ReplaceType returns t with another definition of the user-defined type u.
func ReplaceType(t, u *types.T) *types.T {
	switch {
	case t == nil || !UsesType(t, u.Oid):
		return t
	case t.Domain() != nil:
		return ReplaceType(t.WithDomain(nil), u).WithDomain(ReplaceType(t.Domain(), u))
	case t.Oid == u.Oid:
		return u.WithTypmod(t.Typmod)
	case t.Def == nil && t.Elem != nil:
		a, ok := types.ArrayOf(ReplaceType(t.Elem, u))
		if !ok {
			return t
		}
		return a.WithTypmod(t.Typmod)
	}
	def := *t.Def
	def.Base = ReplaceType(def.Base, u)
	def.Fields = nil
	for _, f := range t.Def.Fields {
		def.Fields = append(def.Fields, types.FieldDef{Name: f.Name, Type: ReplaceType(f.Type, u), Comment: f.Comment})
	}
	if def.Kind == types.DefRange || def.Kind == types.DefMultirange {
		return types.NewUserType(t.Oid, t.Name, t.SQLName, &def)
	}
	c := *t
	c.Def = &def
	if t.Elem != nil {
		c.Elem = ReplaceType(t.Elem, u)
	}
	return &c
}
