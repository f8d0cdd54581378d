package inverted

import (
	"crypto/sha256"

	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Markers of the tokens of jsonb_ops. Strings that are elements of arrays count as
// keys, because ? finds them like keys.
const (
	markKey    = 'k'
	markString = 's'
	markNumber = 'd'
	markBool   = 'b'
	markNil    = 'n'
	markPath   = 'p' // the only marker of jsonb_path_ops
)

func jsonTokens(_ *types.T, d types.Datum, fc *types.FormatContext) []string {
	return appendJSON(nil, d.JSONB(fc), true, fc)
}

// appendJSON appends the tokens of v. element says that it stands in an array, as a
// value alone does.
func appendJSON(dst []string, v types.JSONValue, element bool, fc *types.FormatContext) []string {
	if fc.Stopped(1) {
		return dst
	}
	switch v.Kind {
	case types.KindArray:
		for _, e := range v.Elems.All() {
			if fc.Stopped(0) {
				return dst
			}
			dst = appendJSON(dst, e, true, fc)
		}
		return dst
	case types.KindObject:
		for _, f := range v.Fields {
			if fc.Stopped(0) {
				return dst
			}
			dst = appendJSON(append(dst, tokenOf(markKey, f.Key)), f.Value, false, fc)
		}
		return dst
	}
	marker, b := scalar(v)
	if element && marker == markString {
		marker = markKey
	}
	return append(dst, tokenOf(marker, b))
}

// scalar returns the marker and the bytes of a value that is no container.
func scalar(v types.JSONValue) (marker byte, b string) {
	switch v.Kind {
	case types.KindString:
		return markString, v.Str
	case types.KindNumber:
		return markNumber, string(rowcodec.AppendOrdered(nil, types.Numeric, v.Num))
	case types.KindBool:
		if v.Bool {
			return markBool, "t"
		}
		return markBool, "f"
	}
	return markNil, ""
}

func jsonContains(t *types.T, d types.Datum, o Options) *Formula {
	return And(formulas(jsonTokens(t, d, o.Format))...)
}

func jsonKey(_ *types.T, d types.Datum, _ Options) *Formula { return token(tokenOf(markKey, d.Str())) }

// keys returns the formulas of the keys in an array; NULLs count for nothing.
func keys(d types.Datum, fc *types.FormatContext) []*Formula {
	var out []*Formula
	for _, e := range d.ArrayElems() {
		if fc.Stopped(1) {
			break
		}
		if !e.IsNull() {
			out = append(out, token(tokenOf(markKey, e.Str())))
		}
	}
	return out
}

func jsonAnyKey(_ *types.T, d types.Datum, o Options) *Formula { return Or(keys(d, o.Format)...) }

func jsonAllKeys(_ *types.T, d types.Datum, o Options) *Formula { return And(keys(d, o.Format)...) }

func pathTokens(_ *types.T, d types.Datum, fc *types.FormatContext) []string {
	return appendPaths(nil, "", d.JSONB(fc), fc)
}

// appendPaths appends a token for each value that is no container: a hash of it and
// of the keys that lead there.
func appendPaths(dst []string, path string, v types.JSONValue, fc *types.FormatContext) []string {
	if fc.Stopped(hashSteps) {
		return dst
	}
	switch v.Kind {
	case types.KindArray:
		for _, e := range v.Elems.All() {
			if fc.Stopped(0) {
				return dst
			}
			dst = appendPaths(dst, path, e, fc)
		}
		return dst
	case types.KindObject:
		for _, f := range v.Fields {
			if fc.Stopped(0) {
				return dst
			}
			dst = appendPaths(dst, step(path, markKey, f.Key), f.Value, fc)
		}
		return dst
	}
	marker, b := scalar(v)
	return append(dst, tokenOf(markPath, step(path, marker, b)))
}

// pathHash is how many bytes of a hash stand for a path.
const pathHash = 12

// hashSteps is how many steps a hash takes.
const hashSteps = 4

// step hashes a path with what follows it.
func step(path string, marker byte, b string) string {
	h := sha256.Sum256([]byte(path + string(marker) + b))
	return string(h[:pathHash])
}

func pathContains(t *types.T, d types.Datum, o Options) *Formula {
	return And(formulas(pathTokens(t, d, o.Format))...)
}
