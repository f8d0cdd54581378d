package crosstabfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// crosstab makes a row of the values that follow one another with the same name: as many as there are columns, the others are left out.
func crosstab(c *call.Context, columns []types.FieldDef, a []types.Datum) ([][]types.Datum, error) {
	out := result{c: c, columns: columns}
	var row []value
	err := query(c, a[0].Str(), func(ts []*types.T) error { return fitsCrosstab(columns, ts) }, func(r []value) error {
		switch {
		case row == nil || row[0] != r[0]:
			if row != nil {
				if err := out.add(row); err != nil {
					return err
				}
			}
			row = []value{r[0], r[2]}
		case len(row) < len(columns):
			row = append(row, r[2])
		}
		return nil
	})
	if err == nil && row != nil {
		err = out.add(row)
	}
	return out.rows, err
}

// fitsCrosstab refuses queries whose rows are not name, category and value of the types that the columns have.
func fitsCrosstab(columns []types.FieldDef, ts []*types.T) error {
	incompatible := pgerr.New(pgerr.SyntaxError, "return and sql tuple descriptions are incompatible")
	switch {
	case len(ts) != 3:
		return pgerr.New(pgerr.InvalidParameterValue, "invalid source data SQL statement").
			WithDetail("The provided SQL must return 3 columns: rowid, category, and values.")
	case len(columns) < 2:
		return incompatible
	case !columns[0].Type.Is(ts[0]):
		return invalidReturn("SQL rowid datatype does not match return rowid datatype.")
	}
	for _, f := range columns[1:] {
		if !f.Type.Is(ts[2]) {
			return incompatible
		}
	}
	return nil
}

// crosstabByCategory makes a row of the rows that follow one another with the same name: the values go where a second query lists
// their categories, the columns between name and category are taken from the first row.
func crosstabByCategory(c *call.Context, columns []types.FieldDef, a []types.Datum) ([][]types.Datum, error) {
	if len(columns) < 2 {
		return nil, pgerr.New(pgerr.SyntaxError, "query-specified return tuple and crosstab function are not compatible")
	}
	at, err := categories(c, a[1].Str())
	if err != nil {
		return nil, err
	}
	out := result{c: c, columns: columns}
	var row []value
	n := 0 // columns of the query
	err = query(c, a[0].Str(), func(ts []*types.T) error {
		n = len(ts)
		return fitsCategories(columns, n, len(at))
	}, func(r []value) error {
		if row == nil || row[0] != r[0] {
			if row != nil {
				if err := out.add(row); err != nil {
					return err
				}
			}
			row = make([]value, len(columns))
			for i := range row {
				row[i].null = true
			}
			copy(row, r[:n-2])
		}
		if i, ok := at[r[n-2].text]; ok && !r[n-2].null {
			row[n-2+i] = r[n-1]
		}
		return nil
	})
	if err == nil && row != nil {
		err = out.add(row)
	}
	return out.rows, err
}

func errCategories() error {
	return pgerr.New(pgerr.SyntaxError, "provided \"categories\" SQL must return 1 column of at least one row")
}

func fitsCategories(columns []types.FieldDef, n, categories int) error {
	switch {
	case categories == 0:
		return errCategories()
	case n < 3:
		return pgerr.New(pgerr.InvalidParameterValue, "invalid source data SQL statement").
			WithDetail("The provided SQL must return 3  columns; rowid, category, and values.")
	case len(columns) != n-2+categories:
		return pgerr.New(pgerr.SyntaxError, "invalid return type").
			WithDetail("Query-specified return tuple has %d columns but crosstab returns %d.", len(columns), n-2+categories)
	}
	return nil
}

// maxCategories bounds the categories, more than which no row has columns for.
const maxCategories = 1664

// categories returns the places of the categories that a query lists.
func categories(c *call.Context, text string) (map[string]int, error) {
	at := map[string]int{}
	err := query(c, text, func(ts []*types.T) error {
		if len(ts) != 1 {
			return errCategories()
		}
		return nil
	}, func(r []value) error {
		_, twice := at[r[0].text]
		switch {
		case r[0].null:
			return pgerr.New(pgerr.SyntaxError, "provided \"categories\" SQL must not return NULL values")
		case twice:
			return pgerr.New(pgerr.DuplicateObject, "duplicate category name")
		case len(at) == maxCategories:
			return pgerr.New(pgerr.TooManyColumns, "more than %d categories", maxCategories)
		}
		at[r[0].text] = len(at)
		return nil
	})
	return at, err
}
