package builtin

import (
	"strings"

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

func aclFunctions() []*Overload {
	return []*Overload{
		fn("acldefault(char,oid) _text", sessionFunc(func(s Session, a []types.Datum) (types.Datum, error) {
			public, owner, ok := aclDefault(a[0].Str())
			if !ok {
				return types.Null, pgerr.New(pgerr.InvalidParameterValue, "unrecognized object type abbreviation: %s", a[0].Str())
			}
			name, known := s.UserByOid(uint32(a[1].Int()))
			if !known {
				name = formatUint(uint64(uint32(a[1].Int())), 10)
			}
			var items []types.Datum
			if public != "" {
				items = append(items, types.NewString("="+public+"/"+name))
			}
			if owner != "" {
				items = append(items, types.NewString(name+"="+owner+"/"+name))
			}
			return types.NewArray(items), nil
		})).stable(),
		srf("pg_options_to_table(_text) setof record", optionsToTable).stable().columns(
			[]string{"option_name", "option_value"}, []*types.T{types.Text, types.Text}),
	}
}

// optionsToTable splits options written name=value.
func optionsToTable(_ *Context, a []types.Datum) (RowIterator, error) {
	var rows [][]types.Datum
	for _, d := range a[0].Array().Elems {
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
	return &tableRows{rows: rows}, nil
}
