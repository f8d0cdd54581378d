package builtin

import (
	"regexp"

	"github.com/lichendb/lichen/internal/sql/jsonpath"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// pathTimeFormats are the ISO forms that datetime() reads without a template.
var pathTimeFormats = []struct {
	re *regexp.Regexp
	t  *types.T
}{
	{regexp.MustCompile(`^\d{4}-\d\d?-\d\d?$`), types.Date},
	{regexp.MustCompile(`^\d\d?:\d\d:\d\d(\.\d{1,6})?[+-]\d\d(:\d\d)?$`), types.TimeTZ},
	{regexp.MustCompile(`^\d\d?:\d\d:\d\d(\.\d{1,6})?$`), types.Time},
	{regexp.MustCompile(`^\d{4}-\d\d?-\d\d?[ T]\d\d?:\d\d:\d\d(\.\d{1,6})? ?[+-]\d\d(:\d\d)?$`), types.TimestampTZ},
	{regexp.MustCompile(`^\d{4}-\d\d?-\d\d?[ T]\d\d?:\d\d:\d\d(\.\d{1,6})?$`), types.Timestamp},
}

// datetime is the method of that name.
func (x *pathExec) datetime(n *jsonpath.Node, v pathItem, emit emitFunc) error {
	if v.Kind != types.KindString || v.isTime() {
		return pgerr.New(codeInvalidDatetimeArg, "jsonpath item method .datetime() can only be applied to a string")
	}
	if n.Left != nil {
		return pgerr.Unsupported("jsonpath item method .datetime() with a template is not supported")
	}
	for _, f := range pathTimeFormats {
		if !f.re.MatchString(v.Str) {
			continue
		}
		fc := x.c.isoFormat()
		d, err := types.ParseText(f.t, v.Str, fc)
		if err != nil {
			return err
		}
		return x.next(n, pathItem{time: d, timeT: f.t}, emit)
	}
	return pgerr.New(codeInvalidDatetimeArg, "datetime format is not recognized: \"%s\"", v.Str).
		WithHint("Use a datetime template argument to specify the input data format.")
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
		cast, found := types.FindCast(i.timeT, target)
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
