package types

import (
	"github.com/lichendb/lichen/internal/sql/jsonpath"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/textsearch"
)

// jsonpathVersion is the first byte of a binary jsonpath.
const jsonpathVersion = 1

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

func parseRegconfig(s string, fc *FormatContext) (Datum, error) {
	if c, ok := textsearch.ConfigNamed(typeNameOnly(s)); ok {
		return NewInt(ConfigOid(c)), nil
	}
	if err := checkSchema(s, fc); err != nil {
		return Null, err
	}
	return Null, pgerr.New(pgerr.UndefinedObject, "text search configuration \"%s\" does not exist", s)
}

func appendRegconfig(dst []byte, oid uint32) []byte {
	if c, ok := ConfigOf(int64(oid)); ok {
		return append(dst, c.String()...)
	}
	return NewInt(int64(oid)).appendInt(dst)
}

func parseRegdictionary(s string, fc *FormatContext) (Datum, error) {
	for c := range textsearch.Configs() {
		if DictName(c) == typeNameOnly(s) {
			return NewInt(DictOid(c)), nil
		}
	}
	if err := checkSchema(s, fc); err != nil {
		return Null, err
	}
	return Null, pgerr.New(pgerr.UndefinedObject, "text search dictionary \"%s\" does not exist", s)
}

func appendRegdictionary(dst []byte, oid uint32) []byte {
	if c, ok := DictOf(int64(oid)); ok {
		return append(dst, DictName(c)...)
	}
	return NewInt(int64(oid)).appendInt(dst)
}

func (d Datum) appendInt(dst []byte) []byte { return AppendText(dst, Oid, d, nil) }

// NewTSVector returns a tsvector.
func NewTSVector(v textsearch.Vector) Datum { return Datum{fam: TSVectorFamily, s: v.String()} }

// NewTSQuery returns a tsquery; nil is the empty one.
func NewTSQuery(q *textsearch.Query) Datum { return Datum{fam: TSQueryFamily, s: q.String()} }

// TSVector parses a tsvector, whose text was made by its own printer.
func (d Datum) TSVector() textsearch.Vector {
	v, err := textsearch.ParseVector(d.s)
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

func parseTextSearch(t *T, s string) (Datum, error) {
	if err := VerifyUTF8(s); err != nil {
		return Null, err
	}
	if t.Oid == TSVector.Oid {
		v, err := textsearch.ParseVector(s)
		if err != nil {
			return Null, err
		}
		return NewTSVector(v), nil
	}
	q, err := textsearch.ParseQuery(s)
	if err != nil {
		return Null, err
	}
	return NewTSQuery(q), nil
}

func appendTextSearchBinary(dst []byte, d Datum) []byte {
	if d.fam == TSVectorFamily {
		return d.TSVector().AppendBinary(dst)
	}
	return d.TSQuery().AppendBinary(dst)
}

func (m *message) textSearch(t *T) (Datum, error) {
	s := m.rest()
	if t.Oid == TSVector.Oid {
		v, err := textsearch.DecodeVector(s)
		if err != nil {
			return Null, err
		}
		return NewTSVector(v), nil
	}
	q, err := textsearch.DecodeQuery(s)
	if err != nil {
		return Null, err
	}
	return NewTSQuery(q), nil
}

// parseJSONPath reads a jsonpath and keeps it as it prints.
func parseJSONPath(s string) (Datum, error) {
	if err := VerifyUTF8(s); err != nil {
		return Null, err
	}
	p, err := jsonpath.Parse(s, canonicalNumber)
	if err != nil {
		return Null, err
	}
	return Datum{fam: JSONPathFamily, s: p.String()}, nil
}

// JSONPath parses a jsonpath datum, which prints as what was parsed.
func (d Datum) JSONPath() (*jsonpath.Path, error) { return jsonpath.Parse(d.s, canonicalNumber) }

func canonicalNumber(s string) (string, error) {
	d, err := parseDecimal(s)
	if err != nil {
		return "", err
	}
	return string(appendDecimal(nil, d)), nil
}
