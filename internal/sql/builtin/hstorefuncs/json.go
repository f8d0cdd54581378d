package hstorefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/types"
)

// toJSON makes an object of a value. A loose one has booleans and numbers where values look like them.
func toJSON(binary, loose bool) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		dst := []byte{'{'}
		for p := range hstore.All(a[0].Str()) {
			if err := c.Step(1); err != nil {
				return types.Null, err
			}
			if len(dst) > 1 {
				dst = append(dst, ", "...)
			}
			dst = append(types.AppendJSONString(dst, p.Key, c.Format), ": "...)
			dst = appendValue(c, dst, p, loose)
		}
		text := types.Owned(append(dst, '}'))
		if !binary {
			return types.NewJSON(text), nil
		}
		v, err := types.ParseJSON(text, c.Format)
		if err != nil {
			return types.Null, err
		}
		return types.NewJSONB(v, c.Format), nil
	}
}

func appendValue(c *call.Context, dst []byte, p hstore.Pair, loose bool) []byte {
	switch {
	case p.Null:
		return append(dst, "null"...)
	case loose && p.Value == "t":
		return append(dst, "true"...)
	case loose && p.Value == "f":
		return append(dst, "false"...)
	case loose && isNumber(p.Value):
		return append(dst, p.Value...)
	}
	return types.AppendJSONString(dst, p.Value, c.Format)
}

// isNumber reports whether s is a number by the grammar of JSON.
func isNumber(s string) bool {
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	skip := func(set ...byte) bool {
		for _, c := range set {
			if s != "" && s[0] == c {
				s = s[1:]
				return true
			}
		}
		return false
	}
	skip('-')
	if !skip('0') && !digits() {
		return false
	}
	if skip('.') && !digits() {
		return false
	}
	if skip('e', 'E') {
		skip('+', '-')
		if !digits() {
			return false
		}
	}
	return s == ""
}
