package pgcatalog

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// HasPrivilege implements call.Catalog: superusers may do everything to what exists, other
// roles what everybody may and what they are predefined for.
func (c *Catalog) HasPrivilege(req call.PrivilegeCheck) (has, ok bool, err error) {
	role, err := roleOf(req)
	if err != nil {
		return false, false, err
	}
	has, ok, err = c.objectExists(req)
	if err == nil && !knownPrivileges(req.Kind, req.Privilege) {
		err = pgerr.New(pgerr.InvalidParameterValue, "unrecognized privilege type: \"%s\"", req.Privilege)
	}
	if err != nil || !has || role != nil && role.Superuser {
		return has, ok, err
	}
	for word := range strings.SplitSeq(strings.ToLower(req.Privilege), ",") {
		if c.granted(role, &req, strings.TrimSpace(word)) {
			return true, true, nil
		}
	}
	return false, ok, nil
}

// roleOf returns the role that a check is about; nil is everybody, who also stands for oids that
// mean no role.
func roleOf(req call.PrivilegeCheck) (*catalog.Role, error) {
	switch {
	case req.User == "" && req.UserOid == 0:
		return catalog.RoleByOid(oidRoot), nil
	case req.User == "":
		return catalog.RoleByOid(req.UserOid), nil
	case req.User == "public" && req.Kind != "role":
		return nil, nil
	}
	if r := catalog.RoleByName(req.User); r != nil {
		return r, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", req.User)
}

// granted reports whether a role that is no superuser has one privilege on an object, which
// exists.
func (c *Catalog) granted(role *catalog.Role, req *call.PrivilegeCheck, privilege string) bool {
	is := func(name string) bool { return role != nil && role.Name == name }
	switch req.Kind {
	case "table", "column", "any_column", "sequence":
		t := c.checkedRelation(req)
		reads := is("pg_read_all_data") && privilege == "select"
		if t != nil && t.Kind == catalog.KindVirtual {
			letter := map[string]string{"select": "r", "update": "w"}[privilege]
			return reads || letter != "" && strings.Contains(publicMay(t), letter)
		}
		return reads || is("pg_write_all_data") && slices.Contains([]string{"insert", "update", "delete"}, privilege)
	case "schema":
		schema := c.checkedName(types.Regnamespace, req)
		if schema == "public" && privilege == "create" {
			return is(catalog.DatabaseOwnerRole)
		}
		open := slices.Contains([]string{"public", namePgCatalog, nameInformationSchema}, schema)
		return privilege == "usage" && (open || is("pg_read_all_data") || is("pg_write_all_data"))
	case "database":
		return slices.Contains([]string{"connect", "temp", "temporary"}, privilege)
	case "function":
		r := routines().byOid[c.checkedOid(types.Regprocedure, req)]
		return privilege == "execute" && (r == nil || !r.restricted)
	case "type", "language":
		return privilege == "usage"
	case "role":
		of := c.checkedOid(types.Regrole, req)
		return role != nil && !strings.Contains(privilege, "option") && (role.Oid == of || slices.Contains(role.MemberOf, of))
	}
	return false
}

// checkedOid returns the oid of the object that a check is about.
func (c *Catalog) checkedOid(reg *types.T, req *call.PrivilegeCheck) uint32 {
	if req.Object == "" {
		return req.ObjectOid
	}
	oid, _ := c.OidOf(reg, req.Object) // objectExists has seen that there is one
	return oid
}

func (c *Catalog) checkedName(reg *types.T, req *call.PrivilegeCheck) string {
	name, _ := c.NameOf(reg, c.checkedOid(reg, req))
	return name
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
		known := map[string][]string{"tablespace": {"pg_default", "pg_global"}, "language": {"internal", "c", "sql", "plpgsql"}}[req.Kind]
		if req.Object != "" && !slices.Contains(known, req.Object) {
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
