package roles

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Grant is GRANT and REVOKE.
func Grant(ctx context.Context, e *statement.Env, st *ast.Grant) error {
	if st.OnRoles {
		return grantMembership(ctx, e, st)
	}
	if err := checkGrantor(e, st.GrantedBy); err != nil {
		return err
	}
	to, err := grantees(e, st)
	if err != nil {
		return err
	}
	objects, err := findObjects(ctx, e, st)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := o.change(ctx, e, st, to); err != nil {
			return err
		}
	}
	return storeBuiltIn(ctx, e, objects)
}

// checkGrantor accepts GRANTED BY of the user only.
func checkGrantor(e *statement.Env, by *ast.RoleSpec) error {
	if by == nil {
		return nil
	}
	r, err := e.RoleOf(by, false)
	if err == nil && r.Oid != e.User.Role() {
		err = pgerr.Unsupported("grantor must be current user")
	}
	return err
}

// grantees returns to whom something is granted.
func grantees(e *statement.Env, st *ast.Grant) (list []privilege.Role, err error) {
	for i := range st.Roles {
		r, err := e.RoleOf(&st.Roles[i], true)
		switch {
		case err != nil:
			return nil, err
		case r == nil && st.WithGrant && !st.Revoke:
			return nil, pgerr.New(pgerr.InvalidGrantOperation, "grant options can only be granted to roles")
		case r == nil:
			list = append(list, privilege.Public)
		default:
			list = append(list, r.Oid)
		}
	}
	return list, nil
}

// object is what GRANT changes: a copy of its descriptor.
type object struct {
	kind       privilege.Kind
	word, name string // as messages have it
	owner      catalog.Owner
	acl        *privilege.ACL       // nil for the default one
	initial    privilege.ACL        // which that is
	table      *catalog.Table       // for columns
	builtIn    *privilege.SystemACL // of what is built into the database, which storeBuiltIn stores
	// store stores the object; nil: another one's does, or storeBuiltIn.
	store func(context.Context) error
}

// asked is what a statement grants or revokes on an object.
type asked struct {
	whole   privilege.Bits
	all     bool
	columns map[int]privilege.Bits // by their positions
}

// kindWords are what messages about privilege types call the kinds.
var kindWords = map[privilege.Kind]string{
	privilege.Table: "relation", privilege.Column: "column", privilege.Sequence: "sequence", privilege.Database: "database",
	privilege.Schema: "schema", privilege.Type: "type", privilege.Function: "function", privilege.Language: "language",
	privilege.Tablespace: "tablespace", privilege.Parameter: "parameter",
}

// asked reads the privileges of a statement for the object.
func (o *object) asked(e *statement.Env, st *ast.Grant) (a asked, err error) {
	a.columns = map[int]privilege.Bits{}
	for _, p := range st.Privileges {
		kind := o.kind
		if len(p.Cols) > 0 {
			if kind = privilege.Column; o.table == nil || o.kind == privilege.Sequence && st.Kind == ast.ObjSequence {
				return a, pgerr.New(pgerr.InvalidGrantOperation, "column privileges are only valid for relations")
			}
		}
		bits, err := o.bits(e, st, kind, p.Name)
		if err != nil {
			return a, err
		}
		if len(p.Cols) == 0 {
			a.whole |= bits
			a.all = a.all || p.Name == "all"
			continue
		}
		for _, name := range p.Cols {
			i, ok := o.table.ColumnByName(name)
			if !ok || o.table.Columns[i].Virtual && o.table.Columns[i].Hidden {
				return a, o.table.UndefinedColumn(name)
			}
			a.columns[i] |= bits
		}
	}
	return a, nil
}

// bits returns the privileges of a name on objects of a kind.
func (o *object) bits(e *statement.Env, st *ast.Grant, kind privilege.Kind, name string) (privilege.Bits, error) {
	if name == "all" {
		return kind.All(), nil
	}
	b, ok := privilege.Named(name)
	if !ok {
		return 0, pgerr.New(pgerr.SyntaxError, "unrecognized privilege type \"%s\"", name)
	}
	if b&^kind.All() == 0 {
		return b, nil
	}
	if kind == privilege.Sequence && st.Kind == ast.ObjTable && b&^privilege.Table.All() == 0 {
		e.Notify("WARNING", pgerr.New(pgerr.Warning, "sequence \"%s\" only supports USAGE, SELECT, and UPDATE privileges", o.name))
		return 0, nil
	}
	word := kindWords[kind]
	if kind == privilege.Table && st.Kind == ast.ObjTable && b&^privilege.Sequence.All() == 0 {
		word = "table" // which it is by now: before, the privilege may have been for a sequence
	}
	if kind == privilege.Function || st.Kind == ast.ObjDomain {
		word = strings.ToLower(st.Kind.String())
	}
	return 0, pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type %s for %s", strings.ToUpper(name), word)
}

// change grants or revokes on the object, and stores it.
func (o *object) change(ctx context.Context, e *statement.Env, st *ast.Grant, to []privilege.Role) error {
	a, err := o.asked(e, st)
	if err != nil {
		return err
	}
	if a.whole != 0 {
		list := o.list()
		if list, err = o.apply(e, st, list, list, a.whole, a.all, to, -1); err != nil {
			return err
		}
		*o.acl = list
		if st.Revoke && o.table != nil && o.kind == privilege.Table {
			o.withColumns(&a)
		}
	}
	for i := range columnsOf(o.table) {
		bits := a.columns[i]
		if bits == 0 {
			continue
		}
		c := &o.table.Columns[i]
		merged := append(o.list(), c.ACL...)
		if c.ACL, err = o.apply(e, st, c.ACL, merged, bits, bits == privilege.Column.All(), to, i); err != nil {
			return err
		}
		if len(c.ACL) == 0 {
			c.ACL = nil
		}
	}
	if o.store == nil { // it is stored together with others
		return nil
	}
	return o.store(ctx)
}

func columnsOf(t *catalog.Table) []catalog.Column {
	if t == nil {
		return nil
	}
	return t.Columns
}

// withColumns has what is revoked from the whole table revoked from its columns too.
func (o *object) withColumns(a *asked) {
	for i := range o.table.Columns {
		if b := a.whole & privilege.Column.All(); b != 0 && o.table.Columns[i].ACL != nil {
			a.columns[i] |= b
		}
	}
}

// list is the object's list, the default one if it has none of its own.
func (o *object) list() privilege.ACL {
	if *o.acl == nil {
		return o.initial
	}
	return *o.acl
}

// apply returns a list with what is granted or revoked; sources is where the right to do so comes from, column
// the column that the list is of, or -1.
func (o *object) apply(e *statement.Env, st *ast.Grant, list, sources privilege.ACL, bits privilege.Bits, all bool, to []privilege.Role, column int) (privilege.ACL, error) {
	roles := e.Coll.Me().Roles()
	if e.Coll.Me().Super {
		roles = append([]privilege.Role{o.owner.Role()}, roles...)
	}
	grantor, may := sources.Grantor(o.owner.Role(), roles, bits)
	if may == 0 {
		has, _ := sources.Mask(o.owner.Role(), e.Coll.Me().Grants, o.kind.All()|privilege.Column.All())
		switch {
		case has == 0 && column >= 0:
			return nil, denied("permission denied for column \"%s\" of relation \"%s\"", o.table.Columns[column].Name, o.name)
		case has == 0:
			return nil, access.Denied(o.word, o.name)
		}
	}
	o.warn(e, st.Revoke, bits, may, all, column)
	var err error
	for _, r := range to {
		if st.Revoke {
			list, err = list.Revoke(o.owner.Role(), grantor, r, may, st.WithGrant, st.Cascade)
		} else {
			options := privilege.Bits(0)
			if st.WithGrant {
				options = may
			}
			if may != 0 {
				list, err = list.Grant(o.owner.Role(), grantor, r, may, options)
			}
		}
		if err != nil {
			return nil, refused(err)
		}
	}
	if list == nil {
		list = privilege.ACL{}
	}
	return list, nil
}

// refused returns the error of a change of a list as PostgreSQL has it.
func refused(err error) error {
	switch err {
	case privilege.ErrDependent:
		return pgerr.New(pgerr.DependentObjectsStillExist, "dependent privileges exist").WithHint("Use CASCADE to revoke them too.")
	case privilege.ErrCircular:
		return pgerr.New(pgerr.InvalidGrantOperation, "%s", err.Error())
	}
	return err
}

// warn tells what could not be granted or revoked for want of grant options.
func (o *object) warn(e *statement.Env, revoke bool, bits, may privilege.Bits, all bool, column int) {
	what := "no privileges"
	switch {
	case may == bits, may != 0 && all:
		return
	case may != 0:
		what = "not all privileges"
	}
	code, verb := pgerr.Code("01007"), "were granted"
	if revoke {
		code, verb = "01006", "could be revoked"
	}
	of := "\"" + o.name + "\""
	if column >= 0 {
		of = "column \"" + o.table.Columns[column].Name + "\" of relation " + of
	}
	e.Notify("WARNING", pgerr.New(code, "%s %s for %s", what, verb, of))
}
