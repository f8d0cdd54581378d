package sessionvar

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// valuesText joins the values of SET into the text that the parameter stores.
func valuesText(st *ast.SetVar) (string, error) {
	list, quoted := settings.IsList(st.Name)
	if len(st.Values) > 1 && !list {
		return "", pgerr.New(pgerr.InvalidParameterValue, "SET %s takes only one argument", st.Name)
	}
	var parts []string
	for _, v := range st.Values {
		text, err := valueText(v)
		if err != nil {
			return "", err
		}
		if quoted {
			text = ast.QuoteIdent(ast.Name(text))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", "), nil
}

// valueText returns a value of SET as text. Only SET TIME ZONE takes an interval.
func valueText(x ast.Expr) (string, error) {
	if c, ok := x.(*ast.Cast); ok && c.Type.Names[len(c.Type.Names)-1] == types.Interval.Name {
		return intervalZone(c)
	}
	return ast.LiteralText(x)
}

// intervalZone returns the time zone of SET TIME ZONE INTERVAL.
func intervalZone(c *ast.Cast) (string, error) {
	t, err := planner.ResolveType(c.Type, 8)
	if err != nil {
		return "", err
	}
	text, err := ast.LiteralText(c.X)
	if err != nil {
		return "", err
	}
	d, err := typeio.ParseText(t, text, &types.FormatContext{})
	if err != nil {
		return "", err
	}
	v := d.Interval()
	bad := pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"TimeZone\": \"INTERVAL '%s'\"", typeio.FormatDatum(t, d, &types.FormatContext{}))
	switch {
	case v.Months != 0:
		return "", bad.WithDetail("Cannot specify months in time zone interval.")
	case v.Days != 0:
		return "", bad.WithDetail("Cannot specify days in time zone interval.")
	}
	return datetime.OffsetZone(int(v.Micros / 1e6)), nil
}
