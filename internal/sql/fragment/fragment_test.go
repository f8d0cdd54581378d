package fragment

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// testTable has a column of each of some types: a is the primary key.
func testTable() *catalog.Table {
	t := &catalog.Table{Kind: catalog.KindTable, NextIndexID: 2}
	t.ID, t.Name = 100, "t"
	for i, typ := range []*types.T{types.Int8, types.Text, types.Numeric, types.TimestampTZ, types.Float8} {
		t.Columns = append(t.Columns, catalog.Column{ID: catalog.ColumnID(i + 1), Name: string(rune('a' + i)), Type: typ})
	}
	t.NextColumnID = catalog.ColumnID(len(t.Columns) + 1)
	t.Indexes = []catalog.Index{{ID: 1, Name: "t_pkey", Unique: true, Columns: []catalog.IndexColumn{{Column: 1}}}}
	return t
}

// scanOf reads all columns of a table; that at position i has the identifier i+1.
func scanOf(t *catalog.Table) *plan.Scan {
	s := &plan.Scan{Table: t, Index: t.Primary()}
	for i := range t.Columns {
		s.Ords = append(s.Ords, i)
		s.Cols = append(s.Cols, plan.Column{ID: plan.ColID(i + 1), Name: t.Columns[i].Name, Type: t.Columns[i].Type})
	}
	return s
}

func noValue(e plan.Expr) (types.Datum, error) { return types.Null, nil }

func functionNamed(t *testing.T, name string, args ...*types.T) *call.Overload {
	t.Helper()
	o, err := builtin.ResolveFunction(name, args)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func operatorNamed(t *testing.T, name string, args ...*types.T) *call.Overload {
	t.Helper()
	o, err := builtin.ResolveOperator(name, args)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// conditions are expressions over the columns of testTable, and whether they can be written.
func conditions(t *testing.T) []struct {
	e    plan.Expr
	fits bool
} {
	s := scanOf(testTable())
	ref := func(i int) plan.Expr { return plan.Ref(s.Cols[i]) }
	less := operatorNamed(t, "<", types.Int8, types.Int8)
	eq := operatorNamed(t, "=", types.Int8, types.Int8)
	one := plan.NewConst(types.Int8, types.NewInt(1))
	compare := &plan.Call{Fn: less, Args: []plan.Expr{ref(0), one}, T: types.Bool}
	upper := functionNamed(t, "upper", types.Text)
	now := functionNamed(t, "now")
	random := functionNamed(t, "random")
	is := func(e plan.Expr) plan.Expr { return &plan.Is{Arg: e, Kind: plan.IsNull} }
	cast := func(e plan.Expr, to *types.T) plan.Expr {
		return is(&plan.Cast{Arg: e, T: to, Mode: plan.CastExplicit})
	}
	call := func(fn *call.Overload, args ...plan.Expr) plan.Expr { return &plan.Call{Fn: fn, Args: args, T: fn.Ret} }
	return []struct {
		e    plan.Expr
		fits bool
	}{
		{compare, true},
		{&plan.And{Args: []plan.Expr{compare, &plan.Not{Arg: compare}, &plan.Or{Args: []plan.Expr{compare, is(ref(1))}}}}, true},
		{&plan.IsDistinct{Left: ref(0), Right: one, Eq: eq, Not: true}, true},
		{&plan.InList{Left: ref(0), List: []plan.Expr{one, plan.NewNull(types.Int8)}, Eq: eq}, true},
		{&plan.AnyAll{Left: ref(0), Array: &plan.ArrayCtor{Elems: []plan.Expr{one}, T: arrayOf(t, types.Int8)}, Op: eq, All: true}, true},
		{is(&plan.Case{Operand: ref(0), Whens: []plan.When{{Cond: call(eq, &plan.CaseOperand{T: types.Int8}, one), Result: ref(1)}}, T: types.Text}), true},
		{is(&plan.Coalesce{Args: []plan.Expr{ref(0), one}, T: types.Int8}), true},
		{is(&plan.NullIf{Left: ref(0), LeftCmp: &plan.CaseOperand{T: types.Int8}, RightCmp: one, Eq: eq}), true},
		{is(&plan.MinMax{Args: []plan.Expr{ref(0), one}, Least: true, Less: less, T: types.Int8}), true},
		{is(call(upper, ref(1))), true},
		{cast(ref(0), types.Numeric), true},
		// What reads no column is computed before.
		{call(less, ref(0), &plan.Param{Index: 0, T: types.Int8}), true},
		{is(&plan.Coalesce{Args: []plan.Expr{ref(3), call(now)}, T: types.TimestampTZ}), true},
		{is(&plan.Coalesce{Args: []plan.Expr{ref(3), &plan.SessionValue{Kind: plan.CurrentTimestamp, T: types.TimestampTZ}}, T: types.TimestampTZ}), true},
		// Time zone, date style, extra_float_digits and chance are not there where it runs.
		{cast(ref(3), types.Text), false},
		{cast(ref(3), types.Date), false},
		{cast(ref(4), types.Text), false},
		{is(call(random)), false},
		{plan.Ref(plan.Column{ID: 99, Type: types.Bool}), false},
		{is(&plan.RowCtor{Fields: []plan.Expr{ref(0)}}), false},
		{is(&plan.Subquery{Plan: scanOf(testTable()), T: types.Int8}), false},
	}
}

func arrayOf(t *testing.T, e *types.T) *types.T {
	t.Helper()
	a, ok := types.ArrayOf(e)
	if !ok {
		t.Fatal("there is no array type")
	}
	return a
}

// TestExpressions writes filters and reads them: the text of the plan stays the same, and what depends on more than the row is
// not written.
func TestExpressions(t *testing.T) {
	for i, c := range conditions(t) {
		s := scanOf(testTable())
		s.Filter = c.e
		text, err := Encode(s, noValue)
		if unfit := new(Unfit); (err == nil) != c.fits || err != nil && !errors.As(err, &unfit) {
			t.Errorf("%d: %s: %v", i, plan.FormatExpr(c.e), err)
			continue
		}
		if !c.fits {
			continue
		}
		n, err := Decode(text, testTable())
		if err != nil {
			t.Errorf("%d: %s: %v", i, plan.FormatExpr(c.e), err)
			continue
		}
		again, err := Encode(n, func(plan.Expr) (types.Datum, error) { return types.Null, errors.New("nothing is left to compute") })
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("%d: %s is written in another way once it was read: %v", i, plan.FormatExpr(c.e), err)
		}
	}
}

// TestOperators writes a chain with each operator.
func TestOperators(t *testing.T) {
	n := operators(t)
	text, err := Encode(n, noValue)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(text, testTable())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Encode(back, noValue); err != nil || !bytes.Equal(text, again) {
		t.Errorf("it is written in another way once it was read: %v", err)
	}
	for i := range text {
		if _, err := Decode(text[:i], testTable()); err == nil {
			t.Errorf("%d of %d bytes are a fragment", i, len(text))
		}
	}
}

func operators(t *testing.T) plan.Node {
	s := scanOf(testTable())
	f := &plan.Filter{Input: s, Cond: conditions(t)[0].e}
	f.Cols = s.Cols
	p := &plan.Project{Input: f, Exprs: []plan.Expr{plan.Ref(s.Cols[0]), plan.Ref(s.Cols[2])}}
	p.Cols = []plan.Column{s.Cols[0], {ID: 20, Name: "x", Type: types.Numeric}}
	g := &plan.GroupBy{Input: p, Keys: []plan.ColID{1}, Phase: plan.PartialGroups}
	g.Aggs = []plan.Agg{{Fn: builtin.Aggregates("sum")[0], Args: []plan.Expr{plan.Ref(p.Cols[1])}, Filter: conditions(t)[0].e}}
	for _, a := range builtin.Aggregates("sum") {
		if a.Key() == "sum(numeric)" {
			g.Aggs[0].Fn = a
		}
	}
	g.Aggs[0].Out = plan.Column{ID: 30, Type: types.Numeric}
	g.Cols = []plan.Column{p.Cols[0], g.Aggs[0].Out}
	o := &plan.Sort{Input: g, Keys: []plan.SortKey{{Col: 30, Desc: true, NullsFirst: true}}, Bound: plan.RowBound{Count: plan.NewConst(types.Int8, types.NewInt(3))}}
	o.Cols = g.Cols
	return o
}

// TestEveryOverload writes all functions and operators: those that are written are found again as the same ones.
func TestEveryOverload(t *testing.T) {
	written := 0
	for _, o := range builtin.All() {
		w := &writer{}
		if w.overload(o); w.err != nil {
			continue
		}
		written++
		if o.Volatility != call.Immutable {
			t.Errorf("%s is not immutable", o.Key())
		}
		if found := overloadWith(kindOf(o), o.Name, o.Key()); found != o {
			t.Errorf("%s becomes %v", o.Key(), found)
		}
	}
	if written < 500 {
		t.Errorf("%d overloads only are written", written)
	}
}

func testRequest(t *testing.T) []byte {
	table := testTable()
	d, err := catalog.EncodeTable(table)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Encode(operators(t), noValue)
	if err != nil {
		t.Fatal(err)
	}
	return AppendRequest(nil, &Request{
		Table: table, Descriptor: d, Plan: text, Txn: kvpb.TxnMeta{ReadTS: hlc.Timestamp{WallTime: 5}},
		Observed: []kvpb.Observation{{Node: 2, TS: hlc.Timestamp{WallTime: 3}}},
		Spans:    []kvpb.Span{{Key: []byte("a")}, {Key: []byte("b"), EndKey: []byte("c")}}, ReadBytes: 10, AnswerBytes: 20, WorkMem: 30,
	})
}

// TestVersions sends requests and answers of another version, and expects an error that names both.
func TestVersions(t *testing.T) {
	latest := hlc.Timestamp{WallTime: 9}
	req := testRequest(t)
	if q, err := DecodeRequest(req, latest); err != nil || len(q.Spans) != 2 || q.WorkMem != 30 || q.Observed[0].Node != 2 {
		t.Fatalf("%+v, %v", q, err)
	}
	if _, err := DecodeRequest(req, hlc.Timestamp{WallTime: 1}); err == nil {
		t.Error("a read of the future was accepted")
	}
	req[0] = Version + 1
	_, err := DecodeRequest(req, latest)
	v := new(VersionError)
	if !errors.As(err, &v) || v.Version != Version+1 {
		t.Fatal(err)
	}
	if _, err := DecodeAnswer(AppendFailure(nil, err)); !errors.As(err, &v) {
		t.Error(err)
	}
	answer := AppendAnswer(nil, &Answer{Rest: []byte("k"), Entries: 300, Waited: time.Second, Batches: []byte("rows")})
	if a, err := DecodeAnswer(answer); err != nil || string(a.Rest) != "k" || a.Entries != 300 || a.Waited != time.Second || string(a.Batches) != "rows" {
		t.Errorf("%+v, %v", a, err)
	}
	answer[0] = Version + 1
	if _, err := DecodeAnswer(answer); !errors.As(err, &v) {
		t.Error(err)
	}
}

// TestFailures sends errors of each layer, which arrive as they were.
func TestFailures(t *testing.T) {
	_, err := DecodeAnswer(AppendFailure(nil, &kvpb.UncertaintyError{Key: []byte("k"), Node: 3, TS: hlc.Timestamp{WallTime: 4}}))
	if u := new(kvpb.UncertaintyError); !errors.As(err, &u) || u.Node != 3 {
		t.Error(err)
	}
	sent := pgerr.New(pgerr.DivisionByZero, "division by zero").At(7)
	_, err = DecodeAnswer(AppendFailure(nil, sent))
	if e := new(pgerr.Error); !errors.As(err, &e) || *e != *sent {
		t.Errorf("%+v", err)
	}
}

// FuzzDecode reads anything as a request, a fragment and an answer.
func FuzzDecode(f *testing.F) {
	t := &testing.T{}
	f.Add(testRequest(t))
	text, _ := Encode(operators(t), noValue)
	f.Add(text)
	f.Add(AppendAnswer(nil, &Answer{Rest: []byte("k"), Batches: []byte("rows")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = DecodeRequest(b, hlc.Timestamp{WallTime: 9})
		_, _ = DecodeAnswer(b)
		_, _ = Decode(b, testTable())
	})
}
