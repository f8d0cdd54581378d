package jsonfuncs

import (
	"errors"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/jsonpath"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// SQLSTATE codes of the path language.
const (
	codeInvalidDatetimeArg pgerr.Code = "22031"
	codeInvalidSubscript   pgerr.Code = "22033"
	codeNonNumericItem     pgerr.Code = "22036"
	codeSingletonRequired  pgerr.Code = "22038"
	codeArrayNotFound      pgerr.Code = "22039"
	codeMemberNotFound     pgerr.Code = "2203A"
	codeNumberNotFound     pgerr.Code = "2203B"
	codeObjectNotFound     pgerr.Code = "2203C"
)

// pathItem is an item that a path works on: a JSON value, or a date or time,
// which JSON does not know.
type pathItem struct {
	types.JSONValue
	time  types.Datum
	timeT *types.T
	east  int // of a timestamptz, the zone it was written in, in seconds
}

func jsonItem(v types.JSONValue) pathItem { return pathItem{JSONValue: v} }

func (i pathItem) isTime() bool { return i.timeT != nil }

// json returns the item as JSON.
func (i pathItem) json(c *call.Context) types.JSONValue {
	if !i.isTime() {
		return i.JSONValue
	}
	fc := *ISOFormat(c)
	fc.TimeZone = time.FixedZone("", i.east)
	w := jsonWriter{fc: &fc}
	text := string(w.scalar(nil, i.timeT, i.time))
	if sign := strings.LastIndexAny(text, "+-"); i.timeT == types.TimeTZ && !strings.Contains(text[sign:], ":") {
		text = text[:len(text)-1] + `:00"` // zones have minutes here
	}
	v, err := types.ParseJSON(text, c.Format)
	if err != nil {
		return types.JSONValue{}
	}
	return v
}

// truth is a value of three-valued logic.
type truth uint8

const (
	isFalse truth = iota
	isTrue
	isUnknown3
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// errPathStop ends an evaluation whose result is known.
var errPathStop = errors.New("path: stop")

// pathExec evaluates one path.
type pathExec struct {
	c    *call.Context
	lax  bool
	tz   bool // comparisons may depend on the time zone
	root types.JSONValue
	vars types.JSONValue
	// ignore says that missing members are no error: in lax mode, and below .**.
	ignore  bool
	current pathItem // @
	length  int      // of the innermost subscripted array, for last
	objects int      // objects that keyvalue() has numbered
}

type emitFunc func(pathItem) error

func (x *pathExec) run(n *jsonpath.Node, v pathItem, emit emitFunc) error {
	return x.item(n, v, x.lax, emit)
}

// next goes on with what follows n.
func (x *pathExec) next(n *jsonpath.Node, v pathItem, emit emitFunc) error {
	if n.Next == nil {
		return emit(v)
	}
	return x.run(n.Next, v, emit)
}

// unwrapped runs n on every element of an array.
func (x *pathExec) unwrapped(n *jsonpath.Node, v pathItem, unwrap bool, emit emitFunc) error {
	for _, e := range v.Elems.All() {
		err := x.c.Step(1)
		if err != nil {
			return err
		}
		if n == nil {
			err = emit(jsonItem(e))
		} else {
			err = x.item(n, jsonItem(e), unwrap, emit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *pathExec) missing(code pgerr.Code, format string, args ...any) error {
	if x.ignore {
		return nil
	}
	return pgerr.New(code, format, args...)
}

// item evaluates n on v; unwrap says that an array stands for its elements.
func (x *pathExec) item(n *jsonpath.Node, v pathItem, unwrap bool, emit emitFunc) error {
	if err := x.c.Step(1); err != nil {
		return err
	}
	if err := x.c.CheckCancel(); err != nil {
		return err
	}
	if n.IsPredicate() {
		t, err := x.truth(n, v)
		if err != nil {
			return err
		}
		b := types.JSONValue{Kind: types.KindBool, Bool: t == isTrue}
		if t == isUnknown3 {
			b = types.JSONValue{}
		}
		return x.next(n, jsonItem(b), emit)
	}
	switch n.Kind {
	case jsonpath.Null:
		return x.next(n, jsonItem(types.JSONValue{}), emit)
	case jsonpath.True, jsonpath.False:
		return x.next(n, jsonItem(types.JSONValue{Kind: types.KindBool, Bool: n.Kind == jsonpath.True}), emit)
	case jsonpath.String:
		return x.next(n, jsonItem(types.JSONValue{Kind: types.KindString, Str: n.Str}), emit)
	case jsonpath.Number:
		d, err := typeio.ParseText(types.Numeric, n.Str, nil)
		if err != nil {
			return err
		}
		return x.next(n, jsonItem(types.JSONValue{Kind: types.KindNumber, Num: d}), emit)
	case jsonpath.Variable:
		w, ok := x.vars.Get(n.Str)
		if !ok {
			return pgerr.New(pgerr.UndefinedObject, "could not find jsonpath variable \"%s\"", n.Str)
		}
		return x.next(n, jsonItem(w), emit)
	case jsonpath.Root:
		saved := x.objects
		x.objects = 0
		err := x.next(n, jsonItem(x.root), emit)
		x.objects = saved
		return err
	case jsonpath.Current:
		return x.next(n, x.current, emit)
	case jsonpath.Last:
		return x.next(n, jsonItem(types.JSONValue{Kind: types.KindNumber, Num: types.NewDecimalInt(int64(x.length-1), 0)}), emit)
	case jsonpath.Add, jsonpath.Sub, jsonpath.Mul, jsonpath.Div, jsonpath.Mod:
		return x.arithmetic(n, v, emit)
	case jsonpath.Plus, jsonpath.Minus:
		return x.sign(n, v, emit)
	}
	return x.access(n, v, unwrap, emit)
}

// access evaluates accessors, filters and methods.
func (x *pathExec) access(n *jsonpath.Node, v pathItem, unwrap bool, emit emitFunc) error {
	isArray, isObject := v.Kind == types.KindArray && !v.isTime(), v.Kind == types.KindObject && !v.isTime()
	switch n.Kind {
	case jsonpath.Key:
		switch {
		case isObject:
			if f, ok := v.Get(n.Str); ok {
				return x.next(n, jsonItem(f), emit)
			}
			return x.missing(codeMemberNotFound, "JSON object does not contain key \"%s\"", n.Str)
		case unwrap && isArray:
			return x.unwrapped(n, v, false, emit)
		}
		return x.missing(codeMemberNotFound, "jsonpath member accessor can only be applied to an object")
	case jsonpath.AnyKey:
		switch {
		case isObject:
			for _, f := range v.Fields {
				if err := x.c.Step(1); err != nil {
					return err
				}
				if err := x.nextUnwrap(n, jsonItem(f.Value), emit); err != nil {
					return err
				}
			}
			return nil
		case unwrap && isArray:
			return x.unwrapped(n, v, false, emit)
		}
		return x.missing(codeObjectNotFound, "jsonpath wildcard member accessor can only be applied to an object")
	case jsonpath.AnyArray:
		switch {
		case isArray:
			return x.unwrapped(n.Next, v, x.lax, emit)
		case x.lax:
			return x.next(n, v, emit)
		}
		return x.missing(codeArrayNotFound, "jsonpath wildcard array accessor can only be applied to an array")
	case jsonpath.IndexArray:
		return x.subscripts(n, v, isArray, emit)
	case jsonpath.Any:
		return x.anyLevel(n, v, emit)
	case jsonpath.Filter:
		if unwrap && isArray {
			return x.unwrapped(n, v, false, emit)
		}
		saved := x.current
		x.current = v
		t, err := x.truth(n.Left, v)
		x.current = saved
		if err != nil || t != isTrue {
			return err
		}
		return x.next(n, v, emit)
	}
	return x.method(n, v, unwrap, emit)
}

// nextUnwrap is next whose item an array may stand for.
func (x *pathExec) nextUnwrap(n *jsonpath.Node, v pathItem, emit emitFunc) error {
	if n.Next == nil {
		return emit(v)
	}
	return x.item(n.Next, v, x.lax, emit)
}

func (x *pathExec) subscripts(n *jsonpath.Node, v pathItem, isArray bool, emit emitFunc) error {
	if !isArray && !x.lax {
		return x.missing(codeArrayNotFound, "jsonpath array accessor can only be applied to an array")
	}
	elems := v.Elems
	if !isArray {
		elems = types.NewJSONElems(v.json(x.c))
	}
	saved := x.length
	defer func() { x.length = saved }()
	for _, s := range n.Subs {
		x.length = elems.Len()
		from, err := x.index(s.From, v)
		if err != nil {
			return err
		}
		to := from
		if s.To != nil {
			if to, err = x.index(s.To, v); err != nil {
				return err
			}
		}
		if !x.ignore && (from < 0 || from > to || to >= elems.Len()) {
			return pgerr.New(codeInvalidSubscript, "jsonpath array subscript is out of bounds")
		}
		for i := max(from, 0); i <= min(to, elems.Len()-1); i++ {
			item := jsonItem(elems.At(i))
			if !isArray {
				item = v
			}
			if err := x.next(n, item, emit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *pathExec) index(n *jsonpath.Node, v pathItem) (int, error) {
	items, err := x.collect(n, v, false)
	if err != nil {
		return 0, err
	}
	if len(items) != 1 || items[0].Kind != types.KindNumber || items[0].isTime() {
		return 0, pgerr.New(codeInvalidSubscript, "jsonpath array subscript is not a single numeric value")
	}
	i, ok := types.DecimalToInt(types.TruncDecimal(items[0].Num, 0))
	if !ok || i != int64(int32(i)) {
		return 0, pgerr.New(codeInvalidSubscript, "jsonpath array subscript is out of integer range")
	}
	return int(i), nil
}

// anyLevel is .**: v itself and all below it, down to the levels asked for.
func (x *pathExec) anyLevel(n *jsonpath.Node, v pathItem, emit emitFunc) error {
	visit := func(item pathItem, unwrap bool) error {
		saved := x.ignore
		x.ignore = true
		defer func() { x.ignore = saved }()
		if n.Next == nil {
			return emit(item)
		}
		return x.item(n.Next, item, unwrap, emit)
	}
	if n.First == 0 {
		if err := visit(v, x.lax); err != nil {
			return err
		}
	}
	if v.isTime() || n.Last == 0 {
		return nil
	}
	var walk func(v types.JSONValue, level uint32) error
	walk = func(v types.JSONValue, level uint32) error {
		for ch := range children(v) {
			if err := x.c.Step(1); err != nil {
				return err
			}
			leaf := IsScalar(ch)
			if level >= n.First || n.First == jsonpath.AnyLevel && n.Last == jsonpath.AnyLevel && leaf {
				if err := visit(jsonItem(ch), x.lax); err != nil {
					return err
				}
			}
			if level < n.Last && !leaf {
				if err := walk(ch, level+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk(v.JSONValue, 1)
}

// children iterates over the elements of an array or the values of an object's members.
func children(v types.JSONValue) iter.Seq[types.JSONValue] {
	return func(yield func(types.JSONValue) bool) {
		for _, e := range v.Elems.All() {
			if !yield(e) {
				return
			}
		}
		for _, f := range v.Fields {
			if !yield(f.Value) {
				return
			}
		}
	}
}

// collect evaluates n to a list; with unwrap, arrays give their elements in lax
// mode.
func (x *pathExec) collect(n *jsonpath.Node, v pathItem, unwrap bool) ([]pathItem, error) {
	var out []pathItem
	err := x.run(n, v, func(i pathItem) error {
		if unwrap && x.lax && i.Kind == types.KindArray && !i.isTime() {
			for _, e := range i.Elems.All() {
				if err := x.c.Step(1); err != nil {
					return err
				}
				out = append(out, jsonItem(e))
			}
			return nil
		}
		out = append(out, i)
		return nil
	})
	return out, err
}

func (x *pathExec) operand(n *jsonpath.Node, v pathItem, side, op string) (types.Datum, error) {
	items, err := x.collect(n, v, true)
	if err != nil {
		return types.Null, err
	}
	if len(items) != 1 || items[0].Kind != types.KindNumber || items[0].isTime() {
		return types.Null, pgerr.New(codeSingletonRequired, "%s operand of jsonpath operator %s is not a single numeric value", side, op)
	}
	return items[0].Num, nil
}

func (x *pathExec) arithmetic(n *jsonpath.Node, v pathItem, emit emitFunc) error {
	op := n.Kind.Op()
	l, err := x.operand(n.Left, v, "left", op)
	if err != nil {
		return err
	}
	r, err := x.operand(n.Right, v, "right", op)
	if err != nil {
		return err
	}
	var d types.Datum
	switch n.Kind {
	case jsonpath.Add:
		d, err = decimal.Add(l, r)
	case jsonpath.Sub:
		d, err = decimal.Sub(l, r)
	case jsonpath.Mul:
		d, err = decimal.Mul(l, r)
	case jsonpath.Div:
		d, err = decimal.Div(l, r)
	default:
		d, err = decimal.Mod(l, r)
	}
	if err != nil {
		return err
	}
	return x.next(n, jsonItem(types.JSONValue{Kind: types.KindNumber, Num: d}), emit)
}

func (x *pathExec) sign(n *jsonpath.Node, v pathItem, emit emitFunc) error {
	items, err := x.collect(n.Left, v, true)
	if err != nil {
		return err
	}
	for _, i := range items {
		if i.Kind != types.KindNumber || i.isTime() {
			return pgerr.New(codeNumberNotFound, "operand of unary jsonpath operator %s is not a numeric value", n.Kind.Op())
		}
		if n.Kind == jsonpath.Minus {
			i.Num = decimal.Neg(i.Num)
		}
		if err := x.next(n, i, emit); err != nil {
			return err
		}
	}
	return nil
}

// soft reports whether a predicate takes an error for unknown.
func soft(err error) bool {
	if err == nil || errors.Is(err, errPathStop) {
		return false
	}
	switch code := pgerr.CodeOf(err); {
	case code == pgerr.QueryCanceled, code == pgerr.StatementTooComplex, code == pgerr.UndefinedObject:
		return false
	default:
		return strings.HasPrefix(string(code), "22")
	}
}

// truth evaluates a predicate.
func (x *pathExec) truth(n *jsonpath.Node, v pathItem) (truth, error) {
	switch n.Kind {
	case jsonpath.And, jsonpath.Or:
		l, err := x.truth(n.Left, v)
		if err != nil || n.Kind == jsonpath.And && l == isFalse || n.Kind == jsonpath.Or && l == isTrue {
			return l, err
		}
		r, err := x.truth(n.Right, v)
		neutral := truthOf(n.Kind == jsonpath.And)
		if r == neutral {
			return l, err
		}
		if l == neutral || r != isUnknown3 {
			return r, err
		}
		return isUnknown3, err
	case jsonpath.Not:
		t, err := x.truth(n.Left, v)
		if t == isUnknown3 {
			return t, err
		}
		return truthOf(t == isFalse), err
	case jsonpath.IsUnknown:
		t, err := x.truth(n.Left, v)
		return truthOf(t == isUnknown3), err
	case jsonpath.Exists:
		return x.exists(n, v)
	}
	return x.compare(n, v)
}

func (x *pathExec) exists(n *jsonpath.Node, v pathItem) (truth, error) {
	found := false
	err := x.run(n.Left, v, func(pathItem) error {
		found = true
		if x.lax {
			return errPathStop
		}
		return nil
	})
	switch {
	case errors.Is(err, errPathStop):
		return isTrue, nil
	case soft(err):
		return isUnknown3, nil
	}
	return truthOf(found), err
}

// compare evaluates a predicate over pairs of items: in lax mode it is true as
// soon as one pair is.
func (x *pathExec) compare(n *jsonpath.Node, v pathItem) (truth, error) {
	left, err := x.collect(n.Left, v, true)
	if soft(err) {
		return isUnknown3, nil
	}
	if err != nil {
		return isUnknown3, err
	}
	right := []pathItem{{}}
	if n.Right != nil {
		right, err = x.collect(n.Right, v, n.Kind != jsonpath.StartsWith)
		if soft(err) {
			return isUnknown3, nil
		}
		if err != nil {
			return isUnknown3, err
		}
	}
	unknown, found := false, false
	for _, l := range left {
		for _, r := range right {
			t, err := x.pair(n, l, r)
			if err != nil {
				return isUnknown3, err
			}
			switch {
			case t == isUnknown3 && !x.lax:
				return isUnknown3, nil
			case t == isUnknown3:
				unknown = true
			case t == isTrue && x.lax:
				return isTrue, nil
			case t == isTrue:
				found = true
			}
		}
	}
	switch {
	case found:
		return isTrue, nil
	case unknown:
		return isUnknown3, nil
	}
	return isFalse, nil
}

func (x *pathExec) pair(n *jsonpath.Node, l, r pathItem) (truth, error) {
	switch n.Kind {
	case jsonpath.StartsWith:
		if l.Kind != types.KindString || r.Kind != types.KindString || l.isTime() || r.isTime() {
			return isUnknown3, nil
		}
		return truthOf(strings.HasPrefix(l.Str, r.Str)), nil
	case jsonpath.LikeRegex:
		if l.Kind != types.KindString || l.isTime() {
			return isUnknown3, nil
		}
		re, err := x.c.Regexp(n.Str, n.Flags.Regexp())
		if err != nil {
			return isUnknown3, err
		}
		ok, err := re.Match(x.c, l.Str)
		return truthOf(ok), err
	}
	return x.compareItems(n.Kind, l, r)
}

func (x *pathExec) compareItems(op jsonpath.Kind, l, r pathItem) (truth, error) {
	if l.isTime() != r.isTime() || l.Kind != r.Kind {
		if !l.isTime() && l.Kind == types.KindNull || !r.isTime() && r.Kind == types.KindNull {
			return truthOf(op == jsonpath.NotEqual), nil
		}
		return isUnknown3, nil
	}
	var c int
	switch {
	case l.isTime():
		var ok bool
		var err error
		if c, ok, err = x.compareTimes(l, r); err != nil || !ok {
			return isUnknown3, err
		}
	case l.Kind == types.KindArray || l.Kind == types.KindObject:
		return isUnknown3, nil
	case l.Kind != types.KindNull:
		c = types.CompareJSON(l.JSONValue, r.JSONValue, x.c.Format)
	}
	switch op {
	case jsonpath.Equal:
		return truthOf(c == 0), nil
	case jsonpath.NotEqual:
		return truthOf(c != 0), nil
	case jsonpath.Less:
		return truthOf(c < 0), nil
	case jsonpath.LessEqual:
		return truthOf(c <= 0), nil
	case jsonpath.Greater:
		return truthOf(c > 0), nil
	}
	return truthOf(c >= 0), nil
}

func (x *pathExec) method(n *jsonpath.Node, v pathItem, unwrap bool, emit emitFunc) error {
	isArray := v.Kind == types.KindArray && !v.isTime()
	name := n.Kind.Method()
	number := func(d types.Datum) error {
		return x.next(n, jsonItem(types.JSONValue{Kind: types.KindNumber, Num: d}), emit)
	}
	switch n.Kind {
	case jsonpath.Type:
		return x.next(n, jsonItem(types.JSONValue{Kind: types.KindString, Str: pathTypeName(v)}), emit)
	case jsonpath.Size:
		size := int64(1)
		if isArray {
			size = int64(v.Elems.Len())
		} else if !x.lax {
			return x.missing(codeArrayNotFound, "jsonpath item method .%s() can only be applied to an array", name)
		}
		return number(types.NewDecimalInt(size, 0))
	}
	if unwrap && isArray {
		return x.unwrapped(n, v, false, emit)
	}
	switch n.Kind {
	case jsonpath.Abs, jsonpath.Floor, jsonpath.Ceiling:
		if v.Kind != types.KindNumber || v.isTime() {
			return pgerr.New(codeNonNumericItem, "jsonpath item method .%s() can only be applied to a numeric value", name)
		}
		return number(pathNumber(n.Kind, v.Num))
	case jsonpath.Double:
		d, err := pathDouble(v, name)
		if err != nil {
			return err
		}
		return number(d)
	case jsonpath.KeyValue:
		return x.keyValue(n, v, emit)
	}
	return x.datetime(n, v, emit)
}

func pathTypeName(v pathItem) string {
	if v.isTime() {
		return v.timeT.SQLName
	}
	return [...]string{
		types.KindNull: "null", types.KindString: "string", types.KindNumber: "number",
		types.KindBool: "boolean", types.KindArray: "array", types.KindObject: "object",
	}[v.Kind]
}

func pathNumber(k jsonpath.Kind, d types.Datum) types.Datum {
	if k == jsonpath.Abs {
		return decimal.Abs(d)
	}
	t := types.TruncDecimal(d, 0)
	one := types.NewDecimalInt(1, 0)
	switch c := types.Compare(t, d); {
	case k == jsonpath.Floor && c > 0:
		t, _ = decimal.Sub(t, one)
	case k == jsonpath.Ceiling && c < 0:
		t, _ = decimal.Add(t, one)
	}
	return t
}

func pathDouble(v pathItem, name string) (types.Datum, error) {
	switch {
	case v.isTime():
	case v.Kind == types.KindNumber:
		f := types.DecimalToFloat(v.Num)
		if math.IsInf(f, 0) {
			return types.Null, pgerr.New(codeNonNumericItem, "numeric argument of jsonpath item method .%s() is out of range for type double precision", name)
		}
		return v.Num, nil
	case v.Kind == types.KindString:
		d, err := typeio.ParseText(types.Float8, v.Str, nil)
		if err != nil {
			return types.Null, pgerr.New(codeNonNumericItem, "string argument of jsonpath item method .%s() is not a valid representation of a double precision number", name)
		}
		if f := d.Float(); math.IsInf(f, 0) || math.IsNaN(f) {
			return types.Null, pgerr.New(codeNonNumericItem, "string argument of jsonpath item method .%s() is not a valid representation of a double precision number", name)
		}
		return types.DecimalFromFloat(d.Float(), false), nil
	}
	return types.Null, pgerr.New(codeNonNumericItem, "jsonpath item method .%s() can only be applied to a string or numeric value", name)
}

func (x *pathExec) keyValue(n *jsonpath.Node, v pathItem, emit emitFunc) error {
	if v.Kind != types.KindObject || v.isTime() {
		return pgerr.New(codeObjectNotFound, "jsonpath item method .keyvalue() can only be applied to an object")
	}
	id := int64(x.objects)
	x.objects++
	for _, f := range v.Fields {
		if err := x.c.Step(1); err != nil {
			return err
		}
		pair := types.NewJSONObject([]*types.JSONField{
			{Key: "key", Value: types.JSONValue{Kind: types.KindString, Str: f.Key}},
			{Key: "value", Value: f.Value},
			{Key: "id", Value: types.JSONValue{Kind: types.KindNumber, Num: types.NewDecimalInt(id, 0)}},
		}, nil)
		if err := x.next(n, jsonItem(pair), emit); err != nil {
			return err
		}
	}
	return nil
}
