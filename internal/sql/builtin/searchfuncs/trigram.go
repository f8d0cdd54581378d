package searchfuncs

import (
	"fmt"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/trigram"
	"github.com/lichendb/lichen/internal/sql/types"
)

// similarityThreshold is the setting that % compares with.
const similarityThreshold = "pg_trgm.similarity_threshold"

// trigramFunctions are those of PostgreSQL's extension pg_trgm that compare whole texts.
func trigramFunctions() []*call.Overload {
	distance := func(c *call.Context, a []types.Datum) (types.Datum, error) {
		f, err := similarity(c, a)
		return types.NewFloat(float64(1 - f)), err
	}
	return append(wordSimilarityFunctions(), []*call.Overload{
		call.Fn("show_trgm(text) _text", showTrigrams),
		call.Fn("similarity(text,text) float4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			f, err := similarity(c, a)
			return types.NewFloat(float64(f)), err
		}),
		call.Fn("similarity_op(text,text) bool", isSimilar).Stable(), call.Op("text % text bool", isSimilar).Stable(),
		call.Fn("similarity_dist(text,text) float4", distance), call.Op("text <-> text float4", distance),
		call.Fn("show_limit() float4", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewFloat(float64(likenessThreshold(c))), nil
		}).Stable(),
		call.Fn("set_limit(float4) float4", call.SessionFunc(setSimilarity)).Volatile(),
	}...)
}

// wordSimilarityFunctions are those that compare a text with a part of another: with any, and
// strictly with whole words.
func wordSimilarityFunctions() []*call.Overload {
	var all []*call.Overload
	for _, f := range []struct {
		name, setting                    string
		initial                          float32
		is, isBy, distance, distanceFrom string // operators
	}{
		{"word_similarity", "pg_trgm.word_similarity_threshold", 0.6, "<%", "%>", "<<->", "<->>"},
		{"strict_word_similarity", "pg_trgm.strict_word_similarity_threshold", 0.5, "<<%", "%>>", "<<<->", "<->>>"},
	} {
		strict := f.name != "word_similarity"
		likeness := func(c *call.Context, a []types.Datum, swap bool) (float32, error) {
			part, whole := a[0].Str(), a[1].Str()
			if swap {
				part, whole = whole, part
			}
			return trigram.WordSimilarity(part, whole, strict, c.Step)
		}
		holds := func(swap bool) call.EvalFunc {
			return func(c *call.Context, a []types.Datum) (types.Datum, error) {
				s, err := likeness(c, a, swap)
				return types.NewBool(s >= threshold(c, f.setting, f.initial)), err
			}
		}
		distance := func(swap bool) call.EvalFunc {
			return func(c *call.Context, a []types.Datum) (types.Datum, error) {
				s, err := likeness(c, a, swap)
				return types.NewFloat(float64(1 - s)), err
			}
		}
		all = append(all,
			call.Fn(f.name+"(text,text) float4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
				s, err := likeness(c, a, false)
				return types.NewFloat(float64(s)), err
			}),
			call.Op("text "+f.is+" text bool", holds(false)).Stable(), call.Fn(f.name+"_op(text,text) bool", holds(false)).Stable(),
			call.Op("text "+f.isBy+" text bool", holds(true)).Stable(), call.Fn(f.name+"_commutator_op(text,text) bool", holds(true)).Stable(),
			call.Op("text "+f.distance+" text float4", distance(false)), call.Fn(f.name+"_dist_op(text,text) float4", distance(false)),
			call.Op("text "+f.distanceFrom+" text float4", distance(true)), call.Fn(f.name+"_dist_commutator_op(text,text) float4", distance(true)))
	}
	return all
}

func similarity(c *call.Context, a []types.Datum) (float32, error) {
	x, err := trigram.Of(a[0].Str(), c.Step)
	if err != nil {
		return 0, err
	}
	y, err := trigram.Of(a[1].Str(), c.Step)
	if err != nil {
		return 0, err
	}
	return trigram.Similarity(x, y, c.Step)
}

func likenessThreshold(c *call.Context) float32 { return threshold(c, similarityThreshold, 0.3) }

// threshold returns a setting of pg_trgm, or what it is at first.
func threshold(c *call.Context, setting string, initial float32) float32 {
	if c.Session != nil {
		if v, ok := c.Session.Setting(setting); ok {
			if f, err := strconv.ParseFloat(v, 32); err == nil {
				return float32(f)
			}
		}
	}
	return initial
}

func isSimilar(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, err := similarity(c, a)
	return types.NewBool(s >= likenessThreshold(c)), err
}

func setSimilarity(s call.Session, a []types.Datum) (types.Datum, error) {
	v, err := s.SetSetting(similarityThreshold, strconv.FormatFloat(a[0].Float(), 'g', -1, 32), false)
	if err != nil {
		return types.Null, err
	}
	f, err := strconv.ParseFloat(v, 32)
	return types.NewFloat(f), err
}

// showTrigrams shows trigrams that are no characters as numbers.
func showTrigrams(c *call.Context, a []types.Datum) (types.Datum, error) {
	trigrams, err := trigram.Of(a[0].Str(), c.Step)
	if err != nil {
		return types.Null, err
	}
	out := make([]types.Datum, 0, len(trigrams))
	for _, t := range trigrams {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		s := string(t[:])
		for _, b := range t {
			if b < ' ' || b > '~' {
				s = fmt.Sprintf("0x%02x%02x%02x", t[0], t[1], t[2])
			}
		}
		out = append(out, types.NewString(s))
	}
	return types.NewArray(out), nil
}
