package searchfuncs

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/textsearch"
	"github.com/lichendb/lichen/internal/sql/types"
)

// headlineFunctions declares ts_headline of texts and of the strings in JSON.
func headlineFunctions() []*call.Overload {
	var all []*call.Overload
	for _, f := range []struct {
		typ  string
		mark func(*highlighter, types.Datum) (types.Datum, error)
	}{
		{"text", (*highlighter).text}, {"json", (*highlighter).json}, {"jsonb", (*highlighter).jsonb},
	} {
		eval := func(cfg textsearch.Config, c *call.Context, a []types.Datum) (types.Datum, error) {
			h := &highlighter{c: c, cfg: cfg, query: a[1].TSQuery(), options: textsearch.DefaultHeadline}
			if len(a) == 3 {
				if err := headlineOptions(a[2].Str(), &h.options); err != nil {
					return types.Null, err
				}
			}
			return f.mark(h, a[0])
		}
		all = append(all, withConfig("ts_headline", f.typ+",tsquery", f.typ, eval)...)
		all = append(all, withConfig("ts_headline", f.typ+",tsquery,text", f.typ, eval)...)
	}
	return all
}

// highlighter marks what a query finds.
type highlighter struct {
	c       *call.Context
	cfg     textsearch.Config
	query   *textsearch.Query
	options textsearch.HeadlineOptions
}

func (h *highlighter) mark(s string) (string, error) {
	return h.cfg.Headline(s, h.query, h.options, h.c.Step)
}

func (h *highlighter) text(d types.Datum) (types.Datum, error) {
	s, err := h.mark(d.Str())
	if err != nil {
		return types.Null, err
	}
	return call.Text(s)
}

func (h *highlighter) json(d types.Datum) (types.Datum, error) {
	out, err := h.appendJSON(nil, d.Str())
	return types.NewJSON(string(out)), err
}

// appendJSON appends JSON text whose strings are marked, without blanks; members keep their order.
func (h *highlighter) appendJSON(dst []byte, s string) ([]byte, error) {
	kind, members, err := types.SplitJSON(s, h.c.Format)
	if err != nil {
		return nil, err
	}
	switch kind {
	case types.KindString:
		v, err := types.ParseJSON(s, h.c.Format)
		if err != nil {
			return nil, err
		}
		marked, err := h.mark(v.Str)
		return types.AppendJSONString(dst, marked, h.c.Format), err
	case types.KindObject, types.KindArray:
		return h.appendMembers(dst, kind, members)
	}
	return append(dst, strings.TrimSpace(s)...), nil
}

func (h *highlighter) appendMembers(dst []byte, kind types.JSONKind, members []types.RawMember) (_ []byte, err error) {
	brackets := "[]"
	if kind == types.KindObject {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		if kind == types.KindObject {
			dst = append(types.AppendJSONString(dst, m.Key, h.c.Format), ':')
		}
		if dst, err = h.appendJSON(dst, m.Value); err != nil {
			return nil, err
		}
	}
	return append(dst, brackets[1]), nil
}

func (h *highlighter) jsonb(d types.Datum) (types.Datum, error) {
	v, err := h.marked(d.JSONB(h.c.Format))
	return types.NewJSONB(v, h.c.Format), err
}

// marked returns a copy of a value with its strings marked.
func (h *highlighter) marked(v types.JSONValue) (_ types.JSONValue, err error) {
	switch v.Kind {
	case types.KindString:
		v.Str, err = h.mark(v.Str)
	case types.KindArray:
		v.Elems, err = h.markedElems(v.Elems)
	case types.KindObject:
		fields := make([]*types.JSONField, len(v.Fields))
		for i, f := range v.Fields {
			if err := h.c.Step(1); err != nil {
				return v, err
			}
			field := *f
			if field.Value, err = h.marked(f.Value); err != nil {
				return v, err
			}
			fields[i] = &field
		}
		v.Fields = fields
	}
	return v, err
}

func (h *highlighter) markedElems(elems types.JSONElems) (out types.JSONElems, err error) {
	for _, e := range elems.All() {
		if err := h.c.Step(1); err != nil {
			return out, err
		}
		if e, err = h.marked(e); err != nil {
			return out, err
		}
		out.Append(e)
	}
	return out, nil
}

// headlineOptions reads name=value, name="value" pairs.
func headlineOptions(s string, o *textsearch.HeadlineOptions) error {
	for s = strings.TrimSpace(s); s != ""; {
		name, rest, ok := strings.Cut(s, "=")
		if !ok {
			return pgerr.New(pgerr.SyntaxError, "invalid parameter list format: \"%s\"", s)
		}
		rest = strings.TrimLeft(rest, " ")
		value := rest
		if strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, `'`) {
			end := strings.IndexByte(rest[1:], rest[0])
			if end < 0 {
				return pgerr.New(pgerr.SyntaxError, "invalid parameter list format: \"%s\"", s)
			}
			value, rest = rest[1:1+end], rest[end+2:]
		} else if i := strings.IndexAny(rest, ", "); i >= 0 {
			value, rest = rest[:i], rest[i:]
		} else {
			rest = ""
		}
		s = strings.TrimLeft(rest, ", ")
		if err := headlineOption(strings.ToLower(strings.TrimSpace(name)), value, o); err != nil {
			return err
		}
	}
	switch {
	case o.MinWords >= o.MaxWords && !o.All:
		return pgerr.New(pgerr.InvalidParameterValue, "MinWords should be less than MaxWords")
	case o.MinWords <= 0:
		return pgerr.New(pgerr.InvalidParameterValue, "MinWords should be positive")
	case o.ShortWord < 0:
		return pgerr.New(pgerr.InvalidParameterValue, "ShortWord should be >= 0")
	case o.Fragments < 0:
		return pgerr.New(pgerr.InvalidParameterValue, "MaxFragments should be >= 0")
	}
	return nil
}

func headlineOption(name, value string, o *textsearch.HeadlineOptions) error {
	number := func(dst *int) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type integer: \"%s\"", value)
		}
		*dst = n
		return nil
	}
	switch name {
	case "maxwords":
		return number(&o.MaxWords)
	case "minwords":
		return number(&o.MinWords)
	case "shortword":
		return number(&o.ShortWord)
	case "maxfragments":
		return number(&o.Fragments)
	case "startsel":
		o.StartSel = value
	case "stopsel":
		o.StopSel = value
	case "fragmentdelimiter":
		o.Delimiter = value
	case "highlightall":
		switch strings.ToLower(value) {
		case "1", "on", "true", "t", "y", "yes":
			o.All = true
		default:
			o.All = false
		}
	default:
		return pgerr.New(pgerr.InvalidParameterValue, "unrecognized headline parameter: \"%s\"", name)
	}
	return nil
}
