package jsonfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/formatfuncs"
	"github.com/lichendb/lichen/internal/sql/jsonpath"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// pathTimeFormats are the ISO forms that datetime() reads without a template: a date, then
// times, then both; with what ends in a zone before what does not.
var pathTimeFormats = []string{
	"YYYY-MM-DD",
	"HH24:MI:SS.USTZH:TZM", "HH24:MI:SS.USTZH", "HH24:MI:SSTZH:TZM", "HH24:MI:SSTZH", "HH24:MI:SS.US", "HH24:MI:SS",
	"YYYY-MM-DD HH24:MI:SS.USTZH:TZM", "YYYY-MM-DD HH24:MI:SS.USTZH", "YYYY-MM-DD HH24:MI:SSTZH:TZM", "YYYY-MM-DD HH24:MI:SSTZH",
	`YYYY-MM-DD"T"HH24:MI:SS.USTZH:TZM`, `YYYY-MM-DD"T"HH24:MI:SS.USTZH`, `YYYY-MM-DD"T"HH24:MI:SSTZH:TZM`, `YYYY-MM-DD"T"HH24:MI:SSTZH`,
	"YYYY-MM-DD HH24:MI:SS.US", "YYYY-MM-DD HH24:MI:SS", `YYYY-MM-DD"T"HH24:MI:SS.US`, `YYYY-MM-DD"T"HH24:MI:SS`,
}

// datetime is the method of that name.
func (x *pathExec) datetime(n *jsonpath.Node, v pathItem, emit emitFunc) error {
	if v.Kind != types.KindString || v.isTime() {
		return pgerr.New(codeInvalidDatetimeArg, "jsonpath item method .datetime() can only be applied to a string")
	}
	if n.Left != nil {
		i, err := x.templated(v.Str, n.Left.Str)
		if err != nil {
			return err
		}
		return x.next(n, i, emit)
	}
	for _, f := range pathTimeFormats {
		i, err := x.templated(v.Str, f)
		if err == nil {
			return x.next(n, i, emit)
		}
		if !soft(err) {
			return err
		}
	}
	return pgerr.New(codeInvalidDatetimeArg, "datetime format is not recognized: \"%s\"", v.Str).
		WithHint("Use a datetime template argument to specify the input data format.")
}

// templated reads a date or time by a template; what the template has decides the type.
func (x *pathExec) templated(s, template string) (pathItem, error) {
	d, t, east, err := formatfuncs.ReadTemplate(x.c, s, template)
	return pathItem{time: d, timeT: t, east: east}, err
}

// compareTimes compares two dates or times; ok is false if they do not compare.
func (x *pathExec) compareTimes(l, r pathItem) (c int, ok bool, err error) {
	isTime := func(t *types.T) bool { return t.Family == types.TimeFamily || t.Family == types.TimeTZFamily }
	if isTime(l.timeT) != isTime(r.timeT) {
		return 0, false, nil
	}
	if l.timeT.Is(r.timeT) {
		return types.Compare(l.time, r.time), true, nil
	}
	zoned := func(t *types.T) bool { return t.Family == types.TimestampTZFamily || t.Family == types.TimeTZFamily }
	target := types.Timestamp
	switch {
	case isTime(l.timeT):
		target = types.TimeTZ
	case zoned(l.timeT) || zoned(r.timeT):
		target = types.TimestampTZ
	}
	if zoned(target) && !x.tz {
		from := l.timeT
		if zoned(from) {
			from = r.timeT
		}
		return 0, false, pgerr.Unsupported("cannot convert value from %s to %s without time zone usage", from.Name, target.Name).
			WithHint("Use *_tz() function for time zone support.")
	}
	convert := func(i pathItem) types.Datum {
		if i.timeT.Is(target) || err != nil {
			return i.time
		}
		cast, found := casts.Find(i.timeT, target)
		if !found || cast.Fn == nil {
			return i.time
		}
		var d types.Datum
		d, err = cast.Fn(x.c.Format, i.time, target)
		return d
	}
	a, b := convert(l), convert(r)
	return types.Compare(a, b), true, err
}
