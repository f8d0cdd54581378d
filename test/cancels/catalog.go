package main

import (
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// catalog makes statements of everything that can be called: each function, operator, cast and
// aggregate is called once for each of its arguments that can be large.
func catalog() []statement {
	var list []statement
	for _, o := range builtin.All() {
		if o.Listed() && o.Name != "pg_sleep" {
			list = append(list, calls(o, false)...)
		}
	}
	for _, a := range builtin.AllAggregates() {
		list = append(list, calls(&a.Overload, true)...)
	}
	for _, from := range types.All() {
		for _, to := range types.All() {
			if c, ok := casts.Find(from, to); !ok || c.Fn == nil {
				continue
			}
			for i, v := range large(from) {
				name := fmt.Sprintf("cast %s to %s, %d", from.SQLName, to.SQLName, i+1)
				st := of(name, v, "x::"+to.SQLName)
				st.kind = fmt.Sprintf("cast %s to %s, %d", alike(from), alike(to), i+1)
				list = append(list, st)
			}
		}
	}
	return list
}

// of computes an expression of a large value x, which is made first.
func of(name, value, expr string) statement {
	return statement{name: name, sql: "WITH v AS MATERIALIZED (SELECT " + value + " AS x) SELECT count((" + expr + ")::text) FROM v"}
}

// calls are the calls of a function, operator or aggregate.
func calls(o *call.Overload, aggregate bool) []statement {
	var list []statement
	for at, t := range o.Args {
		t = concrete(t)
		for i, v := range large(t) {
			args, ok := arguments(o, at)
			if !ok {
				continue
			}
			name := fmt.Sprintf("%s, argument %d, %d", o, at+1, i+1)
			st := of(name, v, called(o, args))
			st.kind = fmt.Sprintf("%s, argument %d of %d, %s %d", o.Name, at+1, len(o.Args), alike(t), i+1)
			switch {
			case aggregate:
				st.sql = "WITH v AS MATERIALIZED (SELECT " + v + " AS x) SELECT count(r::text) FROM (SELECT " + called(o, args) + " r FROM v, generate_series(1, 3)) s"
			case o.IsSRF():
				st.sql = "WITH v AS MATERIALIZED (SELECT " + v + " AS x) SELECT count(*) FROM v, LATERAL " + called(o, args) + " r"
			}
			list = append(list, st)
		}
	}
	return list
}

func called(o *call.Overload, args []string) string {
	switch {
	case o.Operator && len(args) == 1:
		return o.Name + " " + args[0]
	case o.Operator:
		return args[0] + " " + o.Name + " " + args[1]
	}
	return o.Name + "(" + strings.Join(args, ", ") + ")"
}

// arguments are those of a call whose argument at is the large value.
func arguments(o *call.Overload, at int) ([]string, bool) {
	args := make([]string, len(o.Args))
	for i, t := range o.Args {
		if i == at {
			args[i] = "x"
			continue
		}
		s, ok := small(concrete(t))
		if !ok {
			return nil, false
		}
		args[i] = s + "::" + concrete(t).SQLName
	}
	return args, true
}

// concrete is the type that a call is made with for a polymorphic one.
func concrete(t *types.T) *types.T {
	if t.Family != types.AnyFamily {
		return t
	}
	switch {
	case strings.HasSuffix(t.Name, "multirange"):
		return types.Int4Multirange
	case strings.HasSuffix(t.Name, "range"):
		return types.Int4Range
	case strings.HasSuffix(t.Name, "array"), t.Is(types.Any), t.Is(types.AnyElement):
		return types.Int4Array
	}
	return types.Int4
}

// large are expressions for large values of a type, none where it has none.
func large(t *types.T) []string {
	switch t.Family {
	case types.StringFamily:
		if t.Is(types.Name) || t.Is(types.Char) {
			return nil
		}
		return []string{
			"repeat('a', 20000000)::" + t.SQLName,
			"repeat('the quick äöü ''x\\ % _ {} $1 .* 12,', 500000)::" + t.SQLName,
		}
	case types.BytesFamily:
		return []string{"repeat('ab', 10000000)::bytea"}
	case types.BitFamily:
		return []string{"repeat('10', 10000000)::varbit"}
	case types.DecimalFamily:
		return []string{"(repeat('7', 131000) || '.' || repeat('3', 16000))::numeric", "('1.' || repeat('3', 16000))::numeric"}
	case types.JSONFamily:
		return []string{"('[' || repeat('12, ', 5000000) || '1]')::" + t.SQLName, "(SELECT " + t.SQLName + "_object_agg(i, i) FROM generate_series(1, 500000) i)"}
	case types.TSVectorFamily:
		return []string{"(SELECT string_agg('w' || i, ' ') FROM generate_series(1, 90000) i)::tsvector"}
	case types.TSQueryFamily:
		return []string{"(SELECT string_agg('w' || i, ' & ') FROM generate_series(1, 10000) i)::tsquery"}
	case types.MultirangeFamily:
		if t.Is(types.Int4Multirange) {
			return []string{"(SELECT range_agg(int4range(3 * i, 3 * i + 1)) FROM generate_series(1, 500000) i)"}
		}
	case types.ArrayFamily:
		if t.Elem == nil || types.IsVector(t) {
			return nil
		}
		if e, ok := small(t.Elem); ok {
			return []string{"array_fill(" + e + "::" + t.Elem.SQLName + ", ARRAY[2000000])"}
		}
	}
	return nil
}

// alike names the types that the same code works on.
func alike(t *types.T) string {
	switch t.Family {
	case types.StringFamily:
		return "text"
	case types.ArrayFamily:
		return "array"
	}
	return t.SQLName
}

// small is a literal of a type.
func small(t *types.T) (string, bool) {
	switch t.Family {
	case types.StringFamily:
		return "'a'", true
	case types.ArrayFamily:
		if t.Elem == nil || types.IsVector(t) {
			return "'1'", true
		}
		e, ok := small(t.Elem)
		return "ARRAY[" + e + "::" + t.Elem.SQLName + "]", ok
	case types.MultirangeFamily:
		return "'{}'", true
	case types.RecordFamily, types.AnyFamily, types.VoidFamily:
		return "", false
	}
	s, ok := map[types.Family]string{
		types.BoolFamily: "'t'", types.IntFamily: "'3'", types.FloatFamily: "'1.5'", types.DecimalFamily: "'2.5'",
		types.DateFamily: "'2020-01-01'", types.TimestampFamily: "'2020-01-01'", types.TimestampTZFamily: "'2020-01-01'",
		types.TimeFamily: "'12:00'", types.TimeTZFamily: "'12:00'", types.IntervalFamily: "'1 day'", types.BytesFamily: "'a'",
		types.BitFamily: "'1'", types.JSONFamily: "'[12]'", types.TSVectorFamily: "'w1:1'", types.TSQueryFamily: "'w1'",
		types.JSONPathFamily: "'$[*] ? (@ > 13)'", types.UUIDFamily: "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
		types.InetFamily: "'10.0.0.0/8'", types.RangeFamily: "'empty'",
	}[t.Family]
	return s, ok
}
