package catalogfuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// privilegeFunctions declares has_*_privilege([user,] object, [column,]
// privilege), where user, object and column are names or numbers.
func privilegeFunctions() []*call.Overload {
	var all []*call.Overload
	for _, kind := range []string{"table", "any_column", "database", "schema", "sequence", "function", "type", "tablespace",
		"language", "foreign_data_wrapper", "server"} {
		for _, object := range []string{"text", "oid"} {
			for _, user := range []string{"", "name,", "oid,"} {
				all = append(all, privilege("has_"+kind+"_privilege("+user+object+",text) bool", kind))
			}
		}
	}
	for _, table := range []string{"text", "oid"} {
		for _, column := range []string{"text", "int2"} {
			for _, user := range []string{"", "name,", "oid,"} {
				all = append(all, privilege("has_column_privilege("+user+table+","+column+",text) bool", "column"))
			}
		}
	}
	for _, user := range []string{"", "name,", "oid,"} {
		all = append(all, privilege("has_parameter_privilege("+user+"text,text) bool", "parameter"))
	}
	for _, role := range []string{"name", "oid"} {
		for _, user := range []string{"", "name,", "oid,"} {
			all = append(all, privilege("pg_has_role("+user+role+",text) bool", "role"))
		}
	}
	return all
}

func privilege(sig, kind string) *call.Overload {
	want := 2
	if kind == "column" {
		want = 3
	}
	return call.Fn(sig, call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
		req := call.PrivilegeCheck{Kind: kind, Privilege: strings.TrimSpace(a[len(a)-1].Str())}
		if len(a) > want {
			if a[0].Family() == types.IntFamily {
				req.UserOid = uint32(a[0].Int())
			} else {
				req.User = a[0].Str()
			}
			a = a[1:]
		}
		if a[0].Family() == types.IntFamily {
			req.ObjectOid = uint32(a[0].Int())
		} else {
			req.Object = a[0].Str()
		}
		if kind == "column" && a[1].Family() == types.IntFamily {
			req.ColumnNum = int16(a[1].Int())
		} else if kind == "column" {
			req.Column = a[1].Str()
		}
		has, ok, err := s.HasPrivilege(req)
		if err != nil || !ok {
			return types.Null, err
		}
		return types.NewBool(has), nil
	})).Stable()
}

// rowSecurityActive is row_security_active of a table named by a text or an oid.
func rowSecurityActive(arg string) *call.Overload {
	return call.Fn("row_security_active("+arg+") bool", call.SessionFunc(func(s call.Session, a []types.Datum) (types.Datum, error) {
		name, oid := "", uint32(0)
		if a[0].Family() == types.IntFamily {
			oid = uint32(a[0].Int())
		} else {
			name = a[0].Str()
		}
		active, ok, err := s.RowSecurityActive(name, oid)
		if err != nil || !ok {
			return types.Null, err
		}
		return types.NewBool(active), nil
	})).Stable()
}
