package builtin

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/textsearch"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// infoFunctions declares functions that tell about values and the server.
func infoFunctions() []*Overload {
	constant := func(sig string, d types.Datum) *Overload {
		return fn(sig, func(*Context, []types.Datum) (types.Datum, error) { return d, nil }).stable()
	}
	tokenColumns := []string{"tokid", "alias", "description"}
	tokenTypes := []*types.T{types.Int4, types.Text, types.Text}
	parsed, parsedTypes := []string{"tokid", "token"}, []*types.T{types.Int4, types.Text}
	debugColumns := []string{"alias", "description", "token", "dictionaries", "dictionary", "lexemes"}
	debugTypes := []*types.T{types.Text, types.Text, types.Text, types.RegdictionaryArray, types.Regdictionary, types.TextArray}
	return []*Overload{
		fnBind("pg_column_size(any) int4", columnSize).stable(),
		fn("pg_column_compression(any) text", nullFunc).stable(),
		fn("is_normalized(text,text) bool", isNormalized).defaults(types.NewString("NFC")),
		fn("similar_escape(text,text) text", similarEscape).nonStrict(),
		// There are no triggers, no JIT compiler, no notifications and no replicas of PostgreSQL's kind.
		constant("pg_trigger_depth() int4", types.NewInt(0)),
		constant("pg_jit_available() bool", types.False).volatile(),
		constant("pg_notification_queue_usage() float8", types.NewFloat(0)).volatile(),
		constant("pg_safe_snapshot_blocking_pids(int4) _int4", types.NewArray(nil)).volatile(),
		srf("pg_listening_channels() setof text", noRows).stable(),
		fn("pg_relation_filepath(regclass) text", nullFunc).stable(),
		fn("getpgusername() name", sessionFunc(func(s Session, _ []types.Datum) (types.Datum, error) {
			return types.NewString(s.CurrentUser()), nil
		})).stable(),
		srf("pg_timezone_abbrevs() setof record", zoneAbbrevs).stable().columns(
			[]string{"abbrev", "utc_offset", "is_dst"}, []*types.T{types.Text, types.Interval, types.Bool}),
		srf("ts_token_type(text) setof record", tokenKinds).stable().columns(tokenColumns, tokenTypes),
		srf("ts_token_type(oid) setof record", tokenKinds).columns(tokenColumns, tokenTypes),
		srf("ts_parse(text,text) setof record", parseTokens).stable().columns(parsed, parsedTypes),
		srf("ts_parse(oid,text) setof record", parseTokens).columns(parsed, parsedTypes),
		srf("ts_debug(text) setof record", func(c *Context, a []types.Datum) (RowIterator, error) {
			return debugTokens(c, c.defaultConfig(), a[0].Str())
		}).stable().columns(debugColumns, debugTypes),
		srf("ts_debug(regconfig,text) setof record", func(c *Context, a []types.Datum) (RowIterator, error) {
			cfg, err := textConfig(a[0].Int())
			if err != nil {
				return nil, err
			}
			return debugTokens(c, cfg, a[1].Str())
		}).stable().columns(debugColumns, debugTypes),
		fn("ts_lexize(regdictionary,text) _text", lexize),
	}
}

// varlenaHeader is how much PostgreSQL keeps before a value of variable length.
const varlenaHeader = 4

// columnSize is pg_column_size: what a value of a fixed width takes in PostgreSQL, and for
// others the bytes of the value with PostgreSQL's header.
func columnSize(b Binding) (EvalFunc, error) {
	t := b.Types[0]
	width := int64(types.InfoOf(t).Len)
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		switch {
		case width > 0:
			return types.NewInt(width), nil
		case t.IsString() || isUnknown(t) || t.Is(types.Bytea):
			return types.NewInt(int64(len(a[0].Str())) + varlenaHeader), nil
		}
		return types.NewInt(int64(len(types.AppendEncoded(nil, a[0]))) + varlenaHeader), nil
	}, nil
}

var normalForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

// isNormalized is is_normalized(text, form).
func isNormalized(c *Context, a []types.Datum) (types.Datum, error) {
	form, ok := normalForms[strings.ToUpper(a[1].Str())]
	if !ok {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid normalization form: %s", a[1].Str())
	}
	is := true
	err := eachBoundary(c, form, a[0].Str(), func(piece string) bool {
		is = form.IsNormalString(piece)
		return is
	})
	return types.NewBool(is), err
}

// similarEscape is similar_to_escape with a NULL for the default escape character.
func similarEscape(c *Context, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	if a[1].IsNull() {
		a = a[:1]
	}
	return similarToEscape(c, a)
}

// zoneAbbrevs lists the abbreviations of time zones that input may have.
func zoneAbbrevs(*Context, []types.Datum) (RowIterator, error) {
	var rows [][]types.Datum
	datetime.EachZoneAbbrev(func(name string, east int32, dst bool) {
		rows = append(rows, []types.Datum{types.NewString(name),
			types.NewInterval(types.IntervalValue{Micros: int64(east) * types.MicrosPerSec}), types.NewBool(dst)})
	})
	return &tableRows{rows: rows}, nil
}

// defaultParserOid is the oid of the only text search parser.
const defaultParserOid = 3722

// textParser checks the name or oid of the only text search parser.
func textParser(c *Context, d types.Datum) error {
	if d.Family() == types.IntFamily {
		if d.Int() != defaultParserOid {
			return pgerr.New(pgerr.InvalidParameterValue, "there is no text search parser %d", d.Int())
		}
		return nil
	}
	name := strings.TrimSpace(d.Str())
	if name == "" || strings.Contains(name, " ") {
		return pgerr.New(pgerr.InvalidName, "invalid name syntax")
	}
	if strings.TrimPrefix(name, "pg_catalog.") == "default" {
		return nil
	}
	if schema, _, ok := strings.Cut(name, "."); ok && c.Format != nil && c.Format.Names != nil {
		if _, err := c.Format.Names.OidOf(types.Regnamespace, `"`+strings.ReplaceAll(schema, `"`, `""`)+`"`); err != nil {
			return err
		}
	}
	return pgerr.New(pgerr.UndefinedObject, "text search parser \"%s\" does not exist", name)
}

// tokenKinds lists the kinds of tokens that the text search parser tells apart.
func tokenKinds(c *Context, a []types.Datum) (RowIterator, error) {
	if err := textParser(c, a[0]); err != nil {
		return nil, err
	}
	var rows [][]types.Datum
	for i, k := range textsearch.TokenKinds {
		rows = append(rows, []types.Datum{types.NewInt(int64(i) + 1), types.NewString(k[0]), types.NewString(k[1])})
	}
	return &tableRows{rows: rows}, nil
}

// parseTokens is ts_parse.
func parseTokens(c *Context, a []types.Datum) (RowIterator, error) {
	if err := textParser(c, a[0]); err != nil {
		return nil, err
	}
	var rows [][]types.Datum
	tokens, err := textsearch.Parse(a[1].Str(), c.Step)
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		rows = append(rows, []types.Datum{types.NewInt(int64(t.Kind)), types.NewString(t.Text)})
	}
	return &tableRows{rows: rows}, nil
}

// debugTokens lists the tokens of a text with what the configuration's dictionary makes of them.
func debugTokens(c *Context, cfg textsearch.Config, s string) (RowIterator, error) {
	tokens, err := textsearch.Parse(s, c.Step)
	if err != nil {
		return nil, err
	}
	var rows [][]types.Datum
	for _, t := range tokens {
		kind := textsearch.TokenKinds[t.Kind-1]
		row := []types.Datum{types.NewString(kind[0]), types.NewString(kind[1]), types.NewString(t.Text), types.NewArray(nil), types.Null, types.Null}
		if dict, ok := cfg.Dictionary(t.Kind); ok {
			oid := types.NewInt(types.DictOid(dict))
			row[3], row[4], row[5] = types.NewArray([]types.Datum{oid}), oid, textArray(dict.Lexize(t.Text))
		}
		rows = append(rows, row)
	}
	return &tableRows{rows: rows}, nil
}

// lexize is ts_lexize: what a dictionary makes of a word.
func lexize(_ *Context, a []types.Datum) (types.Datum, error) {
	if dict, ok := types.DictOf(a[0].Int()); ok {
		return textArray(dict.Lexize(a[1].Str())), nil
	}
	return types.Null, pgerr.New(pgerr.UndefinedObject, "cache lookup failed for text search dictionary %d", a[0].Int())
}
