package builtin

import (
	"fmt"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/trigram"
	"github.com/lichendb/lichen/internal/sql/types"
)

// similarityThreshold is the setting that % compares with.
const similarityThreshold = "pg_trgm.similarity_threshold"

// trigramFunctions are those of PostgreSQL's extension pg_trgm that compare whole texts.
func trigramFunctions() []*Overload {
	distance := func(_ *Context, a []types.Datum) (types.Datum, error) {
		return types.NewFloat(float64(1 - similarity(a))), nil
	}
	return []*Overload{
		fn("show_trgm(text) _text", showTrigrams),
		fn("similarity(text,text) float4", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.NewFloat(float64(similarity(a))), nil
		}),
		fn("similarity_op(text,text) bool", isSimilar).stable(), op("text % text bool", isSimilar).stable(),
		fn("similarity_dist(text,text) float4", distance), op("text <-> text float4", distance),
		fn("show_limit() float4", func(c *Context, _ []types.Datum) (types.Datum, error) {
			return types.NewFloat(float64(c.similarityThreshold())), nil
		}).stable(),
		fn("set_limit(float4) float4", sessionFunc(setSimilarity)).volatile(),
	}
}

func similarity(a []types.Datum) float32 {
	return trigram.Similarity(trigram.Of(a[0].Str()), trigram.Of(a[1].Str()))
}

func (c *Context) similarityThreshold() float32 {
	if c.Session != nil {
		if v, ok := c.Session.Setting(similarityThreshold); ok {
			if f, err := strconv.ParseFloat(v, 32); err == nil {
				return float32(f)
			}
		}
	}
	return 0.3
}

func isSimilar(c *Context, a []types.Datum) (types.Datum, error) {
	return types.NewBool(similarity(a) >= c.similarityThreshold()), nil
}

func setSimilarity(s Session, a []types.Datum) (types.Datum, error) {
	v, err := s.SetSetting(similarityThreshold, strconv.FormatFloat(a[0].Float(), 'g', -1, 32), false)
	if err != nil {
		return types.Null, err
	}
	f, err := strconv.ParseFloat(v, 32)
	return types.NewFloat(f), err
}

// showTrigrams shows trigrams that are no characters as numbers.
func showTrigrams(_ *Context, a []types.Datum) (types.Datum, error) {
	var out []types.Datum
	for _, t := range trigram.Of(a[0].Str()) {
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
