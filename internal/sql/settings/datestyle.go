package settings

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// dateStyle is a DateStyle under construction: what a word has said stays, and another word
// must not say something else.
type dateStyle struct {
	types.DateStyle
	hasFormat, hasOrder, conflict bool
}

func (d *dateStyle) format(f types.DateFormat) {
	d.conflict = d.conflict || d.hasFormat && d.Format != f
	d.Format, d.hasFormat = f, true
}

func (d *dateStyle) order(o types.DateOrder) {
	d.conflict = d.conflict || d.hasOrder && d.Order != o
	d.Order, d.hasOrder = o, true
}

// word applies one word; false if there is no such word. Some words may go on at will, as
// in PostgreSQL, European and NonEuropean.
func (d *dateStyle) word(w string, reset types.DateStyle) bool {
	for _, begin := range [...]string{"postgres", "noneuro", "euro"} {
		if strings.HasPrefix(w, begin) {
			w = begin
		}
	}
	switch w {
	case "iso":
		d.format(types.DateISO)
	case "sql":
		d.format(types.DateSQL)
	case "postgres":
		d.format(types.DatePostgres)
	case "german":
		if d.format(types.DateGerman); !d.hasOrder {
			d.Order = types.OrderDMY
		}
	case "mdy", "us", "noneuro":
		d.order(types.OrderMDY)
	case "dmy", "euro":
		d.order(types.OrderDMY)
	case "ymd":
		d.order(types.OrderYMD)
	case "default": // what is not said yet
		if !d.hasFormat {
			d.Format = reset.Format
		}
		if !d.hasOrder {
			d.Order = reset.Order
		}
	default:
		return false
	}
	return true
}

// setDateStyle returns what SET makes of the DateStyle that is in force: it may name the
// format alone or the order alone. reset is what RESET would give.
func setDateStyle(v *Values, value, reset string) (string, error) {
	bad := pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"DateStyle\": \"%s\"", value)
	words, ok := SplitList(value)
	if !ok {
		return "", bad.WithDetail("List syntax is invalid.")
	}
	initial, _ := parseDateStyle(reset)
	d := dateStyle{DateStyle: v.Format.DateStyle}
	for _, w := range words {
		if !d.word(strings.ToLower(w), initial) {
			return "", bad.WithDetail("Unrecognized key word: \"%s\".", w)
		}
	}
	if d.conflict {
		return "", bad.WithDetail("Conflicting \"datestyle\" specifications.")
	}
	return formatDateStyle(d.DateStyle), nil
}

// parseDateStyle reads a DateStyle in its canonical form.
func parseDateStyle(s string) (types.DateStyle, bool) {
	var d dateStyle
	words, ok := SplitList(s)
	for _, w := range words {
		ok = ok && d.word(w, types.DateStyle{})
	}
	return d.DateStyle, ok
}

func formatDateStyle(d types.DateStyle) string {
	return [...]string{"ISO", "SQL", "Postgres", "German"}[d.Format] + ", " + [...]string{"MDY", "DMY", "YMD"}[d.Order]
}
