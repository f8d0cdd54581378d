package pgcatalog

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// HasPrivilege implements call.Catalog.
func (c *Catalog) HasPrivilege(req call.PrivilegeCheck) (has, ok bool, err error) {
	who, err := c.authorityOf(req)
	if err != nil {
		return false, false, err
	}
	has, ok, err = c.objectExists(req)
	if err == nil && !knownPrivileges(req.Kind, req.Privilege) {
		err = pgerr.New(pgerr.InvalidParameterValue, "unrecognized privilege type: \"%s\"", req.Privilege)
	}
	if err != nil || !has || who.Super {
		return has, ok, err
	}
	for word := range strings.SplitSeq(strings.ToLower(req.Privilege), ",") {
		word = strings.TrimSpace(word)
		if req.Kind == "role" {
			has = c.roleGranted(who, &req, word)
		} else {
			name, option := strings.CutSuffix(word, " with grant option")
			has = c.granted(who, &req, name, option)
		}
		if has {
			return true, true, nil
		}
	}
	return false, ok, nil
}

// authorityOf returns what a check is about may act as: oids that mean no role stand for everybody.
func (c *Catalog) authorityOf(req call.PrivilegeCheck) (*catalog.Authority, error) {
	switch {
	case req.User == "" && req.UserOid == 0:
		return c.h.Coll.Me(), nil
	case req.User == "":
		return c.h.Coll.Authority(privilege.Role(req.UserOid)), nil
	case req.User == "public" && req.Kind != "role":
		return &catalog.Authority{}, nil
	}
	if r := c.h.Coll.RoleByName(req.User); r != nil {
		return c.h.Coll.Authority(r.Oid), nil
	}
	return nil, catalog.UndefinedRole(req.User)
}

// granted reports whether who is no superuser has one privilege on an object, which exists, or may
// grant it on.
func (c *Catalog) granted(who *catalog.Authority, req *call.PrivilegeCheck, name string, option bool) bool {
	want, _ := privilege.Named(name)
	one := func(has, options privilege.Bits) bool { return !option && has != 0 || option && options != 0 }
	switch req.Kind {
	case "table", "sequence", "column", "any_column":
		return c.grantedOnRelation(who, req, want, option)
	case "schema":
		if s, err := c.snapshot(c.ctx()); err == nil {
			if x := s.schemaByOid(c.checkedOid(types.Regnamespace, req)); x != nil {
				return one(access.OnSchema(c.h.Coll, who, x, want))
			}
		}
	case "database":
		if d := c.checkedDatabase(req); d != nil {
			return one(access.OnDatabase(who, d, want))
		}
		return want&privilege.Create == 0 && !option
	case "function":
		r := c.routineByOid(c.checkedOid(types.Regprocedure, req))
		if r == nil {
			return !option
		}
		return one(c.onRoutine(who, r, want))
	case "type":
		if t := c.checkedType(req); t != nil {
			return one(access.OnTable(who, t, want))
		}
		return one(c.onBuiltIn(who, privilege.Type, c.checkedOid(types.Regtype, req), want))
	case "language":
		oid := req.ObjectOid
		if l := access.LanguageNamed(req.Object); l != nil {
			oid = l.Oid
		}
		return one(c.onBuiltIn(who, privilege.Language, oid, want))
	case "tablespace":
		return one(c.onTablespace(who, req, want))
	case "parameter":
		return one(access.OnParameter(who, c.h.Coll, strings.ToLower(req.Object), want))
	}
	return false
}

// onBuiltIn returns which privileges a role has on what is built in, and which of them it may grant on.
func (c *Catalog) onBuiltIn(who *catalog.Authority, kind privilege.Kind, oid uint32, want privilege.Bits) (has, options privilege.Bits) {
	return access.OnSystem(who, privilege.FindSystemACL(c.h.Coll.DatabaseACLs(), kind, oid), kind, catalog.RootOid, want)
}

// onTablespace is onBuiltIn for a tablespace. Everybody may create in the default one.
func (c *Catalog) onTablespace(who *catalog.Authority, req *call.PrivilegeCheck, want privilege.Bits) (has, options privilege.Bits) {
	own, _ := c.h.Coll.Tablespaces(c.ctx()) // who reads them next meets the error
	for i := range own {
		if t := &own[i]; t.Oid == req.ObjectOid && req.Object == "" || t.Name == req.Object {
			return access.OnSystem(who, t.ACL, privilege.Tablespace, t.Owner, want)
		}
	}
	return 0, 0
}

// grantedOnRelation is granted for a relation or its columns.
func (c *Catalog) grantedOnRelation(who *catalog.Authority, req *call.PrivilegeCheck, want privilege.Bits, option bool) bool {
	t := c.checkedRelation(req)
	if t == nil {
		return false
	}
	may := func(has, options privilege.Bits) bool { return !option && has != 0 || option && options != 0 }
	if may(access.OnTable(who, t, want)) {
		return true
	}
	for i := range t.Columns {
		col := &t.Columns[i]
		asked := req.Kind == "any_column" || req.Kind == "column" && (col.Name == req.Column || req.Column == "" && col.Attnum == req.ColumnNum)
		if asked && may(access.OnColumn(who, t, i, want)) {
			return true
		}
	}
	return false
}

// roleGranted is granted for pg_has_role: USAGE is to have the privileges of the role, MEMBER to be able to
// become it, and an option of either to make others members.
func (c *Catalog) roleGranted(who *catalog.Authority, req *call.PrivilegeCheck, word string) bool {
	of := privilege.Role(c.checkedOid(types.Regrole, req))
	name, _, option := strings.Cut(word, " with ")
	switch {
	case option:
		return privilege.Administers(c.h.Coll.Memberships(), who.Role, of)
	case name == "usage":
		return who.Has(of)
	}
	return who.MemberOf(of)
}

// checkedDatabase returns the database that a check is about, nil for a template.
func (c *Catalog) checkedDatabase(req *call.PrivilegeCheck) *catalog.Database {
	for _, d := range c.h.Coll.Listing().Databases {
		if d.Oid == req.ObjectOid && req.Object == "" || d.Name == req.Object {
			return d
		}
	}
	return nil
}

// checkedType returns the descriptor of the user-defined type that a check is about; nil if it is built in.
func (c *Catalog) checkedType(req *call.PrivilegeCheck) *catalog.Table {
	t, _ := c.h.Coll.PeekOwner(c.checkedOid(types.Regtype, req)).(*catalog.Table)
	return t
}

// checkedOid returns the oid of the object that a check is about.
func (c *Catalog) checkedOid(reg *types.T, req *call.PrivilegeCheck) uint32 {
	if req.Object == "" {
		return req.ObjectOid
	}
	oid, _ := c.OidOf(reg, req.Object) // objectExists has seen that there is one
	return oid
}

func (c *Catalog) checkedRelation(req *call.PrivilegeCheck) *catalog.Table {
	t, _ := c.byOid(c.checkedOid(types.Regclass, req))
	return t
}

// privileges are those that each kind of object has.
var privileges = map[string][]string{
	"table":                {"select", "insert", "update", "delete", "truncate", "references", "trigger", "rule"},
	"column":               {"select", "insert", "update", "references"},
	"any_column":           {"select", "insert", "update", "references"},
	"sequence":             {"usage", "select", "update"},
	"database":             {"create", "temporary", "temp", "connect"},
	"schema":               {"create", "usage"},
	"function":             {"execute"},
	"language":             {"usage"},
	"type":                 {"usage"},
	"tablespace":           {"create"},
	"foreign_data_wrapper": {"usage"},
	"server":               {"usage"},
	"parameter":            {"set", "alter system"},
	"role":                 {"usage", "member"},
}

// knownPrivileges reports whether all words of a list are privileges of a kind of object.
func knownPrivileges(kind, list string) bool {
	for word := range strings.SplitSeq(strings.ToLower(list), ",") {
		word = strings.TrimSuffix(strings.TrimSpace(word), " with grant option")
		if kind == "role" {
			word = strings.TrimSuffix(word, " with admin option")
		}
		if !slices.Contains(privileges[kind], word) {
			return false
		}
	}
	return true
}

// objectExists answers for an object: true, or an error if a name means nothing,
// or nothing if an oid does.
func (c *Catalog) objectExists(req call.PrivilegeCheck) (bool, bool, error) {
	switch req.Kind {
	case "table", "column", "any_column", "sequence":
		return c.relationExists(req)
	case "schema":
		return c.namedExists(types.Regnamespace, req)
	case "function":
		return c.namedExists(types.Regprocedure, req)
	case "type":
		return c.namedExists(types.Regtype, req)
	case "role":
		return c.namedExists(types.Regrole, req)
	case "foreign_data_wrapper", "server":
		if req.Object == "" {
			return false, false, nil
		}
		kind := strings.ReplaceAll(strings.Replace(req.Kind, "_", "-", 1), "_", " ")
		return false, false, pgerr.New(pgerr.UndefinedObject, "%s \"%s\" does not exist", kind, req.Object)
	case "tablespace", "language":
		if req.Object != "" && !c.systemHas(req) {
			return false, false, pgerr.New(pgerr.UndefinedObject, "%s \"%s\" does not exist", req.Kind, req.Object)
		}
	case "database":
		if req.Object != "" {
			_, ok, err := c.LookupDatabase(req.Object)
			if err == nil && !ok {
				err = pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", req.Object)
			}
			return ok, ok, err
		}
	}
	return true, true, nil
}

// systemHas reports whether there is the tablespace or language that a check names.
func (c *Catalog) systemHas(req call.PrivilegeCheck) bool {
	if req.Kind == "language" {
		return req.Object == "c" || access.LanguageNamed(req.Object) != nil
	}
	own, _ := c.h.Coll.Tablespaces(c.ctx()) // who reads them next meets the error
	return req.Object == "pg_default" || req.Object == "pg_global" ||
		slices.ContainsFunc(own, func(t catalog.Tablespace) bool { return t.Name == req.Object })
}

// namedExists answers for an object that a reg type names.
func (c *Catalog) namedExists(reg *types.T, req call.PrivilegeCheck) (bool, bool, error) {
	if req.Object == "" {
		return true, true, nil
	}
	_, err := c.OidOf(reg, req.Object)
	return err == nil, err == nil, err
}

// relationExists answers for a relation, or a column of one.
func (c *Catalog) relationExists(req call.PrivilegeCheck) (bool, bool, error) {
	oid := req.ObjectOid
	if req.Object != "" {
		var err error
		if oid, err = c.OidOf(types.Regclass, req.Object); err != nil {
			return false, false, err
		}
	}
	t, _ := c.byOid(oid)
	switch {
	case t == nil:
		return req.Object != "", req.Object != "", nil
	case req.Kind == "sequence" && t.Kind != catalog.KindSequence:
		return false, false, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", req.Object)
	case req.Column != "":
		if _, ok := t.ColumnByName(req.Column); !ok {
			return false, false, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", req.Column, t.Name)
		}
	case req.ColumnNum != 0:
		known := slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return c.Attnum == req.ColumnNum })
		return known, known, nil
	}
	return true, true, nil
}
