package types

import (
	"github.com/lichendb/lichen/internal/sql/jsonpath"
	"github.com/lichendb/lichen/internal/sql/textsearch"
)

// The oids of the text search configuration and the dictionary simple, and of the first of
// those of a language; both have every other number from there on, as in PostgreSQL.
const (
	configSimple = 3748
	dictSimple   = 3765
	firstDict    = 13151
	firstConfig  = 13152
)

// ConfigOid returns the oid of a text search configuration.
func ConfigOid(c textsearch.Config) int64 {
	if c == textsearch.Simple {
		return configSimple
	}
	return firstConfig + 2*(int64(c)-1)
}

// ConfigOf returns the text search configuration that has an oid.
func ConfigOf(oid int64) (textsearch.Config, bool) {
	for c := range textsearch.Configs() {
		if ConfigOid(c) == oid {
			return c, true
		}
	}
	return 0, false
}

// DictOid returns the oid of a configuration's dictionary.
func DictOid(c textsearch.Config) int64 {
	if c == textsearch.Simple {
		return dictSimple
	}
	return firstDict + 2*(int64(c)-1)
}

// DictOf returns the configuration whose dictionary has an oid.
func DictOf(oid int64) (textsearch.Config, bool) {
	for c := range textsearch.Configs() {
		if DictOid(c) == oid {
			return c, true
		}
	}
	return 0, false
}

// DictName returns the name of a configuration's dictionary.
func DictName(c textsearch.Config) string {
	if c == textsearch.Simple {
		return c.String()
	}
	return c.String() + "_stem"
}

// NewTSVector returns a tsvector.
func NewTSVector(v textsearch.Vector) Datum { return Datum{fam: TSVectorFamily, s: v.String()} }

// NewTSQuery returns a tsquery; nil is the empty one.
func NewTSQuery(q *textsearch.Query) Datum { return Datum{fam: TSQueryFamily, s: q.String()} }

// TSVector parses a tsvector, whose text was made by its own printer. It counts its steps with fc: the
// vector of a statement that is cancelled is empty.
func (d Datum) TSVector(fc *FormatContext) textsearch.Vector {
	v, err := textsearch.ParseVector(d.s, fc.CountSteps)
	if err != nil {
		return nil
	}
	return v
}

// TSQuery parses a tsquery; see TSVector.
func (d Datum) TSQuery() *textsearch.Query {
	q, err := textsearch.ParseQuery(d.s)
	if err != nil {
		return nil
	}
	return q
}

// NewJSONPath returns a jsonpath.
func NewJSONPath(p *jsonpath.Path) Datum { return Datum{fam: JSONPathFamily, s: p.String()} }

// JSONPath parses a jsonpath datum, which prints as what was parsed.
func (d Datum) JSONPath() (*jsonpath.Path, error) { return jsonpath.Parse(d.s, CanonicalNumber) }

// CanonicalNumber returns a number as numeric prints it.
func CanonicalNumber(s string) (string, error) {
	d, err := ParseDecimal(s)
	if err != nil {
		return "", err
	}
	return string(AppendDecimal(nil, d)), nil
}
