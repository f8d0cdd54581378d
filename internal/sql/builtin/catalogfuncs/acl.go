package catalogfuncs

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// aclDefault returns what everybody and the owner may do with an object of a kind
// before anything is granted, in the letters of PostgreSQL's documentation, table 5.1.
func aclDefault(kind string) (public, owner string, ok bool) {
	switch kind {
	case "c": // column
		return "", "", true
	case "r": // table
		return "", "arwdDxt", true
	case "s": // sequence
		return "", "rwU", true
	case "d": // database
		return "Tc", "CTc", true
	case "f": // function
		return "X", "X", true
	case "l", "T": // language, type
		return "U", "U", true
	case "L": // large object
		return "", "rw", true
	case "n": // schema
		return "", "UC", true
	case "p": // parameter
		return "", "sA", true
	case "t": // tablespace
		return "", "C", true
	case "F", "S": // foreign-data wrapper, foreign server
		return "", "U", true
	}
	return "", "", false
}

func aclFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("acldefault(char,oid) _aclitem", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			public, owner, ok := aclDefault(a[0].Str())
			if !ok {
				return types.Null, pgerr.New(pgerr.InvalidParameterValue, "unrecognized object type abbreviation: %s", a[0].Str())
			}
			role := uint32(a[1].Int())
			var items []types.Datum
			if public != "" {
				items = append(items, types.NewACLItem(types.ACLItemValue{Grantor: role, Privileges: types.ACLBits(public)}))
			}
			if owner != "" {
				items = append(items, types.NewACLItem(types.ACLItemValue{Grantee: role, Grantor: role, Privileges: types.ACLBits(owner)}))
			}
			return types.NewArray(items), nil
		}),
		call.Fn("makeaclitem(oid,oid,text,bool) aclitem", makeACLItem),
		call.SRF("aclexplode(_aclitem) setof record", explodeACL).Stable().Columns(
			[]string{"grantor", "grantee", "privilege_type", "is_grantable"}, []*types.T{types.Oid, types.Oid, types.Text, types.Bool}),
		call.SRF("pg_options_to_table(_text) setof record", optionsToTable).Stable().Columns(
			[]string{"option_name", "option_value"}, []*types.T{types.Text, types.Text}),
	}
}

// optionsToTable splits options written name=value.
func optionsToTable(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	var rows [][]types.Datum
	for _, d := range a[0].ArrayElems() {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if d.IsNull() {
			continue
		}
		name, value, has := strings.Cut(d.Str(), "=")
		row := []types.Datum{types.NewString(name), types.Null}
		if has {
			row[1] = types.NewString(value)
		}
		rows = append(rows, row)
	}
	return call.NewRows(rows), nil
}

// makeACLItem is makeaclitem(grantee, grantor, privilege, grantable).
func makeACLItem(_ *call.Context, a []types.Datum) (types.Datum, error) {
	v := types.ACLItemValue{Grantee: uint32(a[0].Int()), Grantor: uint32(a[1].Int())}
	name := strings.ToUpper(a[2].Str())
	if name == "TEMP" {
		name = "TEMPORARY"
	}
	i := slices.Index(types.ACLPrivileges[:], name)
	switch {
	case i >= 0:
		v.Privileges = 1 << i
	case name != "RULE": // a privilege that is no more
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "unrecognized privilege type: \"%s\"", a[2].Str())
	}
	if a[3].Bool() {
		v.Grantables = v.Privileges
	}
	return types.NewACLItem(v), nil
}

// explodeACL lists what an access control list grants, a row for each privilege.
func explodeACL(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	var rows [][]types.Datum
	for _, d := range a[0].ArrayElems() {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		if d.IsNull() {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "ACL arrays must not contain null values")
		}
		v := d.ACLItem()
		for i, name := range types.ACLPrivileges {
			if v.Privileges>>i&1 != 0 {
				rows = append(rows, []types.Datum{types.NewInt(int64(v.Grantor)), types.NewInt(int64(v.Grantee)),
					types.NewString(name), types.NewBool(v.Grantables>>i&1 != 0)})
			}
		}
	}
	return call.NewRows(rows), nil
}

// aclOperators declares the operators of aclitem.
func aclOperators() []*call.Overload {
	gone := func(name string) call.EvalFunc {
		return func(*call.Context, []types.Datum) (types.Datum, error) {
			return types.Null, pgerr.New(pgerr.FeatureNotSupported, "%s is no longer supported", name)
		}
	}
	return []*call.Overload{
		call.Op("aclitem = aclitem bool", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(types.Compare(a[0], a[1]) == 0), nil
		}),
		call.Op("_aclitem @> aclitem bool", aclContains),
		call.Op("_aclitem + aclitem _aclitem", gone("aclinsert")), call.Op("_aclitem - aclitem _aclitem", gone("aclremove")),
	}
}

// aclContains reports whether some item of a list grants what another does.
func aclContains(_ *call.Context, a []types.Datum) (types.Datum, error) {
	want := a[1].ACLItem()
	for _, d := range a[0].ArrayElems() {
		if d.IsNull() {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "ACL arrays must not contain null values")
		}
		v := d.ACLItem()
		if v.Grantee == want.Grantee && v.Grantor == want.Grantor &&
			v.Privileges&want.Privileges == want.Privileges && v.Grantables&want.Grantables == want.Grantables {
			return types.True, nil
		}
	}
	return types.False, nil
}
