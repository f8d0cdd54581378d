package builtin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// supportFunctionList declares functions that PostgreSQL's types and aggregates are made of and
// that SQL may call.
func supportFunctionList() []*Overload {
	same := func(_ *Context, a []types.Datum) (types.Datum, error) { return a[0], nil }
	diff := func(unit float64) EvalFunc {
		return func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.NewFloat((float64(a[0].Int()) - float64(a[1].Int())) / unit), nil
		}
	}
	all := []*Overload{
		fn("nameconcatoid(name,oid) name", func(_ *Context, a []types.Datum) (types.Datum, error) {
			suffix := "_" + formatUint(uint64(a[1].Int()), 10)
			s := a[0].Str()
			return types.NewString(s[:min(len(s), types.MaxNameLength-len(suffix))] + suffix), nil
		}),
		fn("numeric_inc(numeric) numeric", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return AddDecimal(a[0], types.NewDecimalInt(1, 0))
		}),
		fn("int4inc(int4) int4", func(_ *Context, a []types.Datum) (types.Datum, error) {
			n, err := CheckInt4(a[0].Int() + 1)
			return types.NewInt(n), err
		}),
		fn("int8_sum(numeric,int8) numeric", func(_ *Context, a []types.Datum) (types.Datum, error) {
			switch {
			case a[1].IsNull():
				return a[0], nil
			case a[0].IsNull():
				return types.NewDecimalInt(a[1].Int(), 0), nil
			}
			return AddDecimal(a[0], types.NewDecimalInt(a[1].Int(), 0))
		}).nonStrict(),
		fnBind("enum_send(anyenum) bytea", func(b Binding) (EvalFunc, error) {
			t := b.Types[0]
			return func(_ *Context, a []types.Datum) (types.Datum, error) {
				return types.NewBytes(string(typeio.AppendBinary(nil, t, a[0]))), nil
			}, nil
		}).stable(),
		fn("int4range_subdiff(int4,int4) float8", diff(1)), fn("int8range_subdiff(int8,int8) float8", diff(1)),
		fn("daterange_subdiff(date,date) float8", diff(1)), fn("tsrange_subdiff(timestamp,timestamp) float8", diff(1e6)),
		fn("tstzrange_subdiff(timestamptz,timestamptz) float8", diff(1e6)),
		fn("numrange_subdiff(numeric,numeric) float8", func(_ *Context, a []types.Datum) (types.Datum, error) {
			d, err := SubDecimal(a[0], a[1])
			return types.NewFloat(types.DecimalToFloat(d)), err
		}),
		fn("to_ascii(text) text", func(_ *Context, a []types.Datum) (types.Datum, error) { return toASCII(a[0], "UTF8") }),
		fn("to_ascii(text,name) text", func(_ *Context, a []types.Datum) (types.Datum, error) {
			e := charset.Find(a[1].Str())
			if e == nil {
				return types.Null, pgerr.New(pgerr.UndefinedObject, "%s is not a valid encoding name", a[1].Str())
			}
			return toASCII(a[0], e.Name)
		}),
		fn("to_ascii(text,int4) text", func(_ *Context, a []types.Datum) (types.Datum, error) {
			e := charset.ByID(int(a[1].Int()))
			if e == nil {
				return types.Null, pgerr.New(pgerr.UndefinedObject, "%d is not a valid encoding code", a[1].Int())
			}
			return toASCII(a[0], e.Name)
		}),
		fn("pg_settings_get_flags(text) _text", sessionFunc(settingFlags)).stable(),
	}
	for _, t := range []string{"int4range", "int8range", "daterange"} { // ranges always have that form here
		all = append(all, fn(t+"_canonical("+t+") "+t, same))
	}
	return all
}

// asciiSources are the encodings that to_ascii converts from.
var asciiSources = []string{"LATIN1", "LATIN2", "LATIN9", "WIN1250"}

// toASCII takes the accents off a text in an encoding of one byte. Texts are UTF8 here, so that
// there is nothing to convert but what is ASCII already.
func toASCII(d types.Datum, encoding string) (types.Datum, error) {
	if !slices.Contains(asciiSources, encoding) {
		return types.Null, pgerr.New(pgerr.FeatureNotSupported, "encoding conversion from %s to ASCII not supported", encoding)
	}
	for i := range len(d.Str()) {
		if d.Str()[i] >= 0x80 {
			return types.Null, pgerr.New(pgerr.FeatureNotSupported, "encoding conversion from UTF8 to ASCII not supported")
		}
	}
	return d, nil
}

// explainSettings are PostgreSQL's parameters that EXPLAIN (SETTINGS) shows.
var explainSettings = strings.Fields(`constraint_exclusion cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost
	cursor_tuple_fraction effective_cache_size from_collapse_limit geqo hash_mem_multiplier jit join_collapse_limit
	max_parallel_workers max_parallel_workers_per_gather plan_cache_mode random_page_cost search_path seq_page_cost temp_buffers work_mem`)

// unlistedSettings are those that are not in PostgreSQL's sample configuration.
var unlistedSettings = strings.Fields(`application_name block_size data_checksums in_hot_standby integer_datetimes lc_collate lc_ctype
	max_function_args max_identifier_length max_index_keys server_encoding server_version server_version_num wal_block_size
	transaction_deferrable transaction_isolation transaction_read_only`)

// settingFlags is pg_settings_get_flags.
func settingFlags(s Session, a []types.Datum) (types.Datum, error) {
	name := strings.ToLower(a[0].Str())
	if _, ok := s.Setting(name); !ok {
		return types.Null, nil
	}
	var flags []string
	if slices.Contains(explainSettings, name) || strings.HasPrefix(name, "enable_") {
		flags = append(flags, "EXPLAIN")
	}
	if strings.HasPrefix(name, "transaction_") {
		flags = append(flags, "NO_RESET_ALL")
	}
	if slices.Contains(unlistedSettings, name) {
		flags = append(flags, "NOT_IN_SAMPLE")
	}
	if name == "data_checksums" {
		flags = append(flags, "RUNTIME_COMPUTED")
	}
	return textArray(flags), nil
}

// imageOperators declares the comparisons of records by how their fields are stored: 1.0 is
// not 1.00.
func imageOperators() []*Overload {
	all := recordComparisons("*", compareImage)
	for _, name := range []string{"<", "<=", ">", ">="} { // of C, which order as the others do
		for _, o := range sixOperators("bpchar", "bpchar", compareBpchars) {
			if o.Name == name {
				o.Name = "~" + name + "~"
				all = append(all, o)
			}
		}
	}
	return all
}

// recordComparisons declares the comparisons of records whose operators' names begin
// with prefix; f compares values of a type.
func recordComparisons(prefix string, f func(t *types.T, a, b types.Datum) int) []*Overload {
	mk := func(name string, holds func(int) bool) *Overload {
		return op("record "+prefix+name+" record bool", func(_ *Context, a []types.Datum) (types.Datum, error) {
			c, err := compareRecords(a[0].Record(), a[1].Record(), f)
			return types.NewBool(holds(c)), err
		})
	}
	return []*Overload{
		mk("=", func(c int) bool { return c == 0 }), mk("<>", func(c int) bool { return c != 0 }),
		mk("<", func(c int) bool { return c < 0 }), mk("<=", func(c int) bool { return c <= 0 }),
		mk(">", func(c int) bool { return c > 0 }), mk(">=", func(c int) bool { return c >= 0 }),
	}
}

// compareRecords compares field by field; fields of different types are an error, once
// those before them are equal.
func compareRecords(x, y []types.Field, f func(t *types.T, a, b types.Datum) int) (int, error) {
	for i := range min(len(x), len(y)) {
		a, b := x[i], y[i]
		if !a.Type.Is(b.Type) {
			return 0, pgerr.New(pgerr.DatatypeMismatch, "cannot compare dissimilar column types %s and %s at record column %d",
				a.Type.SQLName, b.Type.SQLName, i+1)
		}
		if c := f(a.Type, a.Datum, b.Datum); c != 0 {
			return c, nil
		}
	}
	if len(x) != len(y) {
		return 0, pgerr.New(pgerr.DatatypeMismatch, "cannot compare record types with different numbers of columns")
	}
	return 0, nil
}

// compareImage orders values of a type by their bytes, numbers of fixed width as without a sign.
func compareImage(t *types.T, a, b types.Datum) int {
	switch {
	case a.IsNull() || b.IsNull():
		return types.Compare(a, b)
	case types.InfoOf(t).ByVal:
		return cmp.Compare(uint64(a.Int()), uint64(b.Int()))
	}
	return strings.Compare(string(typeio.AppendBinary(nil, t, a)), string(typeio.AppendBinary(nil, t, b)))
}
