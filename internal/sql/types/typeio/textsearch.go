package typeio

import (
	"github.com/lichendb/lichen/internal/sql/jsonpath"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/textsearch"
	"github.com/lichendb/lichen/internal/sql/types"
)

// jsonpathVersion is the first byte of a binary jsonpath.
const jsonpathVersion = 1

func parseRegconfig(s string, fc *types.FormatContext) (types.Datum, error) {
	if c, ok := textsearch.ConfigNamed(typeNameOnly(s)); ok {
		return types.NewInt(types.ConfigOid(c)), nil
	}
	if err := checkSchema(s, fc); err != nil {
		return types.Null, err
	}
	return types.Null, pgerr.New(pgerr.UndefinedObject, "text search configuration \"%s\" does not exist", s)
}

func appendRegconfig(dst []byte, oid uint32) []byte {
	if c, ok := types.ConfigOf(int64(oid)); ok {
		return append(dst, c.String()...)
	}
	return AppendText(dst, types.Oid, types.NewInt(int64(oid)), nil)
}

func parseRegdictionary(s string, fc *types.FormatContext) (types.Datum, error) {
	for c := range textsearch.Configs() {
		if types.DictName(c) == typeNameOnly(s) {
			return types.NewInt(types.DictOid(c)), nil
		}
	}
	if err := checkSchema(s, fc); err != nil {
		return types.Null, err
	}
	return types.Null, pgerr.New(pgerr.UndefinedObject, "text search dictionary \"%s\" does not exist", s)
}

func appendRegdictionary(dst []byte, oid uint32) []byte {
	if c, ok := types.DictOf(int64(oid)); ok {
		return append(dst, types.DictName(c)...)
	}
	return AppendText(dst, types.Oid, types.NewInt(int64(oid)), nil)
}

func parseTextSearch(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	if err := types.VerifyUTF8(s, fc); err != nil {
		return types.Null, err
	}
	if t.Oid == types.TSVector.Oid {
		v, err := textsearch.ParseVector(s, fc.CountSteps)
		if err != nil {
			return types.Null, err
		}
		return types.NewTSVector(v), nil
	}
	q, err := textsearch.ParseQuery(s)
	if err != nil {
		return types.Null, err
	}
	return types.NewTSQuery(q), nil
}

func appendTextSearchBinary(dst []byte, d types.Datum, fc *types.FormatContext) []byte {
	if d.Family() == types.TSVectorFamily {
		return d.TSVector(fc).AppendBinary(dst)
	}
	return d.TSQuery().AppendBinary(dst)
}

func (m *message) textSearch(t *types.T) (types.Datum, error) {
	s := m.rest()
	if t.Oid == types.TSVector.Oid {
		v, err := textsearch.DecodeVector(s)
		if err != nil {
			return types.Null, err
		}
		return types.NewTSVector(v), nil
	}
	q, err := textsearch.DecodeQuery(s)
	if err != nil {
		return types.Null, err
	}
	return types.NewTSQuery(q), nil
}

// parseJSONPath reads a jsonpath and keeps it as it prints.
func parseJSONPath(s string, fc *types.FormatContext) (types.Datum, error) {
	if err := types.VerifyUTF8(s, fc); err != nil {
		return types.Null, err
	}
	p, err := jsonpath.Parse(s, types.CanonicalNumber)
	if err != nil {
		return types.Null, err
	}
	if err := p.CheckPatterns(); err != nil {
		return types.Null, err
	}
	return types.NewJSONPath(p), nil
}
