package inverted

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/textsearch"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// holds evaluates an operator; an error counts as false.
func holds(t *rapid.T, op string, l *types.T, a types.Datum, r *types.T, b types.Datum) bool {
	o, err := builtin.ResolveOperatorSeeing(op, []*types.T{l, r}, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	d, err := o.Call(&call.Context{}, []*types.T{l, r}, []types.Datum{a, b})
	return err == nil && d.IsTrue()
}

// implied checks that a value's tokens satisfy the formula of what is true of it.
func implied(t *rapid.T, class, op string, column *types.T, a types.Datum, operand *types.T, b types.Datum) {
	c := ByName(class)
	tokens, err := c.Tokens(column, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(tokens) {
		t.Fatalf("tokens of %v are not sorted", a)
	}
	f := c.Query(column, op, b, Options{Similarity: DefaultSimilarity})
	if holds(t, op, column, a, operand, b) && !f.Holds(tokens) {
		t.Fatalf("%s: %s %s %s is true, but tokens %q do not satisfy %+v", class,
			typeio.AppendText(nil, column, a, nil), op, typeio.AppendText(nil, operand, b, nil), tokens, f)
	}
}

func drawJSON(t *rapid.T, depth int) types.JSONValue {
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	if depth > 2 {
		kind = min(kind, 3)
	}
	switch kind {
	case 0:
		return types.JSONValue{Kind: types.KindNull}
	case 1:
		return types.JSONValue{Kind: types.KindBool, Bool: rapid.Bool().Draw(t, "bool")}
	case 2:
		n := rapid.Int64Range(0, 2).Draw(t, "n")
		return types.JSONValue{Kind: types.KindNumber, Num: types.NewDecimalInt(n*100, rapid.Int32Range(2, 2).Draw(t, "scale"))}
	case 3:
		return types.JSONValue{Kind: types.KindString, Str: drawWord(t)}
	case 4, 5:
		v := types.JSONValue{Kind: types.KindArray}
		for range rapid.IntRange(0, 2).Draw(t, "elems") {
			v.Elems.Append(drawJSON(t, depth+1))
		}
		return v
	}
	var fields []*types.JSONField
	for range rapid.IntRange(0, 2).Draw(t, "fields") {
		fields = append(fields, &types.JSONField{Key: drawWord(t), Value: drawJSON(t, depth+1)})
	}
	return types.NewJSONObject(fields, nil)
}

func drawWord(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "a", "b", strings.Repeat("long", 40), strings.Repeat("long", 40) + "er"}).Draw(t, "word")
}

func drawWords(t *rapid.T) types.Datum {
	var out []types.Datum
	for range rapid.IntRange(0, 3).Draw(t, "words") {
		out = append(out, types.NewString(drawWord(t)))
	}
	return types.NewArray(out)
}

func TestJSONFormulas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := types.NewJSONB(drawJSON(t, 0), nil), types.NewJSONB(drawJSON(t, 0), nil)
		implied(t, "jsonb_ops", "@>", types.JSONB, a, types.JSONB, b)
		implied(t, "jsonb_path_ops", "@>", types.JSONB, a, types.JSONB, b)
		implied(t, "jsonb_ops", "?", types.JSONB, a, types.Text, types.NewString(drawWord(t)))
		implied(t, "jsonb_ops", "?|", types.JSONB, a, types.TextArray, drawWords(t))
		implied(t, "jsonb_ops", "?&", types.JSONB, a, types.TextArray, drawWords(t))
	})
}

func drawInts(t *rapid.T) types.Datum {
	var out []types.Datum
	for range rapid.IntRange(0, 3).Draw(t, "elems") {
		if n := rapid.Int64Range(0, 3).Draw(t, "n"); n > 0 {
			out = append(out, types.NewInt(n))
		} else {
			out = append(out, types.Null)
		}
	}
	return types.NewArray(out)
}

// drawPlainInts draws arrays without NULLs.
func drawPlainInts(t *rapid.T) types.Datum {
	var out []types.Datum
	for range rapid.IntRange(0, 3).Draw(t, "elems") {
		out = append(out, types.NewInt(rapid.Int64Range(1, 3).Draw(t, "n")))
	}
	return types.NewArray(out)
}

func TestArrayFormulas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawInts(t), drawInts(t)
		for _, op := range []string{"@>", "<@", "&&", "="} {
			implied(t, "array_ops", op, types.Int4Array, a, types.Int4Array, b)
		}
		q := rapid.SampledFrom([]string{"1", "1&2", "1|!2", "!(1&2)&3", "!1", "(1|2)&!3"}).Draw(t, "query")
		d, err := typeio.ParseText(types.QueryInt, q, nil)
		if err != nil {
			t.Fatal(err)
		}
		implied(t, "gin__int_ops", "@@", types.Int4Array, drawPlainInts(t), types.QueryInt, d)
	})
}

func TestTextFormulas(t *testing.T) {
	text := rapid.StringOf(rapid.RuneFrom([]rune("abcABCſsKkßẞσςΣ1 -ü%_.")))
	pattern := rapid.StringOf(rapid.RuneFrom([]rune(`abcAſKσ1 %_ü`)))
	expr := rapid.StringMatching(`([abcAsk1ü .]|\[ab\]|\(ab?\)|\\d|\\\.|a\*|b\?|c\+|a\{1,2\}|\||\^|\$){0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a := types.NewString(text.Draw(t, "text"))
		for _, op := range []string{"~~", "~~*"} {
			implied(t, "gin_trgm_ops", op, types.Text, a, types.Text, types.NewString(pattern.Draw(t, "pattern")))
		}
		for _, op := range []string{"~", "~*"} {
			implied(t, "gin_trgm_ops", op, types.Text, a, types.Text, types.NewString(expr.Draw(t, "expression")))
		}
		for _, op := range []string{"%", "="} {
			implied(t, "gin_trgm_ops", op, types.Text, a, types.Text, types.NewString(text.Draw(t, "other")))
		}
	})
}

func TestVectorFormulas(t *testing.T) {
	words := rapid.StringOf(rapid.RuneFrom([]rune("ab ")))
	query := rapid.StringMatching(`!?[ab]{1,2}(:\*)?( (&|\||<->) !?[ab]{1,2}(:\*)?){0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		q, err := textsearch.ParseQuery(query.Draw(t, "query"))
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := textsearch.Simple.ToVector(words.Draw(t, "text"), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		implied(t, "tsvector_ops", "@@", types.TSVector, types.NewTSVector(v), types.TSQuery, types.NewTSQuery(q))
	})
}

// TestEntries: the entry of a token begins as all of the token do, and gives the row's
// key back.
func TestEntries(t *testing.T) {
	tab := &catalog.Table{
		Database: 100, ID: 101, Columns: []catalog.Column{{ID: 1, Type: types.Int4}, {ID: 2, Type: types.Int4Array}},
		Indexes: []catalog.Index{
			{ID: 1, Primary: true, Columns: []catalog.IndexColumn{{Column: 1}}},
			{ID: 2, Inverted: "array_ops", Columns: []catalog.IndexColumn{{Column: 2}}},
		},
	}
	x, err := Compile(tab, &tab.Indexes[1])
	if err != nil {
		t.Fatal(err)
	}
	rest := []byte("row\x00\x01")
	rowKey := append(bytes.Repeat([]byte{7}, x.row), rest...)
	for _, token := range []string{"", "e", "e\x00\x01", "e\xff"} {
		key, err := x.AppendEntry(nil, token, rowKey)
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.RowPart(key)
		if err != nil || !bytes.Equal(got, rest) {
			t.Errorf("token %q: row %q, %v", token, got, err)
		}
		if !bytes.HasPrefix(key, x.AppendToken(nil, token)) || !bytes.HasPrefix(key, x.AppendTokenPrefix(nil, token)) {
			t.Errorf("token %q: key %x", token, key)
		}
	}
	if _, err := x.RowPart([]byte("other")); err == nil {
		t.Error("foreign key accepted")
	}
}

func TestHstoreFormulas(t *testing.T) {
	key := rapid.SampledFrom([]string{"a", "b", "ab"})
	value := rapid.Custom(func(t *rapid.T) types.Datum {
		var text []string
		for range rapid.IntRange(0, 3).Draw(t, "pairs") {
			text = append(text, key.Draw(t, "key")+"=>"+rapid.SampledFrom([]string{"a", "b", "NULL", `""`}).Draw(t, "value"))
		}
		d, err := typeio.ParseText(types.Hstore, strings.Join(text, ","), nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
	rapid.Check(t, func(t *rapid.T) {
		a := value.Draw(t, "a")
		implied(t, "gin_hstore_ops", "@>", types.Hstore, a, types.Hstore, value.Draw(t, "b"))
		implied(t, "gin_hstore_ops", "?", types.Hstore, a, types.Text, types.NewString(key.Draw(t, "key")))
		keys := call.TextArray(rapid.SliceOfN(key, 0, 3).Draw(t, "keys"))
		implied(t, "gin_hstore_ops", "?|", types.Hstore, a, types.TextArray, keys)
		implied(t, "gin_hstore_ops", "?&", types.Hstore, a, types.TextArray, keys)
	})
}
