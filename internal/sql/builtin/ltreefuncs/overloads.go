package ltreefuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/ltree"
	"github.com/lichendb/lichen/internal/sql/types"
)

const extension = "ltree"

// maxCommon is how many paths lca takes that are no array.
const maxCommon = 8

// Overloads declares the operators and functions.
func Overloads() []*call.Overload {
	all := comparefuncs.SixOperators("ltree", "ltree", comparefuncs.CompareDatums)
	all = append(all, paths()...)
	all = append(all, operators()...)
	all = append(all, found()...)
	for _, o := range all {
		o.Extension = extension
	}
	return all
}

// paths are the functions that compute with paths.
func paths() []*call.Overload {
	all := []*call.Overload{
		call.Op("ltree || ltree ltree", concat), call.Op("ltree || text ltree", concatText), call.Op("text || ltree ltree", textConcat),
		call.Fn("ltree_cmp(ltree,ltree) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(ltree.Compare(a[0].Str(), a[1].Str()))), nil
		}),
		call.Fn("nlevel(ltree) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(ltree.Levels(a[0].Str()))), nil
		}),
		call.Fn("subltree(ltree,int4,int4) ltree", between), call.Fn("subpath(ltree,int4,int4) ltree", subpath), call.Fn("subpath(ltree,int4) ltree", subpath),
		call.Fn("index(ltree,ltree) int4", index), call.Fn("index(ltree,ltree,int4) int4", index),
		call.Fn("ltree2text(ltree) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return types.NewString(a[0].Str()), nil }),
		call.Fn("text2ltree(text) ltree", func(c *call.Context, a []types.Datum) (types.Datum, error) { return parse(c, a[0]) }),
		call.Fn("lca(_ltree) ltree", commonOfArray),
	}
	for n := 2; n <= maxCommon; n++ {
		all = append(all, call.Fn("lca("+strings.Repeat("ltree,", n-1)+"ltree) ltree", common))
	}
	return all
}

// test reports whether a path is what a query asks for.
type test func(c *call.Context, path string) bool

// query is a kind of what paths are tested by: its type, what makes tests of its values, and the operators with a path or an array of
// paths on the left and on the right.
type query struct {
	typ         string
	test        maker
	left, right string
}

var queries = []query{
	{"ltree", below, "@>", "<@"}, // a path is above the other, or contained in it
	{"ltree", above, "<@", "@>"},
	{"lquery", matches, "~", "~"},
	{"_lquery", matchesAny, "?", "?"},
	{"ltxtquery", satisfies, "@", "@"},
}

// operators are those that test paths, and arrays of paths whether they have one. Each has a second name, with which PostgreSQL uses
// no index.
func operators() []*call.Overload {
	var all []*call.Overload
	for _, q := range queries {
		one, any := of(q.test, 0, path), of(q.test, 0, anyPath)
		for _, name := range []string{q.left, "^" + q.left} {
			all = append(all, call.OpBind("ltree "+name+" "+q.typ+" bool", one), call.OpBind("_ltree "+name+" "+q.typ+" bool", any))
		}
		one, any = of(q.test, 1, path), of(q.test, 1, anyPath)
		for _, name := range []string{q.right, "^" + q.right} {
			if q.typ != "ltree" { // where both are paths, the operators above are there already
				all = append(all, call.OpBind(q.typ+" "+name+" ltree bool", one))
			}
			all = append(all, call.OpBind(q.typ+" "+name+" _ltree bool", any))
		}
	}
	return all
}

// found are the operators that return the first path of an array that satisfies a test.
func found() []*call.Overload {
	var all []*call.Overload
	for _, q := range queries {
		if q.typ != "_lquery" {
			all = append(all, call.OpBind("_ltree ?"+q.left+" "+q.typ+" ltree", of(q.test, 0, firstPath)))
		}
	}
	return all
}
