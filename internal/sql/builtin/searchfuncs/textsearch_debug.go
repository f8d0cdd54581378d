package searchfuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/textsearch"
	"github.com/lichendb/lichen/internal/sql/types"
)

// textSearchDebugFunctions declares what shows how texts are taken apart: by the parser and by
// dictionaries.
func textSearchDebugFunctions() []*call.Overload {
	tokenColumns := []string{"tokid", "alias", "description"}
	tokenTypes := []*types.T{types.Int4, types.Text, types.Text}
	parsed, parsedTypes := []string{"tokid", "token"}, []*types.T{types.Int4, types.Text}
	debugColumns := []string{"alias", "description", "token", "dictionaries", "dictionary", "lexemes"}
	debugTypes := []*types.T{types.Text, types.Text, types.Text, types.RegdictionaryArray, types.Regdictionary, types.TextArray}
	return []*call.Overload{
		call.SRF("ts_token_type(text) setof record", tokenKinds).Stable().Columns(tokenColumns, tokenTypes),
		call.SRF("ts_token_type(oid) setof record", tokenKinds).Columns(tokenColumns, tokenTypes),
		call.SRF("ts_parse(text,text) setof record", parseTokens).Stable().Columns(parsed, parsedTypes),
		call.SRF("ts_parse(oid,text) setof record", parseTokens).Columns(parsed, parsedTypes),
		call.SRF("ts_debug(text) setof record", func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
			return debugTokens(c, defaultConfig(c), a[0].Str())
		}).Stable().Columns(debugColumns, debugTypes),
		call.SRF("ts_debug(regconfig,text) setof record", func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
			cfg, err := textConfig(a[0].Int())
			if err != nil {
				return nil, err
			}
			return debugTokens(c, cfg, a[1].Str())
		}).Stable().Columns(debugColumns, debugTypes),
		call.Fn("ts_lexize(regdictionary,text) _text", lexize),
	}
}

// defaultParserOid is the oid of the only text search parser.
const defaultParserOid = 3722

// textParser checks the name or oid of the only text search parser.
func textParser(c *call.Context, d types.Datum) error {
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
func tokenKinds(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	if err := textParser(c, a[0]); err != nil {
		return nil, err
	}
	var rows [][]types.Datum
	for i, k := range textsearch.TokenKinds {
		rows = append(rows, []types.Datum{types.NewInt(int64(i) + 1), types.NewString(k[0]), types.NewString(k[1])})
	}
	return call.NewRows(rows), nil
}

// parseTokens is ts_parse.
func parseTokens(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	if err := textParser(c, a[0]); err != nil {
		return nil, err
	}
	return newTokenRows(c, a[1].Str(), func(t textsearch.Token) []types.Datum {
		return []types.Datum{types.NewInt(int64(t.Kind)), types.NewString(t.Text)}
	})
}

// debugTokens lists the tokens of a text with what the configuration's dictionary makes of them.
func debugTokens(c *call.Context, cfg textsearch.Config, s string) (call.RowIterator, error) {
	return newTokenRows(c, s, func(t textsearch.Token) []types.Datum {
		kind := textsearch.TokenKinds[t.Kind-1]
		row := []types.Datum{types.NewString(kind[0]), types.NewString(kind[1]), types.NewString(t.Text), types.NewArray(nil), types.Null, types.Null}
		if dict, ok := cfg.Dictionary(t.Kind); ok {
			oid := types.NewInt(types.DictOid(dict))
			row[3], row[4], row[5] = types.NewArray([]types.Datum{oid}), oid, call.TextArray(dict.Lexize(t.Text))
		}
		return row
	})
}

// tokenRows yields a row for each token of a text.
type tokenRows struct {
	tokens []textsearch.Token
	row    func(textsearch.Token) []types.Datum
}

func newTokenRows(c *call.Context, s string, row func(textsearch.Token) []types.Datum) (call.RowIterator, error) {
	tokens, err := textsearch.Parse(s, c.Step)
	return &tokenRows{tokens, row}, err
}

// Next implements call.RowIterator.
func (r *tokenRows) Next() ([]types.Datum, bool, error) {
	if len(r.tokens) == 0 {
		return nil, false, nil
	}
	t := r.tokens[0]
	r.tokens = r.tokens[1:]
	return r.row(t), true, nil
}

// lexize is ts_lexize: what a dictionary makes of a word.
func lexize(_ *call.Context, a []types.Datum) (types.Datum, error) {
	if dict, ok := types.DictOf(a[0].Int()); ok {
		return call.TextArray(dict.Lexize(a[1].Str())), nil
	}
	return types.Null, pgerr.New(pgerr.UndefinedObject, "cache lookup failed for text search dictionary %d", a[0].Int())
}
