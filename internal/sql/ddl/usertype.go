package ddl

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// newType makes the descriptor of a type in its schema; nil if it exists already
// and that is no error.
func (e *Env) newType(ctx context.Context, name ast.TableName, ifNotExists bool) (*catalog.Table, error) {
	schema, err := e.targetSchema(ctx, name)
	if err != nil {
		return nil, err
	}
	old, err := e.Coll.FindTypeTable(ctx, schema.Name, name.Table)
	if err != nil {
		return nil, err
	}
	if old != nil {
		if ifNotExists {
			e.skip(pgerr.DuplicateObject, "type \"%s\" already exists, skipping", name.Table)
			return nil, nil
		}
		return nil, pgerr.New(pgerr.DuplicateObject, "type \"%s\" already exists", name.Table)
	}
	t := &catalog.Table{
		Database: schema.Database, Schema: schema.ID, Owner: e.User, Kind: catalog.KindType, Name: name.Table,
		NextColumnID: 1, NextIndexID: 1, NextAttnum: 1,
	}
	if t.ID, err = e.Coll.NewID(ctx); err != nil {
		return nil, err
	}
	t.Oid, err = e.Coll.NewOid(ctx)
	return t, err
}

// addType stores a type with its definition.
func (e *Env) addType(ctx context.Context, t *catalog.Table, def *types.Def) error {
	var err error
	if def.ArrayOid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	t.UserType = types.NewUserType(t.Oid, t.Name, ast.QuoteIdent(t.Name), def)
	return e.putType(ctx, t)
}

// putType stores a new type under its name.
func (e *Env) putType(ctx context.Context, t *catalog.Table) error {
	var err error
	if t.IsComposite() {
		err = e.addRelation(ctx, t, t.Name, false)
	} else {
		err = e.addTypeName(ctx, t)
	}
	if err != nil {
		return err
	}
	return e.Coll.Put(ctx, t)
}

// createEnum is CREATE TYPE ... AS ENUM.
func (e *Env) createEnum(ctx context.Context, st *ast.CreateEnum) error {
	t, err := e.newType(ctx, st.Name, st.IfNotExists)
	if err != nil || t == nil {
		return err
	}
	if len(st.Labels) > types.MaxEnumLabels {
		return pgerr.New(pgerr.ProgramLimitExceeded, "an enum has %d labels at most", types.MaxEnumLabels)
	}
	def := &types.Def{Kind: types.DefEnum}
	for i, rank := range types.FirstRanks(len(st.Labels)) {
		label := st.Labels[i]
		if err := checkLabel(label); err != nil {
			return err
		}
		if slices.Contains(st.Labels[:i], label) {
			return pgerr.New(pgerr.UniqueViolation, "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"").
				WithDetail("Key (enumtypid, enumlabel)=(%d, %s) already exists.", t.Oid, label)
		}
		oid, err := e.Coll.NewOid(ctx)
		if err != nil {
			return err
		}
		def.Labels = append(def.Labels, types.EnumLabel{Oid: oid, Name: label, Rank: rank})
	}
	types.NumberLabels(def.Labels)
	return e.addType(ctx, t, def)
}

func checkLabel(s string) error {
	if len(s) > types.MaxNameLength {
		return pgerr.New(pgerr.InvalidName, "invalid enum label \"%s\"", s).
			WithDetail("Labels must be %d bytes or less.", types.MaxNameLength)
	}
	return nil
}

// createComposite is CREATE TYPE ... AS (fields).
func (e *Env) createComposite(ctx context.Context, st *ast.CreateComposite) error {
	t, err := e.newType(ctx, st.Name, false)
	if err != nil || t == nil {
		return err
	}
	def := &types.Def{Kind: types.DefComposite}
	for i := range st.Fields {
		f := &st.Fields[i]
		for _, o := range def.Fields {
			if o.Name == f.Name {
				return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", f.Name)
			}
		}
		ft, domain, err := e.columnType(ctx, f.Name, f.Type)
		if err != nil {
			return err
		}
		if levels(ft) >= maxTypeLevels {
			return errTypeTooDeep()
		}
		if ft, err = e.collated(ctx, f.Collate, ft, f.Pos); err != nil {
			return err
		}
		def.Fields = append(def.Fields, types.FieldDef{Name: f.Name, Type: ft.WithDomain(domain)})
	}
	return e.addType(ctx, t, def)
}

// createDomain is CREATE DOMAIN.
func (e *Env) createDomain(ctx context.Context, st *ast.CreateDomain) error {
	t, err := e.newType(ctx, st.Name, false)
	if err != nil || t == nil {
		return err
	}
	base, below, err := e.columnType(ctx, st.Name.Table, st.Type)
	if pgerr.CodeOf(err) == pgerr.InvalidTableDefinition { // a pseudo-type
		return pgerr.New(pgerr.DatatypeMismatch, "\"%s\" is not a valid base type for a domain", strings.Join(st.Type.Names, "."))
	}
	if err != nil {
		return err
	}
	def := &types.Def{Kind: types.DefDomain, Base: base}
	if below != nil {
		def.Base = below
	}
	if below != nil && below.IsDomain() {
		def.Default = below.Def.Default
	}
	if def.Base, err = e.collated(ctx, st.Collate, def.Base, st.Pos); err != nil {
		return err
	}
	null, hasDefault := false, false
	for _, c := range st.Constraints {
		switch c.Kind {
		case ast.ConstrNull:
			null = true
		case ast.ConstrNotNull:
			def.NotNull = true
		case ast.ConstrDefault:
			if hasDefault {
				return pgerr.New(pgerr.SyntaxError, "multiple default expressions")
			}
			hasDefault = true
			if def.Default, err = e.defaultText(ctx, c.X, def.Base); err != nil {
				return err
			}
		case ast.ConstrCheck:
			if c.NoInherit {
				return pgerr.New(pgerr.InvalidObjectDefinition, "check constraints for domains cannot be marked NO INHERIT")
			}
			if err := e.domainCheck(ctx, t.Name, def, c); err != nil {
				return err
			}
		case ast.ConstrUnique, ast.ConstrPrimaryKey, ast.ConstrForeignKey:
			return notForDomains(c)
		default:
			return pgerr.Unsupported("this constraint is not supported for domains").At(c.Pos)
		}
	}
	if null && def.NotNull {
		return pgerr.New(pgerr.SyntaxError, "conflicting NULL/NOT NULL constraints")
	}
	if err := e.checkDomain(ctx, t, def); err != nil {
		return err
	}
	return e.addType(ctx, t, def)
}

// checkDomain looks for errors in the expressions of a domain.
func (e *Env) checkDomain(ctx context.Context, t *catalog.Table, def *types.Def) error {
	return planner.CheckDomain(ctx, e.plannerEnv(e.Coll), types.NewUserType(t.Oid, t.Name, t.Name, def))
}

func (e *Env) domainCheck(ctx context.Context, domain string, def *types.Def, c *ast.Constraint) error {
	var err error
	ast.Walk(c.X, func(n ast.Node) bool {
		if k, ok := n.(*ast.Case); ok && k.Operand != nil && err == nil {
			err = pgerr.Unsupported("CASE with an operand is not supported in constraints of domains").At(k.Pos)
		}
		if err == nil {
			err = checkExprNode(n, "check constraints", "check constraint")
		}
		return err == nil
	})
	if err == nil {
		err = e.pinNames(ctx, c.X)
	}
	if err != nil {
		return err
	}
	name := c.Name
	for n := 0; name == ""; n++ {
		name = objectName(domain, "", "check")
		if n > 0 {
			name = objectName(domain, "", "check"+strconv.Itoa(n))
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
	text := e.fixLiterals(ctx, ast.Format(c.X), nil, def.Base.BaseType(), nil)
	def.Checks = append(def.Checks, types.DomainCheck{Oid: oid, Name: name, Expr: text})
	return nil
}

// lockType finds a type and locks it exclusively; nil if there is none.
func (e *Env) lockType(ctx context.Context, n ast.TableName) (*catalog.Table, error) {
	for {
		t, err := e.Coll.FindTypeDescriptor(ctx, n.Schema, n.Table)
		if pgerr.CodeOf(err) == pgerr.InvalidSchemaName {
			return nil, nil
		}
		if err != nil || t == nil {
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

// lockExisting is lockType of a type that must be there. Want says what it must be, "" that it may
// be any type.
func (e *Env) lockExisting(ctx context.Context, n ast.TableName, want string) (*catalog.Table, error) {
	t, err := e.lockType(ctx, n)
	if err == nil && t == nil {
		err = e.notDefined(ctx, n, want)
	}
	return t, err
}

// notDefined is the error of a statement that changes a type for one that nobody defined: a built-in
// one, that of a relation's rows, an array type, or none.
func (e *Env) notDefined(ctx context.Context, n ast.TableName, want string) error {
	t := e.typeNamed(ctx, n)
	switch {
	case t == nil:
		return errNoType(n)
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

// typeNamed returns any type that has a name, nil if there is none.
func (e *Env) typeNamed(ctx context.Context, n ast.TableName) *types.T {
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

func errNoType(n ast.TableName) error {
	name := n.Table
	if n.Schema != "" {
		name = n.Schema + "." + name
	}
	return pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", name)
}

// alterEnum is ALTER TYPE ... ADD VALUE and RENAME VALUE.
func (e *Env) alterEnum(ctx context.Context, st *ast.AlterEnum) error {
	t, err := e.lockExisting(ctx, st.Name, "an enum")
	if err != nil {
		return err
	}
	if !t.UserType.IsEnum() {
		return pgerr.New(pgerr.WrongObjectType, "%s is not an enum", t.UserType.SQLName)
	}
	def := *t.UserType.Def
	def.Labels = slices.Clone(def.Labels)
	if st.Rename {
		return e.renameLabel(ctx, t, &def, st)
	}
	return e.addLabel(ctx, t, &def, st)
}

// labelAt returns the position of a label, below 0 if there is none.
func labelAt(def *types.Def, label string) int {
	return slices.IndexFunc(def.Labels, func(l types.EnumLabel) bool { return l.Name == label })
}

// renameLabel is ALTER TYPE ... RENAME VALUE.
func (e *Env) renameLabel(ctx context.Context, t *catalog.Table, def *types.Def, st *ast.AlterEnum) error {
	i := labelAt(def, st.Label)
	switch {
	case i < 0:
		return pgerr.New(pgerr.InvalidParameterValue, "\"%s\" is not an existing enum label", st.Label)
	case labelAt(def, st.NewLabel) >= 0:
		return pgerr.New(pgerr.DuplicateObject, "enum label \"%s\" already exists", st.NewLabel)
	}
	if err := checkLabel(st.NewLabel); err != nil {
		return err
	}
	def.Labels[i].Name = st.NewLabel
	u := types.NewUserType(t.Oid, t.Name, t.UserType.SQLName, def)
	if err := e.relabel(ctx, t.Database, u, st.Label); err != nil {
		return err
	}
	return e.redefineType(ctx, t, def)
}

// addLabel is ALTER TYPE ... ADD VALUE.
func (e *Env) addLabel(ctx context.Context, t *catalog.Table, def *types.Def, st *ast.AlterEnum) error {
	if labelAt(def, st.Label) >= 0 {
		if st.IfNotExists {
			e.skip(pgerr.DuplicateObject, "enum label \"%s\" already exists, skipping", st.Label)
			return nil
		}
		return pgerr.New(pgerr.DuplicateObject, "enum label \"%s\" already exists", st.Label)
	}
	if err := checkLabel(st.Label); err != nil {
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
	insertLabel(def, pos, types.EnumLabel{Oid: oid, Name: st.Label})
	return e.redefineType(ctx, t, def)
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

// redefineType gives the locked type t another definition, and everything that
// holds a copy of it too.
func (e *Env) redefineType(ctx context.Context, t *catalog.Table, def *types.Def) error {
	c := t.Clone()
	c.UserType = types.NewUserType(t.Oid, c.Name, ast.QuoteIdent(c.Name), def)
	if err := e.Coll.Put(ctx, c); err != nil {
		return err
	}
	_, err := e.renewUsers(ctx, t, c.UserType, nil, 0)
	return err
}

// usersOfType lists the relations and types that are made of type t.
func (e *Env) usersOfType(ctx context.Context, t *catalog.Table) ([]*catalog.Table, error) {
	all, err := e.tablesOf(ctx, t.Database)
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

// dropTypes is DROP TYPE and DROP DOMAIN.
func (e *Env) dropTypes(ctx context.Context, st *ast.Drop) error {
	for _, n := range st.Names {
		t, err := e.lockType(ctx, n)
		if err != nil {
			return err
		}
		if t == nil {
			if err := e.noSuchType(ctx, st, n); err != nil {
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
		if err := e.dropType(ctx, t, st.Cascade); err != nil {
			return err
		}
	}
	return nil
}

func (e *Env) dropType(ctx context.Context, t *catalog.Table, cascade bool) error {
	list, err := e.typeDependents(ctx, t)
	if err != nil {
		return err
	}
	if len(list) > 0 && !cascade {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop type %s because other objects depend on it", t.UserType.SQLName).
			WithDetail("%s", strings.Join(dependences(list), "\n")).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	if len(list) > 0 {
		var names []string
		for _, d := range list {
			names = append(names, d.text)
		}
		e.cascadeNotice(names)
	}
	return e.removeType(ctx, t)
}

// removeType drops a locked type and what depends on it.
func (e *Env) removeType(ctx context.Context, t *catalog.Table) error {
	if err := e.dropReaders(ctx, t, nil); err != nil {
		return err
	}
	if err := e.dropTypeUsers(ctx, t); err != nil {
		return err
	}
	if err := e.removeRelationName(ctx, t, t.StoredName()); err != nil {
		return err
	}
	return e.Coll.Remove(ctx, t.ID)
}

// dropTypeUsers drops what depends on a type, which t defines.
func (e *Env) dropTypeUsers(ctx context.Context, t *catalog.Table) error {
	users, err := e.usersOfType(ctx, t)
	if err != nil {
		return err
	}
	for _, u := range users {
		if err := e.dropTypeUser(ctx, u, t.Oid); err != nil {
			return err
		}
	}
	return nil
}

// typeDependent is a column, a field or a type that goes with a type.
type typeDependent struct {
	in       catalog.ID // what has it, or is it
	text, on string
}

func dependences(list []typeDependent) []string {
	var out []string
	for _, d := range list {
		out = append(out, d.text+" depends on "+d.on)
	}
	return out
}

// typeDependents lists what goes with the type that t defines: first what is made of its
// arrays. A view goes with the columns that it reads.
func (e *Env) typeDependents(ctx context.Context, t *catalog.Table) ([]typeDependent, error) {
	users, err := e.usersOfType(ctx, t)
	if err != nil {
		return nil, err
	}
	var out []typeDependent
	for _, arrays := range [...]bool{true, false} {
		for _, u := range users {
			list, err := e.typeDependentsIn(ctx, u, func(o *types.T) bool { return isOf(o, t.Oid) && (o.Oid != t.Oid) == arrays })
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
	}
	if t.Kind == catalog.KindType {
		out = append(out, e.castsOf(ctx, t)...)
	}
	readers, err := e.readers(ctx, t)
	return append(out, readers...), err
}

// typeName is what errors call a type.
func (e *Env) typeName(ctx context.Context, t *types.T) string {
	return types.FormatType(catalog.Qualified(ctx, e.Coll, t.WithTypmod(-1)))
}

// typeDependentsIn lists what of u is of a type, and what goes with that.
func (e *Env) typeDependentsIn(ctx context.Context, u *catalog.Table, is func(*types.T) bool) ([]typeDependent, error) {
	on := func(t *types.T) string { return "type " + e.typeName(ctx, t) }
	var out []typeDependent
	if u.Kind == catalog.KindTable {
		for i := range u.Columns {
			if c := &u.Columns[i]; !c.Hidden && is(declaredType(c)) {
				out = append(out, typeDependent{u.ID, "column " + c.Name + " of " + e.describe(ctx, u), on(declaredType(c))})
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
	more, err := e.typeDependents(ctx, u)
	return append([]typeDependent{{u.ID, e.describe(ctx, u), on(def.Base)}}, more...), err
}

// usesType reports whether a column is of a type, or of one that is made of it.
func usesType(c *catalog.Column, oid uint32) bool {
	return catalog.UsesType(c.Type, oid) || catalog.UsesType(c.Domain, oid)
}

// isOf reports whether t is the type with the given oid, or an array of it.
func isOf(t *types.T, oid uint32) bool {
	return t != nil && (t.Oid == oid || t.Def == nil && t.Elem != nil && t.Elem.Oid == oid)
}

// declaredType is the type that a column was declared with.
func declaredType(c *catalog.Column) *types.T {
	if c.Domain != nil {
		return c.Domain
	}
	return c.Type
}

// dropTypeUser drops what of u is of a type: columns of a table, fields of a composite
// type, or another type as a whole.
func (e *Env) dropTypeUser(ctx context.Context, u *catalog.Table, oid uint32) error {
	if err := e.Coll.LockExclusive(ctx, u.ID); err != nil {
		return err
	}
	e.nextCommand()
	u, err := e.Coll.TableByID(ctx, u.ID)
	if err != nil {
		return nil // dropped with another one
	}
	if u.Kind == catalog.KindType && u.UserType.Def.Kind == types.DefComposite {
		return e.dropFields(ctx, u, oid)
	}
	if u.Kind == catalog.KindType && isOf(u.UserType.Def.Base, oid) {
		return e.removeType(ctx, u)
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
		if c := &u.Columns[i]; isOf(declaredType(c), oid) {
			st.Cmds = append(st.Cmds, &ast.AlterCmd{Kind: ast.AlterDropColumn, Name: c.Name, Cascade: true})
		}
	}
	if len(st.Cmds) == 0 {
		return nil
	}
	return e.alterTable(ctx, st)
}

// dropFields drops the fields of a composite type that are of a type.
func (e *Env) dropFields(ctx context.Context, t *catalog.Table, oid uint32) error {
	st := &ast.AlterComposite{Name: e.nameOf(ctx, t)}
	for _, f := range t.UserType.Def.Fields {
		if isOf(f.Type.Shown(), oid) {
			st.Cmds = append(st.Cmds, ast.AttributeCmd{Kind: ast.AttributeDrop, Name: f.Name, Cascade: true})
		}
	}
	if len(st.Cmds) == 0 {
		return nil
	}
	return e.alterComposite(ctx, st)
}

// renameType is ALTER TYPE ... RENAME TO, and SET SCHEMA and OWNER TO of types.
func (e *Env) renameType(ctx context.Context, st *ast.AlterObject) error {
	n := ast.TableName{Loc: st.Loc, Table: st.Name[len(st.Name)-1]}
	if len(st.Name) > 1 {
		n.Schema = st.Name[len(st.Name)-2]
	}
	want := ""
	if st.Kind == ast.ObjDomain {
		want = "a domain"
	}
	t, err := e.lockExisting(ctx, n, want)
	if err != nil {
		return err
	}
	switch {
	case st.Kind == ast.ObjDomain && t.UserType.Def.Kind != types.DefDomain:
		return errNotDomain(t)
	case st.NewSchema != "":
		return e.moveType(ctx, t, st)
	case st.Owner != nil:
		t = t.Clone()
		if t.Owner, err = e.role(st.Owner); err != nil {
			return err
		}
		return e.Coll.Put(ctx, t)
	}
	if err := e.callType(ctx, t, t.Schema, st.NewName); err != nil ||
		t.UserType.Def.Kind != types.DefMultirange {
		return err
	}
	r, err := e.Coll.TableByOid(ctx, t.UserType.Def.Base.Oid)
	if err != nil {
		return err
	}
	def := *r.UserType.Def // which knows the name of its multirange type
	def.Multirange.Name, def.Multirange.SQLName = st.NewName, ast.QuoteIdent(st.NewName)
	return e.redefineType(ctx, r, &def)
}

// moveType is ALTER TYPE ... SET SCHEMA.
func (e *Env) moveType(ctx context.Context, t *catalog.Table, st *ast.AlterObject) error {
	s, err := e.schemaNamed(ctx, st.NewSchema, 0)
	if err != nil {
		return err
	}
	if err := notBuiltIn(s, t.Name); err != nil || s.ID == t.Schema {
		return err
	}
	if s.Temp != nil || e.Coll.Temporary(t) {
		return pgerr.Unsupported("cannot move objects into or out of temporary schemas").At(st.Pos)
	}
	return inSchema(e.callType(ctx, t, s.ID, t.Name), s)
}

// callType gives type t another schema and name, in what is stored too.
func (e *Env) callType(ctx context.Context, t *catalog.Table, schema catalog.ID, name string) error {
	if err := e.moveTypeName(ctx, t, schema, name); err != nil {
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
	if err := e.redefineType(ctx, c, c.UserType.Def); err != nil {
		return err
	}
	return e.renameInTexts(ctx, t.Database, t.Name, renamed{types: func(s, n ast.Name) (ast.Name, ast.Name, bool) {
		return to.Name, name, s == from.Name && n == t.Name
	}})
}

// moveTypeName makes a type be found by another name, or in another schema, if that is free.
func (e *Env) moveTypeName(ctx context.Context, t *catalog.Table, schema catalog.ID, name string) error {
	c := *t
	c.Schema, c.Name = schema, name
	from := catalog.NameKey{Database: t.Database, Schema: t.Schema, Name: t.StoredName()}
	to := catalog.NameKey{Database: t.Database, Schema: schema, Name: c.StoredName()}
	if t.IsComposite() {
		if err := e.moveName(ctx, from, to, catalog.NameEntry{ID: t.ID}, errRelationExists(name)); err != nil {
			return err
		}
		return e.typeNameFree(ctx, to)
	}
	if err := e.moveName(ctx, from, to, catalog.NameEntry{ID: t.ID}, errTypeExists(name)); err != nil {
		return err
	}
	to.Name = name
	return e.noRowType(ctx, to)
}

// notForDomains is the error for a constraint that only tables have.
func notForDomains(c *ast.Constraint) error {
	kind := map[ast.ConstraintKind]string{
		ast.ConstrUnique: "unique", ast.ConstrPrimaryKey: "primary key", ast.ConstrForeignKey: "foreign key",
	}[c.Kind]
	return pgerr.New(pgerr.SyntaxError, "%s constraints not possible for domains", kind)
}
