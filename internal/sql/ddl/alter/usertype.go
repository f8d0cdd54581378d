package alter

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// NewType makes the descriptor of a type in its schema; nil if it exists already
// and that is no error.
func NewType(ctx context.Context, e *statement.Env, name ast.TableName, ifNotExists bool) (*catalog.Table, error) {
	schema, err := e.TargetSchema(ctx, name)
	if err != nil {
		return nil, err
	}
	old, err := e.Coll.FindTypeTable(ctx, schema.Name, name.Table)
	if err != nil {
		return nil, err
	}
	if old != nil {
		if ifNotExists {
			e.Skip(pgerr.DuplicateObject, "type \"%s\" already exists, skipping", name.Table)
			return nil, nil
		}
		return nil, pgerr.New(pgerr.DuplicateObject, "type \"%s\" already exists", name.Table)
	}
	t := &catalog.Table{
		Database: schema.Database, Schema: schema.ID, Owner: e.User, Kind: catalog.KindType, Name: name.Table,
		NextColumnID: 1, NextIndexID: 1, NextAttnum: 1, ACL: e.DefaultACL(schema.Database, schema.ID, privilege.Type),
	}
	if t.ID, err = e.Coll.NewID(ctx); err != nil {
		return nil, err
	}
	t.Oid, err = e.Coll.NewOid(ctx)
	return t, err
}

// AddType stores a type with its definition.
func AddType(ctx context.Context, e *statement.Env, t *catalog.Table, def *types.Def) error {
	var err error
	if def.ArrayOid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	t.UserType = types.NewUserType(t.Oid, t.Name, ast.QuoteIdent(t.Name), def)
	return PutType(ctx, e, t)
}

// PutType stores a new type under its name.
func PutType(ctx context.Context, e *statement.Env, t *catalog.Table) error {
	var err error
	if t.IsComposite() {
		err = e.AddRelation(ctx, t, t.Name, false)
	} else {
		err = e.AddTypeName(ctx, t)
	}
	if err != nil {
		return err
	}
	return e.Coll.Put(ctx, t)
}

// CheckLabel refuses labels of an enum that are too long.
func CheckLabel(s string) error {
	if len(s) > types.MaxNameLength {
		return pgerr.New(pgerr.InvalidName, "invalid enum label \"%s\"", s).
			WithDetail("Labels must be %d bytes or less.", types.MaxNameLength)
	}
	return nil
}

// CheckDomain looks for errors in the expressions of a domain.
func CheckDomain(ctx context.Context, e *statement.Env, t *catalog.Table, def *types.Def) error {
	return planner.CheckDomain(ctx, storedtext.PlannerEnv(e, e.Coll), types.NewUserType(t.Oid, t.Name, t.Name, def))
}

// DomainCheck adds the check c to the definition of a domain.
func DomainCheck(ctx context.Context, e *statement.Env, domain string, def *types.Def, c *ast.Constraint) error {
	var err error
	ast.Walk(c.X, func(n ast.Node) bool {
		if k, ok := n.(*ast.Case); ok && k.Operand != nil && err == nil {
			err = pgerr.Unsupported("CASE with an operand is not supported in constraints of domains").At(k.Pos)
		}
		if err == nil {
			err = storedtext.CheckExprNode(n, "check constraints", "check constraint")
		}
		return err == nil
	})
	if err == nil {
		err = storedtext.PinNames(ctx, e, c.X)
	}
	if err != nil {
		return err
	}
	name := c.Name
	for n := 0; name == ""; n++ {
		name = statement.ObjectName(domain, "", "check")
		if n > 0 {
			name = statement.ObjectName(domain, "", "check"+strconv.Itoa(n))
		}
		if slices.ContainsFunc(def.Checks, func(k types.DomainCheck) bool { return k.Name == name }) {
			name = ""
		}
	}
	if slices.ContainsFunc(def.Checks, func(k types.DomainCheck) bool { return k.Name == name }) {
		return pgerr.New(pgerr.DuplicateObject, "constraint \"%s\" for domain %s already exists", name, domain)
	}
	oid, err := e.Coll.NewOid(ctx)
	if err != nil {
		return err
	}
	text := storedtext.FixLiterals(ctx, e, ast.Format(c.X), nil, def.Base.BaseType(), nil)
	def.Checks = append(def.Checks, types.DomainCheck{Oid: oid, Name: name, Expr: text})
	return nil
}

// LockType finds a type and locks it exclusively; nil if there is none.
func LockType(ctx context.Context, e *statement.Env, n ast.TableName) (*catalog.Table, error) {
	for {
		t, err := e.Coll.FindTypeDescriptor(ctx, n.Schema, n.Table)
		if pgerr.CodeOf(err) == pgerr.InvalidSchemaName {
			return nil, nil
		}
		if err != nil || t == nil {
			return nil, err
		}
		if err := e.Drops(ctx)(t); err != nil {
			return nil, err
		}
		if err := e.Coll.LockExclusive(ctx, t.ID); err != nil {
			return nil, err
		}
		again, err := e.Coll.FindTypeDescriptor(ctx, n.Schema, n.Table)
		if err != nil {
			return nil, err
		}
		if again != nil && again.ID == t.ID {
			return again, nil
		}
	}
}

// LockExisting is LockType of a type that must be there. Want says what it must be, "" that it may
// be any type.
func LockExisting(ctx context.Context, e *statement.Env, n ast.TableName, want string) (*catalog.Table, error) {
	t, err := LockType(ctx, e, n)
	if err == nil && t == nil {
		err = notDefined(ctx, e, n, want)
	}
	return t, err
}

// notDefined is the error of a statement that changes a type for one that nobody defined: a built-in
// one, that of a relation's rows, an array type, or none.
func notDefined(ctx context.Context, e *statement.Env, n ast.TableName, want string) error {
	t := TypeNamed(ctx, e, n)
	switch {
	case t == nil:
		return ErrNoType(n)
	case want != "":
		return pgerr.New(pgerr.WrongObjectType, "%s is not %s", types.FormatType(t), want)
	case t.Def == nil && t.Elem != nil && t.Elem.Def != nil:
		return pgerr.New(pgerr.WrongObjectType, "cannot alter array type %s", types.FormatType(t)).
			WithHint("You can alter type %s, which will alter the array type as well.", types.FormatType(t.Elem))
	case t.Def != nil && t.Def.Relation:
		return pgerr.New(pgerr.WrongObjectType, "%s is a table's row type", types.FormatType(t)).WithHint("Use ALTER TABLE instead.")
	}
	return pgerr.Unsupported("changing type %s is not supported", types.FormatType(t))
}

// TypeNamed returns any type that has a name, nil if there is none.
func TypeNamed(ctx context.Context, e *statement.Env, n ast.TableName) *types.T {
	tn := &ast.TypeName{Loc: n.Loc, Names: []ast.Name{n.Table}}
	if n.Schema != "" {
		tn.Names = []ast.Name{n.Schema, n.Table}
	}
	t, err := planner.FindType(ctx, tn, e.DefaultIntSize, e.Coll)
	if err != nil {
		return nil
	}
	return catalog.Qualified(ctx, e.Coll, t)
}

// ErrNoType says that there is no type of a name.
func ErrNoType(n ast.TableName) error {
	name := n.Table
	if n.Schema != "" {
		name = n.Schema + "." + name
	}
	return pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", name)
}

// labelAt returns the position of a label, below 0 if there is none.
func labelAt(def *types.Def, label string) int {
	return slices.IndexFunc(def.Labels, func(l types.EnumLabel) bool { return l.Name == label })
}

// RenameLabel is ALTER TYPE ... RENAME VALUE.
func RenameLabel(ctx context.Context, e *statement.Env, t *catalog.Table, def *types.Def, st *ast.AlterEnum) error {
	i := labelAt(def, st.Label)
	switch {
	case i < 0:
		return pgerr.New(pgerr.InvalidParameterValue, "\"%s\" is not an existing enum label", st.Label)
	case labelAt(def, st.NewLabel) >= 0:
		return pgerr.New(pgerr.DuplicateObject, "enum label \"%s\" already exists", st.NewLabel)
	}
	if err := CheckLabel(st.NewLabel); err != nil {
		return err
	}
	def.Labels[i].Name = st.NewLabel
	u := types.NewUserType(t.Oid, t.Name, t.UserType.SQLName, def)
	if err := relabel(ctx, e, t.Database, u, st.Label); err != nil {
		return err
	}
	return RedefineType(ctx, e, t, def)
}

// AddLabel is ALTER TYPE ... ADD VALUE.
func AddLabel(ctx context.Context, e *statement.Env, t *catalog.Table, def *types.Def, st *ast.AlterEnum) error {
	if labelAt(def, st.Label) >= 0 {
		if st.IfNotExists {
			e.Skip(pgerr.DuplicateObject, "enum label \"%s\" already exists, skipping", st.Label)
			return nil
		}
		return pgerr.New(pgerr.DuplicateObject, "enum label \"%s\" already exists", st.Label)
	}
	if err := CheckLabel(st.Label); err != nil {
		return err
	}
	pos := len(def.Labels)
	if st.Before || st.After {
		if pos = labelAt(def, st.Neighbor); pos < 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "\"%s\" is not an existing enum label", st.Neighbor)
		}
		if st.After {
			pos++
		}
	}
	if len(def.Labels) >= types.MaxEnumLabels {
		return pgerr.New(pgerr.ProgramLimitExceeded, "an enum has %d labels at most", types.MaxEnumLabels)
	}
	oid, err := e.Coll.NewOid(ctx)
	if err != nil {
		return err
	}
	insertLabel(def, pos, types.EnumLabel{Oid: oid, Name: st.Label, Committed: e.Coll.NewLabel()})
	return RedefineType(ctx, e, t, def)
}

// insertLabel gives a label its rank and its order between those beside pos, and puts it there.
func insertLabel(def *types.Def, pos int, label types.EnumLabel) {
	lo, hi := "", ""
	if pos > 0 {
		lo = def.Labels[pos-1].Rank
	}
	if pos < len(def.Labels) {
		hi = def.Labels[pos].Rank
	}
	label.Rank = types.RankBetween(lo, hi)
	var ok bool
	if label.Order, ok = types.OrderBetween(def.Labels, pos); !ok {
		types.NumberLabels(def.Labels)
		label.Order, _ = types.OrderBetween(def.Labels, pos)
	}
	def.Labels = slices.Insert(def.Labels, pos, label)
}

// RedefineType gives the locked type t another definition, and everything that
// holds a copy of it too.
func RedefineType(ctx context.Context, e *statement.Env, t *catalog.Table, def *types.Def) error {
	c := t.Clone()
	c.UserType = types.NewUserType(t.Oid, c.Name, ast.QuoteIdent(c.Name), def)
	if err := e.Coll.Put(ctx, c); err != nil {
		return err
	}
	_, err := retypeUsers(ctx, e, t, c.UserType)
	return err
}

// usersOfType lists the relations and types that are made of type t.
func usersOfType(ctx context.Context, e *statement.Env, t *catalog.Table) ([]*catalog.Table, error) {
	all, err := e.TablesOf(ctx, t.Database)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o *catalog.Table) bool {
		if o.ID == t.ID || catalog.UsesType(o.UserType, t.Oid) && o.ID != t.ID {
			return o.ID == t.ID
		}
		return !slices.ContainsFunc(o.Columns, func(c catalog.Column) bool {
			return usesType(&c, t.Oid)
		})
	}), nil
}

// DropTypes is DROP TYPE and DROP DOMAIN.
func DropTypes(ctx context.Context, e *statement.Env, st *ast.Drop) error {
	for _, n := range st.Names {
		t, err := LockType(ctx, e, n)
		if err != nil {
			return err
		}
		if t == nil {
			if err := noSuchType(ctx, e, st, n); err != nil {
				return err
			}
			continue
		}
		if st.Kind == ast.ObjDomain && t.UserType.Def.Kind != types.DefDomain {
			return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", n.Table)
		}
		if d := t.UserType.Def; d.Kind == types.DefMultirange {
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop type %s because type %s requires it", t.UserType.SQLName, d.Base.SQLName).
				WithHint("You can drop type %s instead.", d.Base.SQLName)
		}
		if err := DropType(ctx, e, t, st.Cascade); err != nil {
			return err
		}
	}
	return nil
}

// DropType drops a locked type, with cascade all that is made of it too.
func DropType(ctx context.Context, e *statement.Env, t *catalog.Table, cascade bool) error {
	list, err := typeDependents(ctx, e, t)
	if err != nil {
		return err
	}
	routines, err := routinesOf(ctx, e, t, cascade)
	if err != nil {
		return err
	}
	if details := append(routines.dependences(ctx), dependences(list)...); len(details) > 0 && !cascade {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop type %s because other objects depend on it", t.UserType.SQLName).
			WithDetail("%s", strings.Join(details, "\n")).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	for _, d := range list {
		routines.also = append(routines.also, d.Text)
	}
	routines.in[t.ID] = true
	if len(routines.objects) == 0 && len(list) > 0 {
		e.CascadeNotice(routines.also)
	}
	if err := routines.run(ctx); err != nil {
		return err
	}
	return removeType(ctx, e, t)
}

// routinesOf collects the routines in whose signatures a type is, and what depends on them.
func routinesOf(ctx context.Context, e *statement.Env, t *catalog.Table, cascade bool) (*dropper, error) {
	d := newDropper(e, cascade)
	var err error
	if d.all, err = e.TablesOf(ctx, t.Database); err != nil {
		return nil, err
	}
	if err := d.ofTypes(ctx, t, e.Describe(ctx, t)); err != nil {
		return nil, err
	}
	for i := 0; i < len(d.objects) && !cascade; i++ {
		if err := d.expand(ctx, d.objects[i]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// dependences says of which objects others depend on what.
func (d *dropper) dependences(ctx context.Context) (list []string) {
	for _, x := range d.explain {
		list = append(list, d.e.Describe(ctx, x.t)+" depends on "+x.on)
	}
	return list
}

// removeType drops a locked type and what depends on it.
func removeType(ctx context.Context, e *statement.Env, t *catalog.Table) error {
	if err := dropReaders(ctx, e, t, nil); err != nil {
		return err
	}
	if err := dropTypeUsers(ctx, e, t); err != nil {
		return err
	}
	if err := removeCastsOf(ctx, e, t, nil); err != nil {
		return err
	}
	if err := e.RemoveRelationName(ctx, t, t.StoredName()); err != nil {
		return err
	}
	return e.Coll.Remove(ctx, t.ID)
}

// dropTypeUsers drops what depends on a type, which t defines.
func dropTypeUsers(ctx context.Context, e *statement.Env, t *catalog.Table) error {
	users, err := usersOfType(ctx, e, t)
	if err != nil {
		return err
	}
	for _, u := range users {
		if err := dropTypeUser(ctx, e, u, t.Oid); err != nil {
			return err
		}
	}
	return nil
}

// typeDependent is a column, a field or a type that goes with a type.
type typeDependent struct {
	in       catalog.ID // what has it, or is it
	Text, on string
}

func dependences(list []typeDependent) []string {
	var out []string
	for _, d := range list {
		out = append(out, d.Text+" depends on "+d.on)
	}
	return out
}

// typeDependents lists what goes with the type that t defines: first what is made of its
// arrays. A view goes with the columns that it reads.
func typeDependents(ctx context.Context, e *statement.Env, t *catalog.Table) ([]typeDependent, error) {
	users, err := usersOfType(ctx, e, t)
	if err != nil {
		return nil, err
	}
	var out []typeDependent
	if t.Kind == catalog.KindType {
		if out, err = castsOf(ctx, e, t); err != nil {
			return nil, err
		}
	}
	for _, arrays := range [...]bool{true, false} {
		for _, u := range users {
			list, err := typeDependentsIn(ctx, e, u, func(o *types.T) bool { return isOf(o, t.Oid) && (o.Oid != t.Oid) == arrays })
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
	}
	readers, err := Readers(ctx, e, t)
	return append(out, readers...), err
}

// TypeName is what errors call a type.
func TypeName(ctx context.Context, e *statement.Env, t *types.T) string {
	return types.FormatType(catalog.Qualified(ctx, e.Coll, t.WithTypmod(-1)))
}

// typeDependentsIn lists what of u is of a type, and what goes with that.
func typeDependentsIn(ctx context.Context, e *statement.Env, u *catalog.Table, is func(*types.T) bool) ([]typeDependent, error) {
	on := func(t *types.T) string { return "type " + TypeName(ctx, e, t) }
	var out []typeDependent
	if u.Kind == catalog.KindTable {
		for i := range u.Columns {
			if c := &u.Columns[i]; !c.Hidden && is(relations.DeclaredType(c)) {
				out = append(out, typeDependent{u.ID, "column " + c.Name + " of " + e.Describe(ctx, u), on(relations.DeclaredType(c))})
			}
		}
	}
	if u.Kind != catalog.KindType || u.UserType.Def.Kind == types.DefMultirange { // which goes with its range type
		return out, nil
	}
	def := u.UserType.Def
	if def.Kind == types.DefComposite {
		for _, f := range def.Fields {
			if is(f.Type.Shown()) {
				out = append(out, typeDependent{u.ID, displayField(u, f.Name), on(f.Type.Shown())})
			}
		}
		return out, nil
	}
	if !is(def.Base) {
		return nil, nil
	}
	more, err := typeDependents(ctx, e, u)
	return append([]typeDependent{{u.ID, e.Describe(ctx, u), on(def.Base)}}, more...), err
}

// usesType reports whether a column is of a type, or of one that is made of it.
func usesType(c *catalog.Column, oid uint32) bool {
	return catalog.UsesType(c.Type, oid) || catalog.UsesType(c.Domain, oid)
}

// isOf reports whether t is the type with the given oid, or an array of it.
func isOf(t *types.T, oid uint32) bool {
	return t != nil && (t.Oid == oid || t.Def == nil && t.Elem != nil && t.Elem.Oid == oid)
}

// dropTypeUser drops what of u is of a type: columns of a table, fields of a composite
// type, or another type as a whole.
func dropTypeUser(ctx context.Context, e *statement.Env, u *catalog.Table, oid uint32) error {
	if err := e.Coll.LockExclusive(ctx, u.ID); err != nil {
		return err
	}
	e.NextCommand()
	u, err := e.Coll.TableByID(ctx, u.ID)
	if err != nil {
		return nil // dropped with another one
	}
	if u.Kind == catalog.KindType && u.UserType.Def.Kind == types.DefComposite {
		return dropFields(ctx, e, u, oid)
	}
	if u.Kind == catalog.KindType && isOf(u.UserType.Def.Base, oid) {
		return removeType(ctx, e, u)
	}
	if u.Kind != catalog.KindTable {
		return nil // a view goes with the columns that it reads
	}
	d, err := e.Coll.Peek(ctx, u.Schema)
	if err != nil || d == nil {
		return err
	}
	st := &ast.AlterTable{Kind: ast.ObjTable, Name: ast.TableName{Schema: d.Ident().Name, Table: u.Name}}
	for i := range u.Columns {
		if c := &u.Columns[i]; isOf(relations.DeclaredType(c), oid) {
			st.Cmds = append(st.Cmds, &ast.AlterCmd{Kind: ast.AlterDropColumn, Name: c.Name, Cascade: true})
		}
	}
	if len(st.Cmds) == 0 {
		return nil
	}
	return AlterTable(ctx, e, st)
}

// dropFields drops the fields of a composite type that are of a type.
func dropFields(ctx context.Context, e *statement.Env, t *catalog.Table, oid uint32) error {
	st := &ast.AlterComposite{Name: e.NameOf(ctx, t)}
	for _, f := range t.UserType.Def.Fields {
		if isOf(f.Type.Shown(), oid) {
			st.Cmds = append(st.Cmds, ast.AttributeCmd{Kind: ast.AttributeDrop, Name: f.Name, Cascade: true})
		}
	}
	if len(st.Cmds) == 0 {
		return nil
	}
	return AlterComposite(ctx, e, st)
}

// RenameType is ALTER TYPE ... RENAME TO, and SET SCHEMA and OWNER TO of types.
func RenameType(ctx context.Context, e *statement.Env, st *ast.AlterObject) error {
	n := ast.TableName{Loc: st.Loc, Table: st.Name[len(st.Name)-1]}
	if len(st.Name) > 1 {
		n.Schema = st.Name[len(st.Name)-2]
	}
	want := ""
	if st.Kind == ast.ObjDomain {
		want = "a domain"
	}
	t, err := LockExisting(ctx, e, n, want)
	if err != nil {
		return err
	}
	switch {
	case st.Kind == ast.ObjDomain && t.UserType.Def.Kind != types.DefDomain:
		return errNotDomain(t)
	case st.NewSchema != "":
		return moveType(ctx, e, t, st)
	case st.Owner != nil:
		t = t.Clone()
		to, err := e.Role(st.Owner)
		if err != nil {
			return err
		}
		if err := e.NewOwner(ctx, to, t.Schema); err != nil {
			return err
		}
		t.SetOwner(to)
		return e.Coll.Put(ctx, t)
	}
	if err := callType(ctx, e, t, t.Schema, st.NewName); err != nil ||
		t.UserType.Def.Kind != types.DefMultirange {
		return err
	}
	r, err := e.Coll.TableByOid(ctx, t.UserType.Def.Base.Oid)
	if err != nil {
		return err
	}
	def := *r.UserType.Def // which knows the name of its multirange type
	def.Multirange.Name, def.Multirange.SQLName = st.NewName, ast.QuoteIdent(st.NewName)
	return RedefineType(ctx, e, r, &def)
}

// moveType is ALTER TYPE ... SET SCHEMA.
func moveType(ctx context.Context, e *statement.Env, t *catalog.Table, st *ast.AlterObject) error {
	s, err := e.SchemaNamed(ctx, st.NewSchema, 0)
	if err != nil {
		return err
	}
	if err := statement.NotBuiltIn(s, t.Name); err != nil || s.ID == t.Schema {
		return err
	}
	if s.Temp != nil || e.Coll.Temporary(t) {
		return pgerr.Unsupported("cannot move objects into or out of temporary schemas").At(st.Pos)
	}
	return statement.InSchema(callType(ctx, e, t, s.ID, t.Name), s)
}

// callType gives type t another schema and name, in what is stored too.
func callType(ctx context.Context, e *statement.Env, t *catalog.Table, schema catalog.ID, name string) error {
	if err := moveTypeName(ctx, e, t, schema, name); err != nil {
		return err
	}
	from, err := e.Coll.SchemaByID(ctx, t.Schema)
	if err != nil {
		return err
	}
	to, err := e.Coll.SchemaByID(ctx, schema)
	if err != nil {
		return err
	}
	c := t.Clone()
	c.Schema, c.Name = schema, name
	if err := RedefineType(ctx, e, c, c.UserType.Def); err != nil {
		return err
	}
	moved := func(s, n ast.Name) (ast.Name, ast.Name, bool) { return to.Name, name, s == from.Name && n == t.Name }
	return RenameInTexts(ctx, e, t.Database, t.Name, storedtext.Renamed{Types: moved, Calls: moved})
}

// moveTypeName makes a type be found by another name, or in another schema, if that is free.
func moveTypeName(ctx context.Context, e *statement.Env, t *catalog.Table, schema catalog.ID, name string) error {
	c := *t
	c.Schema, c.Name = schema, name
	from := catalog.NameKey{Database: t.Database, Schema: t.Schema, Name: t.StoredName()}
	to := catalog.NameKey{Database: t.Database, Schema: schema, Name: c.StoredName()}
	if t.IsComposite() {
		if err := e.MoveName(ctx, from, to, catalog.NameEntry{ID: t.ID}, statement.ErrRelationExists(name)); err != nil {
			return err
		}
		return e.TypeNameFree(ctx, to)
	}
	if err := e.MoveName(ctx, from, to, catalog.NameEntry{ID: t.ID}, statement.ErrTypeExists(name)); err != nil {
		return err
	}
	to.Name = name
	return e.NoRowType(ctx, to)
}

// NotForDomains is the error for a constraint that only tables have.
func NotForDomains(c *ast.Constraint) error {
	kind := map[ast.ConstraintKind]string{
		ast.ConstrUnique: "unique", ast.ConstrPrimaryKey: "primary key", ast.ConstrForeignKey: "foreign key",
	}[c.Kind]
	return pgerr.New(pgerr.SyntaxError, "%s constraints not possible for domains", kind)
}
