package searchfuncs

import (
	"sort"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/jsonfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/textsearch"
	"github.com/lichendb/lichen/internal/sql/types"
)

// textConfig returns the configuration with the given oid.
func textConfig(oid int64) (textsearch.Config, error) {
	if c, ok := types.ConfigOf(oid); ok {
		return c, nil
	}
	return 0, pgerr.New(pgerr.UndefinedObject, "cache lookup failed for text search configuration %d", oid)
}

// defaultConfig returns the configuration of default_text_search_config.
func defaultConfig(c *call.Context) textsearch.Config {
	if c.Session != nil {
		if v, ok := c.Session.Setting("default_text_search_config"); ok {
			if cfg, ok := textsearch.ConfigNamed(strings.TrimPrefix(v, "pg_catalog.")); ok {
				return cfg
			}
		}
	}
	return textsearch.English
}

// withConfig declares a function with and without a configuration before its
// arguments.
func withConfig(name, args, ret string, f func(cfg textsearch.Config, c *call.Context, a []types.Datum) (types.Datum, error)) []*call.Overload {
	return []*call.Overload{
		call.Fn(name+"("+args+") "+ret, func(c *call.Context, a []types.Datum) (types.Datum, error) { return f(defaultConfig(c), c, a) }).Stable(),
		call.Fn(name+"(regconfig,"+args+") "+ret, func(c *call.Context, a []types.Datum) (types.Datum, error) {
			cfg, err := textConfig(a[0].Int())
			if err != nil {
				return types.Null, err
			}
			return f(cfg, c, a[1:])
		}),
	}
}

// parseQuery makes a query of a text.
type parseQuery func(cfg textsearch.Config, s string, step textsearch.Step) (*textsearch.Query, error)

// textQuery declares a function that is parse.
func textQuery(name string, parse parseQuery) []*call.Overload {
	return withConfig(name, "text", "tsquery", func(cfg textsearch.Config, c *call.Context, a []types.Datum) (types.Datum, error) {
		q, err := parse(cfg, a[0].Str(), c.Step)
		if err != nil {
			return types.Null, err
		}
		return queryResult(q)
	})
}

// queryResult returns a tsquery unless its tree is too high.
func queryResult(q *textsearch.Query) (types.Datum, error) {
	if q.Height() > textsearch.MaxQueryHeight {
		return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "tsquery is too large").
			WithDetail("A query has %d operands in a row at most.", textsearch.MaxQueryHeight)
	}
	return types.NewTSQuery(q), nil
}

func textSearchOperators() []*call.Overload {
	match := func(v, q int) call.EvalFunc {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(textsearch.Match(a[v].TSVector(c.Format), a[q].TSQuery())), nil
		}
	}
	join := func(o textsearch.Op) call.EvalFunc {
		return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return queryResult(textsearch.Combine(o, a[0].TSQuery(), a[1].TSQuery(), 1))
		}
	}
	all := []*call.Overload{
		call.Op("tsvector @@ tsquery bool", match(0, 1)), call.Op("tsquery @@ tsvector bool", match(1, 0)),
		call.Op("tsvector @@@ tsquery bool", match(0, 1)), call.Op("tsquery @@@ tsvector bool", match(1, 0)),
		call.Op("text @@ tsquery bool", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			v, _, err := defaultConfig(c).ToVector(a[0].Str(), 0, c.Step)
			return types.NewBool(textsearch.Match(v, a[1].TSQuery())), err
		}).Stable(),
		call.Op("text @@ text bool", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			cfg := defaultConfig(c)
			v, _, err := cfg.ToVector(a[0].Str(), 0, c.Step)
			if err != nil {
				return types.Null, err
			}
			q, err := cfg.PlainToQuery(a[1].Str(), c.Step)
			return types.NewBool(textsearch.Match(v, q)), err
		}).Stable(),
		call.Op("tsvector || tsvector tsvector", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewTSVector(textsearch.Concat(a[0].TSVector(c.Format), a[1].TSVector(c.Format), c.Step)), nil
		}),
		call.Op("tsquery && tsquery tsquery", join(textsearch.OpAnd)), call.Op("tsquery || tsquery tsquery", join(textsearch.OpOr)),
		call.Op("tsquery <-> tsquery tsquery", join(textsearch.OpPhrase)),
		call.Op("!! tsquery tsquery", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return queryResult(textsearch.Not(a[0].TSQuery()))
		}),
		call.Op("tsquery @> tsquery bool", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(queryHolds(a[0].TSQuery(), a[1].TSQuery())), nil
		}),
		call.Op("tsquery <@ tsquery bool", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(queryHolds(a[1].TSQuery(), a[0].TSQuery())), nil
		}),
	}
	all = append(all, comparefuncs.SixOperators("tsvector", "tsvector", comparefuncs.CompareDatums)...)
	return append(all, comparefuncs.SixOperators("tsquery", "tsquery", comparefuncs.CompareDatums)...)
}

// queryHolds reports whether all words of b occur in a.
func queryHolds(a, b *textsearch.Query) bool {
	words := map[string]bool{}
	a.Words(func(q *textsearch.Query) { words[q.Word] = true })
	ok := true
	b.Words(func(q *textsearch.Query) { ok = ok && words[q.Word] })
	return ok
}

func textSearchFunctions() []*call.Overload {
	all := withConfig("to_tsvector", "text", "tsvector", func(cfg textsearch.Config, c *call.Context, a []types.Datum) (types.Datum, error) {
		v, _, err := cfg.ToVector(a[0].Str(), 0, c.Step)
		return types.NewTSVector(v), err
	})
	for _, t := range []string{"json", "jsonb"} {
		all = append(all, withConfig("to_tsvector", t, "tsvector", func(cfg textsearch.Config, c *call.Context, a []types.Datum) (types.Datum, error) {
			v, err := jsonVectorOf(c, cfg, a[0].JSONB(c.Format), map[string]bool{"string": true})
			return types.NewTSVector(v), err
		})...)
	}
	for _, t := range []string{"json", "jsonb"} {
		all = append(all, withConfig(t+"_to_tsvector", t+",jsonb", "tsvector", func(cfg textsearch.Config, c *call.Context, a []types.Datum) (types.Datum, error) {
			want, err := jsonParts(c, a[1].JSONB(c.Format))
			if err != nil {
				return types.Null, err
			}
			v, err := jsonVectorOf(c, cfg, a[0].JSONB(c.Format), want)
			return types.NewTSVector(v), err
		})...)
	}
	for name, parse := range map[string]parseQuery{
		"to_tsquery": textsearch.Config.ToQuery, "plainto_tsquery": textsearch.Config.PlainToQuery,
		"phraseto_tsquery": textsearch.Config.PhraseToQuery, "websearch_to_tsquery": textsearch.Config.WebToQuery,
	} {
		all = append(all, textQuery(name, parse)...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	all = append(all, headlineFunctions()...)
	all = append(all, vectorFunctions()...)
	return append(all, rankFunctions()...)
}

// jsonParts reads the filter of jsonb_to_tsvector: which kinds of values count.
func jsonParts(c *call.Context, v types.JSONValue) (map[string]bool, error) {
	list := v.Elems
	if jsonfuncs.IsScalar(v) {
		list = types.NewJSONElems(v)
	}
	if v.Kind == types.KindObject {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "wrong flag type, only arrays and scalars are allowed")
	}
	want := map[string]bool{}
	for _, e := range list.All() {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		name := strings.ToLower(e.Str)
		switch {
		case e.Kind != types.KindString:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "flag array element is not a string").
				WithHint("Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".")
		case name == "all":
			for _, n := range []string{"string", "numeric", "boolean", "key"} {
				want[n] = true
			}
		case name == "string", name == "numeric", name == "boolean", name == "key":
			want[name] = true
		default:
			return nil, pgerr.New(pgerr.InvalidParameterValue, "wrong flag in flag array: \"%s\"", e.Str).
				WithHint("Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".")
		}
	}
	return want, nil
}

// jsonVectorOf makes a vector of the wanted kinds of values in a JSON value.
func jsonVectorOf(c *call.Context, cfg textsearch.Config, v types.JSONValue, want map[string]bool) (textsearch.Vector, error) {
	var out textsearch.Vector
	pos := 0
	var failed error
	add := func(s string) {
		var part textsearch.Vector
		if part, pos, failed = cfg.ToVector(s, pos, c.Step); len(part) > 0 {
			pos++ // a gap between values
		}
		out = append(out, part...)
	}
	var walk func(v types.JSONValue)
	walk = func(v types.JSONValue) {
		if failed == nil {
			failed = c.Step(1)
		}
		if failed != nil {
			return
		}
		switch {
		case v.Kind == types.KindString && want["string"]:
			add(v.Str)
		case v.Kind == types.KindNumber && want["numeric"], v.Kind == types.KindBool && want["boolean"]:
			add(string(types.AppendJSON(nil, v, c.Format)))
		}
		for _, e := range v.Elems.All() {
			walk(e)
		}
		for _, f := range v.Fields {
			if want["key"] {
				add(f.Key)
			}
			walk(f.Value)
		}
	}
	walk(v)
	return textsearch.Normal(out, c.Step), failed
}

func weightOf(s string) (textsearch.Weight, error) {
	if len(s) == 1 {
		if w, ok := textsearch.ParseWeight(s[0]); ok {
			return w, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidParameterValue, "unrecognized weight: \"%s\"", s)
}

func vectorFunctions() []*call.Overload {
	setWeight := func(c *call.Context, a []types.Datum) (types.Datum, error) {
		w, err := weightOf(a[1].Str())
		if err != nil {
			return types.Null, err
		}
		var words map[string]bool
		if len(a) == 3 {
			words = map[string]bool{}
			for _, e := range a[2].ArrayElems() {
				if err := c.Step(1); err != nil {
					return types.Null, err
				}
				words[e.Str()] = !e.IsNull()
			}
		}
		return types.NewTSVector(a[0].TSVector(c.Format).SetWeight(w, words)), nil
	}
	return []*call.Overload{
		call.Fn("setweight(tsvector,char) tsvector", setWeight), call.Fn("setweight(tsvector,char,_text) tsvector", setWeight),
		call.Fn("strip(tsvector) tsvector", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewTSVector(a[0].TSVector(c.Format).Strip()), nil
		}),
		call.Fn("length(tsvector) int4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(len(a[0].TSVector(c.Format)))), nil
		}),
		call.Fn("ts_filter(tsvector,_char) tsvector", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			mask := uint8(0)
			for _, e := range a[1].ArrayElems() {
				if err := c.Step(1); err != nil {
					return types.Null, err
				}
				if e.IsNull() {
					return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "weight array may not contain nulls")
				}
				w, err := weightOf(e.Str())
				if err != nil {
					return types.Null, err
				}
				mask |= 1 << w
			}
			return types.NewTSVector(a[0].TSVector(c.Format).Filter(mask)), nil
		}),
		call.Fn("ts_delete(tsvector,text) tsvector", deleteLexemes), call.Fn("ts_delete(tsvector,_text) tsvector", deleteLexemes),
		call.Fn("tsvector_to_array(tsvector) _text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			var out []types.Datum
			for _, l := range a[0].TSVector(c.Format) {
				if err := c.Step(1); err != nil {
					return types.Null, err
				}
				out = append(out, types.NewString(l.Word))
			}
			return types.NewArray(out), nil
		}),
		call.Fn("array_to_tsvector(_text) tsvector", arrayToVector),
		call.SRF("unnest(tsvector) setof record", unnestVector).Columns([]string{"lexeme", "positions", "weights"},
			[]*types.T{types.Text, types.Int2Array, types.TextArray}),
		call.Fn("get_current_ts_config() regconfig", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewInt(types.ConfigOid(defaultConfig(c))), nil
		}).Stable(),
	}
}

// queryFunctions declares what takes queries apart and puts them together.
func queryFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("numnode(tsquery) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewInt(int64(a[0].TSQuery().Nodes())), nil
		}),
		call.Fn("querytree(tsquery) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return call.Text(a[0].TSQuery().Tree()) }),
		call.Fn("tsquery_phrase(tsquery,tsquery) tsquery", phraseOf), call.Fn("tsquery_phrase(tsquery,tsquery,int4) tsquery", phraseOf),
		call.Fn("ts_rewrite(tsquery,tsquery,tsquery) tsquery", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return queryResult(a[0].TSQuery().Rewrite(a[1].TSQuery(), a[2].TSQuery()))
		}),
	}
}

func phraseOf(_ *call.Context, a []types.Datum) (types.Datum, error) {
	distance := int64(1)
	if len(a) == 3 {
		distance = a[2].Int()
	}
	if distance < 0 || distance > textsearch.MaxPhraseDistance {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue,
			"distance in phrase operator must be an integer value between zero and %d inclusive", textsearch.MaxPhraseDistance)
	}
	return queryResult(textsearch.Combine(textsearch.OpPhrase, a[0].TSQuery(), a[1].TSQuery(), uint16(distance)))
}

func arrayToVector(c *call.Context, a []types.Datum) (types.Datum, error) {
	var v textsearch.Vector
	for _, e := range a[0].ArrayElems() {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		if e.IsNull() {
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "lexeme array may not contain nulls")
		}
		if e.Str() == "" {
			return types.Null, pgerr.New("2200F", "lexeme array may not contain empty strings")
		}
		v = append(v, textsearch.Lexeme{Word: e.Str()})
	}
	return types.NewTSVector(textsearch.Normal(v, c.Step)), nil
}

func deleteLexemes(c *call.Context, a []types.Datum) (types.Datum, error) {
	drop := map[string]bool{}
	if a[1].Family() == types.ArrayFamily {
		for _, e := range a[1].ArrayElems() {
			if err := c.Step(1); err != nil {
				return types.Null, err
			}
			drop[e.Str()] = !e.IsNull()
		}
	} else {
		drop[a[1].Str()] = true
	}
	var out textsearch.Vector
	for _, l := range a[0].TSVector(c.Format) {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		if !drop[l.Word] {
			out = append(out, l)
		}
	}
	return types.NewTSVector(out), nil
}

func unnestVector(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	var rows [][]types.Datum
	for _, l := range a[0].TSVector(c.Format) {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		row := []types.Datum{types.NewString(l.Word), types.Null, types.Null}
		var pos, weights []types.Datum
		for _, p := range l.Positions {
			pos = append(pos, types.NewInt(int64(p.Pos)))
			weights = append(weights, types.NewString(string(p.Weight.Letter())))
		}
		if pos != nil {
			row[1], row[2] = types.NewArray(pos), types.NewArray(weights)
		}
		rows = append(rows, row)
	}
	return call.NewRows(rows), nil
}

func rankFunctions() []*call.Overload {
	rank := func(f func(w [4]float32, v textsearch.Vector, q *textsearch.Query, method int) float32, weighted bool) call.EvalFunc {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			w, method := textsearch.DefaultWeights, 0
			if weighted {
				var err error
				if w, err = rankWeights(a[0]); err != nil {
					return types.Null, err
				}
				a = a[1:]
			}
			if len(a) == 3 {
				method = int(a[2].Int())
			}
			return types.NewFloat(float64(f(w, a[0].TSVector(c.Format), a[1].TSQuery(), method))), nil
		}
	}
	var all []*call.Overload
	for name, f := range map[string]func(w [4]float32, v textsearch.Vector, q *textsearch.Query, method int) float32{
		"ts_rank": textsearch.Rank, "ts_rank_cd": textsearch.RankCD,
	} {
		all = append(all,
			call.Fn(name+"(tsvector,tsquery) float4", rank(f, false)), call.Fn(name+"(tsvector,tsquery,int4) float4", rank(f, false)),
			call.Fn(name+"(_float4,tsvector,tsquery) float4", rank(f, true)), call.Fn(name+"(_float4,tsvector,tsquery,int4) float4", rank(f, true)))
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

func rankWeights(d types.Datum) (w [4]float32, err error) {
	a := d.Array()
	switch {
	case len(a.Dims) > 1:
		return w, pgerr.New(pgerr.ArraySubscriptError, "array of weight must be one-dimensional")
	case len(a.Elems) < 4:
		return w, pgerr.New(pgerr.ArraySubscriptError, "array of weight is too short")
	}
	for i := range w {
		if a.Elems[i].IsNull() {
			return w, pgerr.New(pgerr.NullValueNotAllowed, "array of weight must not contain nulls")
		}
		if w[i] = float32(a.Elems[i].Float()); w[i] < 0 {
			w[i] = textsearch.DefaultWeights[i]
		}
		if w[i] > 1 {
			return w, pgerr.New(pgerr.InvalidParameterValue, "weight out of range")
		}
	}
	return w, nil
}
