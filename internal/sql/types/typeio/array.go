package typeio

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func parseArray(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	if types.IsVector(t) {
		return parseVector(t, s, fc)
	}
	p := arrayParser{lit: s, s: s, delim: t.Delimiter(), innerDepth: -1, fc: fc}
	if err := p.literal(); err != nil {
		return types.Null, err
	}
	elem := t.Elem.WithTypmod(t.Typmod)
	elems := make([]types.Datum, len(p.items))
	for i, it := range p.items {
		if err := fc.CountSteps(1); err != nil {
			return types.Null, err
		}
		if it.null {
			continue
		}
		d, err := ParseText(elem, it.text, fc)
		if err != nil {
			return types.Null, err
		}
		elems[i] = d
	}
	return types.EncodeArray(p.dims, elems, fc), fc.CountSteps(0)
}

func parseVector(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	var elems []types.Datum
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return r < 0x80 && ascii.IsSpace(byte(r)) }) {
		if err := fc.CountSteps(1); err != nil {
			return types.Null, err
		}
		d, err := ParseText(t.Elem, w, fc)
		if err != nil {
			return types.Null, err
		}
		elems = append(elems, d)
	}
	return encodeVector(elems, fc), fc.CountSteps(0)
}

// encodeVector returns an int2vector or oidvector: an array with subscripts from 0. It counts its steps
// with fc (types.EncodeArray).
func encodeVector(elems []types.Datum, fc *types.FormatContext) types.Datum {
	return types.EncodeArray([]types.ArrayDim{{Len: int32(len(elems)), Lower: 0}}, elems, fc)
}

// arrayItem is an element as written.
type arrayItem struct {
	text string
	null bool
}

// arrayParser reads an array literal's structure before any element is
// interpreted, as the order of errors shows PostgreSQL does.
type arrayParser struct {
	lit, s     string // the whole literal; what remains
	delim      byte   // between elements
	items      []arrayItem
	dims       []types.ArrayDim
	lens       []int // length of each dimension, -1 while unknown
	innerDepth int   // depth at which elements stand, -1 while unknown
	fc         *types.FormatContext
}

func (p *arrayParser) err(format string, args ...any) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "malformed array literal: \"%s\"", p.lit).WithDetail(format, args...)
}

func (p *arrayParser) skip() {
	for p.s != "" && ascii.IsSpace(p.s[0]) {
		p.s = p.s[1:]
	}
}

func (p *arrayParser) literal() error {
	explicit, err := p.dimensions()
	if err != nil {
		return err
	}
	if p.s == "" || p.s[0] != '{' {
		if explicit != nil {
			return p.err("Array contents must start with \"{\".")
		}
		return p.err("Array value must start with \"{\" or dimension information.")
	}
	if err := p.level(0); err != nil {
		return err
	}
	p.skip()
	if p.s != "" {
		return p.err("Junk after closing right brace.")
	}
	if len(p.items) == 0 {
		p.lens = nil
	}
	return p.shape(explicit)
}

// shape settles the dimensions, given or counted.
func (p *arrayParser) shape(explicit []types.ArrayDim) error {
	if explicit == nil {
		for _, n := range p.lens {
			p.dims = append(p.dims, types.ArrayDim{Len: int32(n), Lower: 1})
		}
		return nil
	}
	if len(explicit) != len(p.lens) {
		return p.err("Specified array dimensions do not match array contents.")
	}
	for i, d := range explicit {
		if int(d.Len) != p.lens[i] {
			return p.err("Specified array dimensions do not match array contents.")
		}
	}
	p.dims = explicit
	return nil
}

// dimensions reads [lower:upper]... = if it is there.
func (p *arrayParser) dimensions() ([]types.ArrayDim, error) {
	var dims []types.ArrayDim
	for p.skip(); p.s != "" && p.s[0] == '['; p.skip() {
		if len(dims) == types.MaxArrayDims {
			return nil, types.TooManyDims(len(dims) + 1)
		}
		p.s = p.s[1:]
		d, err := p.dimension()
		if err != nil {
			return nil, err
		}
		dims = append(dims, d)
	}
	if dims == nil {
		return nil, nil
	}
	if p.s == "" || p.s[0] != '=' {
		return nil, p.err("Missing \"=\" after array dimensions.")
	}
	p.s = p.s[1:]
	p.skip()
	return dims, nil
}

func (p *arrayParser) dimension() (types.ArrayDim, error) {
	first, ok := p.bound()
	if !ok {
		return types.ArrayDim{}, p.err("\"[\" must introduce explicitly-specified array dimensions.")
	}
	lower, upper := int64(1), first
	if p.s != "" && p.s[0] == ':' {
		p.s = p.s[1:]
		lower = first
		if upper, ok = p.bound(); !ok {
			return types.ArrayDim{}, p.err("Missing array dimension value.")
		}
	}
	if p.s == "" || p.s[0] != ']' {
		return types.ArrayDim{}, p.err("Missing \"%s\" after array dimensions.", "]")
	}
	p.s = p.s[1:]
	if upper < lower {
		return types.ArrayDim{}, pgerr.New(pgerr.ArraySubscriptError, "upper bound cannot be less than lower bound")
	}
	n := upper - lower + 1
	if n > types.MaxArrayElems {
		n = -1 // matches no contents
	}
	return types.ArrayDim{Len: int32(n), Lower: int32(lower)}, nil
}

// bound reads a signed integer, clamped to 32 bits.
func (p *arrayParser) bound() (int64, bool) {
	i := 0
	if p.s != "" && (p.s[0] == '-' || p.s[0] == '+') {
		i++
	}
	start := i
	for i < len(p.s) && ascii.IsDigit(p.s[i]) {
		i++
	}
	if i == start {
		return 0, false
	}
	n, _ := strconv.ParseInt(p.s[:i], 10, 32) // clamps on overflow
	p.s = p.s[i:]
	return n, true
}

// level reads {...} at the given depth.
func (p *arrayParser) level(depth int) error {
	if depth >= types.MaxArrayDims {
		return types.TooManyDims(depth + 1)
	}
	if depth == len(p.lens) {
		p.lens = append(p.lens, -1)
	}
	p.s = p.s[1:]
	for n := 0; ; n++ {
		p.skip()
		if n == 0 && depth == 0 && p.s != "" && p.s[0] == '}' {
			p.s = p.s[1:]
			return nil // the empty array
		}
		if err := p.entry(depth); err != nil {
			return err
		}
		p.skip()
		if p.s == "" {
			return p.err("Unexpected end of input.")
		}
		c := p.s[0]
		if c == p.delim {
			p.s = p.s[1:]
			continue
		}
		if c != '}' {
			return p.errUnexpected(c)
		}
		p.s = p.s[1:]
		if p.lens[depth] >= 0 && p.lens[depth] != n+1 {
			return p.err("Multidimensional arrays must have sub-arrays with matching dimensions.")
		}
		p.lens[depth] = n + 1
		return nil
	}
}

func (p *arrayParser) errUnexpected(c byte) error {
	switch c {
	case '{', '}', p.delim:
		return p.err("Unexpected \"%c\" character.", c)
	}
	return p.err("Unexpected array element.")
}

// entry reads one element or sub-array.
func (p *arrayParser) entry(depth int) error {
	if p.s == "" {
		return p.err("Unexpected end of input.")
	}
	switch c := p.s[0]; c {
	case '{':
		if p.innerDepth >= 0 && depth >= p.innerDepth {
			return p.errUnexpected(c)
		}
		return p.level(depth + 1)
	case '}', p.delim:
		return p.errUnexpected(c)
	}
	if p.innerDepth < 0 && depth+1 == len(p.lens) {
		p.innerDepth = depth
	}
	if depth != p.innerDepth {
		return p.err("Unexpected array element.")
	}
	it, err := p.item()
	if err != nil {
		return err
	}
	p.items = append(p.items, it)
	return p.fc.CountSteps(1 + len(it.text))
}

// item reads a quoted or bare element, up to the delimiter.
func (p *arrayParser) item() (arrayItem, error) {
	if p.s[0] == '"' {
		return p.quoted()
	}
	var b []byte
	keep := 0 // length without trailing white space
	escaped := false
	i := 0
	for ; i < len(p.s); i++ {
		c := p.s[i]
		if c == p.delim || c == '}' {
			text := string(b[:keep])
			p.s = p.s[i:]
			return arrayItem{text: text, null: !escaped && strings.EqualFold(text, "null")}, nil
		}
		switch {
		case c == '{':
			return arrayItem{}, p.errUnexpected(c)
		case c == '"':
			return arrayItem{}, p.err("Unexpected array element.")
		case c == '\\':
			if i++; i == len(p.s) {
				return arrayItem{}, p.err("Unexpected end of input.")
			}
			escaped = true
			b = append(b, p.s[i])
			keep = len(b)
		default:
			b = append(b, c)
			if !ascii.IsSpace(c) {
				keep = len(b)
			}
		}
	}
	return arrayItem{}, p.err("Unexpected end of input.")
}

func (p *arrayParser) quoted() (arrayItem, error) {
	var b []byte
	for i := 1; i < len(p.s); i++ {
		switch c := p.s[i]; c {
		case '"':
			p.s = p.s[i+1:]
			return arrayItem{text: string(b)}, nil
		case '\\':
			if i++; i < len(p.s) {
				b = append(b, p.s[i])
			}
		default:
			b = append(b, c)
		}
	}
	return arrayItem{}, p.err("Unexpected end of input.")
}

func appendArray(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	elem := t.Elem
	if elem == nil {
		elem = types.Text
	}
	a := d.DecodeArray(fc)
	if types.IsVector(t) {
		for i, e := range a.Elems {
			if fc.Stopped(1) {
				return dst
			}
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = AppendText(dst, elem, e, fc)
		}
		return dst
	}
	if len(a.Elems) == 0 {
		return append(dst, "{}"...)
	}
	dst = appendDims(dst, a.Dims)
	w := arrayWriter{elem: elem, delim: t.Delimiter(), a: a, fc: fc}
	return w.level(dst, 0)
}

// appendDims prints the bounds unless all start at 1.
func appendDims(dst []byte, dims []types.ArrayDim) []byte {
	plain := true
	for _, d := range dims {
		plain = plain && d.Lower == 1
	}
	if plain {
		return dst
	}
	for _, d := range dims {
		dst = append(dst, '[')
		dst = strconv.AppendInt(dst, int64(d.Lower), 10)
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, int64(d.Lower)+int64(d.Len)-1, 10)
		dst = append(dst, ']')
	}
	return append(dst, '=')
}

type arrayWriter struct {
	elem  *types.T
	delim byte
	a     types.Array
	fc    *types.FormatContext
	next  int
}

func (w *arrayWriter) level(dst []byte, depth int) []byte {
	dst = append(dst, '{')
	for i := int32(0); i < w.a.Dims[depth].Len && !w.fc.Stopped(1); i++ {
		if i > 0 {
			dst = append(dst, w.delim)
		}
		if depth+1 < len(w.a.Dims) {
			dst = w.level(dst, depth+1)
			continue
		}
		e := w.a.Elems[w.next]
		w.next++
		if e.IsNull() {
			dst = append(dst, "NULL"...)
			continue
		}
		dst = w.item(dst, e)
	}
	return append(dst, '}')
}

func (w *arrayWriter) item(dst []byte, d types.Datum) []byte {
	start := len(dst)
	dst = AppendText(dst, w.elem, d, w.fc)
	if !w.needsQuotes(dst[start:]) {
		return dst
	}
	text := string(dst[start:])
	dst = append(dst[:start], '"')
	for i := 0; i < len(text); i++ {
		if text[i] == '"' || text[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}

func (w *arrayWriter) needsQuotes(b []byte) bool {
	if len(b) == 0 || len(b) == 4 && strings.EqualFold(string(b), "null") {
		return true
	}
	for _, c := range b {
		if c == '"' || c == '\\' || c == '{' || c == '}' || c == w.delim || ascii.IsSpace(c) {
			return true
		}
	}
	return false
}
