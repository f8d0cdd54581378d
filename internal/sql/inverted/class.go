package inverted

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
)

// Class is an operator class: how an index takes the values of a column apart.
type Class struct {
	Name string
	// Oid and Family are those of PostgreSQL where it has them from the start.
	Oid, Family uint32
	// Input is the type of the values, AnyArray for arrays; Default says whether the
	// class serves columns of it that name none.
	Input   *types.T
	Default bool
	// Key is what the catalog says that the index holds, AnyElement for the elements of arrays.
	Key    *types.T
	tokens func(t *types.T, d types.Datum, fc *types.FormatContext) []string
	// queries are the operators with a column on their left.
	queries map[string]func(t *types.T, d types.Datum, o Options) *Formula
}

// Options are what formulas depend on beside the condition.
type Options struct {
	// Similarity is the least similarity of texts that count as similar.
	Similarity float64
	// Format counts the steps; once its Step fails, formulas are cut short. It may be nil.
	Format *types.FormatContext
}

// DefaultSimilarity is the value of pg_trgm.similarity_threshold at first.
const DefaultSimilarity = 0.3

// classes are all operator classes.
var classes = []*Class{
	{
		Name: "array_ops", Oid: 10064, Family: 2745, Input: types.AnyArray, Default: true, Key: types.AnyElement, tokens: arrayTokens,
		queries: map[string]func(*types.T, types.Datum, Options) *Formula{
			"@>": arrayContains, "<@": arrayContained, "&&": arrayOverlaps, "=": arrayEquals,
		},
	},
	{
		Name: "jsonb_ops", Oid: 10090, Family: 4036, Input: types.JSONB, Default: true, Key: types.Text, tokens: jsonTokens,
		queries: map[string]func(*types.T, types.Datum, Options) *Formula{
			"@>": jsonContains, "?": jsonKey, "?|": jsonAnyKey, "?&": jsonAllKeys,
		},
	},
	{
		Name: "jsonb_path_ops", Oid: 10091, Family: 4037, Input: types.JSONB, Key: types.Int4, tokens: pathTokens,
		queries: map[string]func(*types.T, types.Datum, Options) *Formula{"@>": pathContains},
	},
	{
		Name: "tsvector_ops", Oid: 10073, Family: 3659, Input: types.TSVector, Default: true, Key: types.Text, tokens: vectorTokens,
		queries: map[string]func(*types.T, types.Datum, Options) *Formula{"@@": vectorMatches, "@@@": vectorMatches},
	},
	{
		Name: "gin_hstore_ops", Oid: 15011, Family: 15010, Input: types.Hstore, Default: true, Key: types.Text, tokens: hstoreTokens,
		queries: map[string]func(*types.T, types.Datum, Options) *Formula{
			"@>": hstoreContains, "?": jsonKey, "?|": jsonAnyKey, "?&": jsonAllKeys,
		},
	},
	{
		Name: "gin__int_ops", Oid: 15013, Family: 15012, Input: types.Int4Array, Key: types.Int4, tokens: arrayTokens,
		queries: map[string]func(*types.T, types.Datum, Options) *Formula{
			"@>": arrayContains, "<@": arrayContained, "&&": arrayOverlaps, "=": arrayEquals, "@@": integersMatch,
		},
	},
	{
		Name: "gin_trgm_ops", Oid: 15001, Family: 15000, Input: types.Text, Key: types.Int4, tokens: trigramTokens,
		queries: map[string]func(*types.T, types.Datum, Options) *Formula{
			"~~": likeMatches, "~~*": likeMatches, "~": regexpMatches, "~*": regexpMatches, "%": similar, "=": textEquals,
		},
	},
}

// Classes lists the operator classes.
func Classes() []*Class { return classes }

// ByName returns the operator class of a name, nil if there is none.
func ByName(name string) *Class {
	i := slices.IndexFunc(classes, func(c *Class) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return classes[i]
}

// DefaultFor returns the operator class of columns of a type that name none, nil if
// there is none.
func DefaultFor(t *types.T) *Class {
	i := slices.IndexFunc(classes, func(c *Class) bool { return c.Default && c.Accepts(t) })
	if i < 0 {
		return nil
	}
	return classes[i]
}

// Accepts reports whether the class serves columns of a type.
func (c *Class) Accepts(t *types.T) bool {
	switch c.Input {
	case types.AnyArray:
		return t.Family == types.ArrayFamily && t.Elem != nil
	case types.Text:
		return t.Oid == types.Text.Oid || t.Oid == types.Varchar.Oid
	}
	return t.Oid == c.Input.Oid
}

// Supports reports whether an index of the class answers conditions of an operator
// that has a column on its left.
func (c *Class) Supports(op string) bool { return c.queries[op] != nil }

// Tokens takes a value of type t, not NULL, apart: sorted, without duplicates. It fails once the
// statement is cancelled; fc may be nil.
func (c *Class) Tokens(t *types.T, d types.Datum, fc *types.FormatContext) ([]string, error) {
	out := c.tokens(t, d, fc)
	slices.SortFunc(out, func(a, b string) int {
		if fc.Stopped(1) {
			return 0
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(out), fc.CountSteps(len(out))
}

// Query returns what the tokens of a column of type t must satisfy for the operator
// to be true of it and d, which is not NULL.
func (c *Class) Query(t *types.T, op string, d types.Datum, o Options) *Formula {
	return c.queries[op](t, d, o)
}

// maxToken bounds the bytes of a token: longer ones are hashed.
const maxToken = 128

// tokenOf makes a token of a marker and bytes.
func tokenOf(marker byte, b string) string {
	if len(b) > maxToken {
		h := sha256.Sum256([]byte(b))
		b = b[:maxToken-len(h)] + string(h[:])
	}
	return string(marker) + b
}

// commuted are operators as they are with their sides exchanged.
var commuted = map[string]string{"<@": "@>", "@>": "<@", "&&": "&&", "=": "=", "@@": "@@", "@@@": "@@@", "%": "%"}

// Commuted returns the operator with its sides exchanged, "" if there is none.
func Commuted(op string) string { return commuted[op] }
