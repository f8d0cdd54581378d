package crosstabfuncs

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

const extension = "tablefunc"

// Overloads declares the functions.
func Overloads() []*call.Overload {
	all := []*call.Overload{
		call.SRF("normal_rand(int4,float8,float8) setof float8", normalRand).Volatile(),
		ofColumns("crosstab(text) setof record", crosstab), ofColumns("crosstab(text,int4) setof record", crosstab),
		ofColumns("crosstab(text,text) setof record", crosstabByCategory),
		ofColumns("connectby(text,text,text,text,int4,text) setof record", connectby(false)),
		ofColumns("connectby(text,text,text,text,int4) setof record", connectby(false)),
		ofColumns("connectby(text,text,text,text,text,int4,text) setof record", connectby(true)),
		ofColumns("connectby(text,text,text,text,text,int4) setof record", connectby(true)),
	}
	for n := 2; n <= 4; n++ {
		all = append(all, crosstabOf(n))
	}
	for _, o := range all {
		o.Extension = extension
	}
	return all
}

// maker returns the rows of a call, whose columns a list or the function says.
type maker func(c *call.Context, columns []types.FieldDef, a []types.Datum) ([][]types.Datum, error)

// ofColumns declares a function that needs a list of columns.
func ofColumns(sig string, rows maker) *call.Overload {
	o := call.SRF(sig, nil).Stable()
	o.RecordSRF = func(t *types.T) call.SRFFunc { return rowsOf(rows, t.Fields()) }
	return o
}

// crosstabOf declares crosstab2 and so on, which say their columns.
func crosstabOf(n int) *call.Overload {
	names, ts := []string{"row_name"}, []*types.T{types.Text}
	for i := 1; i <= n; i++ {
		names, ts = append(names, "category_"+strconv.Itoa(i)), append(ts, types.Text)
	}
	columns := make([]types.FieldDef, len(names))
	for i := range names {
		columns[i] = types.FieldDef{Name: names[i], Type: ts[i]}
	}
	return call.SRF("crosstab"+strconv.Itoa(n)+"(text) setof record", rowsOf(crosstab, columns)).Stable().Columns(names, ts)
}

func rowsOf(rows maker, columns []types.FieldDef) call.SRFFunc {
	return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
		list, err := rows(c, columns, a)
		return call.NewRows(list), err
	}
}
