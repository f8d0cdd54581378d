package comparefuncs

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// imageOperators declares the comparisons of records by how their fields are stored: 1.0 is
// not 1.00.
func imageOperators() []*call.Overload {
	all := recordComparisons("*", compareImage, nil)
	for _, name := range []string{"<", "<=", ">", ">="} { // of C, which order as the others do
		for _, o := range SixOperators("bpchar", "bpchar", CompareBpchars) {
			if o.Name == name {
				o.Name = "~" + name + "~"
				all = append(all, o)
			}
		}
	}
	return all
}

// recordComparisons declares the comparisons of records whose operators' names begin
// with prefix; f compares values of a type, if needs, which may be nil, finds that an operator can.
func recordComparisons(prefix string, f compareTyped, needs func(operator string, t *types.T) error) []*call.Overload {
	mk := func(name string, holds func(int) bool) *call.Overload {
		r := recordOrder{compare: f}
		if needs != nil {
			r.needs = func(t *types.T) error { return needs(name, t) }
		}
		return call.Op("record "+prefix+name+" record bool", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			order, err := r.of(a[0].Record(), a[1].Record(), nil, c.Format)
			return types.NewBool(holds(order)), err
		})
	}
	return []*call.Overload{
		mk("=", func(c int) bool { return c == 0 }), mk("<>", func(c int) bool { return c != 0 }),
		mk("<", func(c int) bool { return c < 0 }), mk("<=", func(c int) bool { return c <= 0 }),
		mk(">", func(c int) bool { return c > 0 }), mk(">=", func(c int) bool { return c >= 0 }),
	}
}

// undecidedComparison compares records of which some fields have different collations: the third
// argument numbers them from 0. The fourth says that NULLs have an order as well, behind all records.
func undecidedComparison() *call.Overload {
	return call.Fn("collation_record(record,record,_int4,bool) int4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
		switch nulls := a[3].Bool(); {
		case (a[0].IsNull() || a[1].IsNull()) && !nulls:
			return types.Null, nil
		case a[0].IsNull() || a[1].IsNull():
			return types.NewInt(int64(types.Compare(a[0], a[1]))), nil
		}
		order, err := recordOrder{compare: types.CompareTyped}.of(a[0].Record(), a[1].Record(), a[2].Array().Elems, c.Format)
		return types.NewInt(int64(order)), err
	}).NonStrict()
}

// compareTyped compares two values of a type.
type compareTyped func(t *types.T, a, b types.Datum, fc *types.FormatContext) int

// recordOrder compares records field by field.
type recordOrder struct {
	compare compareTyped
	// needs, if set, returns an error for types that compare can't compare.
	needs func(*types.T) error
}

// of compares two records; fields of different types are an error, once
// those before them are equal. So are values in a field of undecided, a list of integers.
func (r recordOrder) of(x, y []types.Field, undecided []types.Datum, fc *types.FormatContext) (int, error) {
	for i := range min(len(x), len(y)) {
		a, b := x[i], y[i]
		if !a.Type.Is(b.Type) {
			return 0, pgerr.New(pgerr.DatatypeMismatch, "cannot compare dissimilar column types %s and %s at record column %d",
				a.Type.SQLName, b.Type.SQLName, i+1)
		}
		if r.needs != nil {
			if err := r.needs(a.Type); err != nil {
				return 0, err
			}
		}
		isField := func(d types.Datum) bool { return d.Int() == int64(i) }
		if !a.IsNull() && !b.IsNull() && slices.ContainsFunc(undecided, isField) {
			return 0, pgerr.UndecidedCollation("string comparison")
		}
		if c := r.compare(a.Type, a.Datum, b.Datum, fc); c != 0 {
			return c, nil
		}
	}
	if len(x) != len(y) {
		return 0, pgerr.New(pgerr.DatatypeMismatch, "cannot compare record types with different numbers of columns")
	}
	return 0, nil
}

// compareImage orders values of a type by their bytes, numbers of fixed width as without a sign.
func compareImage(t *types.T, a, b types.Datum, fc *types.FormatContext) int {
	switch {
	case a.IsNull() || b.IsNull():
		return types.CompareSteps(a, b, fc)
	case types.InfoOf(t).ByVal:
		return cmp.Compare(uint64(a.Int()), uint64(b.Int()))
	}
	return bytes.Compare(typeio.AppendBinary(nil, t, a, fc), typeio.AppendBinary(nil, t, b, fc))
}
