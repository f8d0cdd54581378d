package typeio

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/geometry"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// shapeText reads the text of a geometric value. After the first error it yields zeros.
type shapeText struct {
	t   *types.T
	lit string // the whole text
	s   string // what remains
	fc  *types.FormatContext
	err error
}

// parseGeometry reads a value of a geometric type.
func parseGeometry(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	r := &shapeText{t: t, lit: s, s: s, fc: fc}
	d := r.value()
	if r.err != nil {
		return types.Null, r.err
	}
	return d, fc.CountSteps(0)
}

func (r *shapeText) value() types.Datum {
	switch r.t.BaseType().Oid {
	case types.Point.Oid:
		p := r.pair()
		r.end()
		return types.NewPoint(p)
	case types.LSeg.Oid:
		p, _ := r.points(2, true)
		r.end()
		return types.NewLSeg(geometry.Segment{p[0], p[1]})
	case types.Box.Oid:
		p, _ := r.points(2, false)
		r.end()
		return types.NewBox(geometry.NewBox(p[0], p[1]))
	case types.Line.Oid:
		return r.line()
	case types.Path.Oid:
		return r.path()
	case types.Polygon.Oid:
		p, _ := r.points(r.countPoints(), false)
		r.end()
		return types.NewPolygon(p)
	}
	return r.circle()
}

func (r *shapeText) fail() { r.failWith(types.InvalidText(r.t.BaseType(), r.lit)) }

func (r *shapeText) failWith(err error) {
	if r.err == nil {
		r.err = err
	}
	r.s = ""
}

func (r *shapeText) spaces() {
	for r.s != "" && ascii.IsSpace(r.s[0]) {
		r.s = r.s[1:]
	}
}

// at reports whether c comes next.
func (r *shapeText) at(c byte) bool { return r.s != "" && r.s[0] == c }

// accept passes over c if it comes next.
func (r *shapeText) accept(c byte) bool {
	if !r.at(c) {
		return false
	}
	r.s = r.s[1:]
	return true
}

func (r *shapeText) expect(c byte) {
	if !r.accept(c) {
		r.fail()
	}
}

// end checks that nothing remains.
func (r *shapeText) end() {
	if r.s != "" {
		r.fail()
	}
}

// opensTwice reports whether two parentheses open next, and passes over the first if so.
func (r *shapeText) opensTwice() bool {
	if !r.at('(') {
		return false
	}
	rest := strings.TrimLeftFunc(r.s[1:], func(c rune) bool { return c < 0x80 && ascii.IsSpace(byte(c)) })
	if !strings.HasPrefix(rest, "(") {
		return false
	}
	r.s = rest
	return true
}

// number reads a float8, with the white space around it.
func (r *shapeText) number() float64 {
	r.spaces()
	n := floatLength(r.s)
	text := r.s[:n]
	f, err := parseFloatBits(text, 64)
	switch {
	case n == 0 || err != nil && !errors.Is(err, strconv.ErrRange):
		r.fail()
		return 0
	case err != nil || f == 0 && hasNonZeroDigit(text):
		r.failWith(pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", text, types.Float8.SQLName))
		return 0
	}
	r.s = r.s[n:]
	r.spaces()
	return f
}

// floatLength returns how many bytes of s, from its first on, are a number as strtod reads it.
func floatLength(s string) int {
	i := 0
	if s != "" && (s[0] == '+' || s[0] == '-') {
		i++
	}
	for _, word := range [...]string{"infinity", "inf", "nan"} {
		if len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word) {
			return i + len(word)
		}
	}
	if len(s)-i > 2 && s[i] == '0' && s[i+1]|0x20 == 'x' {
		isHex := func(c byte) bool { _, ok := ascii.HexDigit(c); return ok }
		if end := mantissaLength(s[i+2:], isHex); end > 0 {
			i += 2 + end
			return i + exponentLength(s[i:], 'p')
		}
	}
	end := mantissaLength(s[i:], ascii.IsDigit)
	if end == 0 {
		return 0
	}
	i += end
	return i + exponentLength(s[i:], 'e')
}

// mantissaLength returns the length of digits with a point among or around them, 0 without digits.
func mantissaLength(s string, isDigit func(byte) bool) int {
	digits, i := 0, 0
	for point := false; i < len(s); i++ {
		switch {
		case isDigit(s[i]):
			digits++
		case s[i] == '.' && !point:
			point = true
		default:
			s = s[:i]
		}
	}
	if digits == 0 {
		return 0
	}
	return len(s)
}

// exponentLength returns the length of an exponent after the given letter, 0 if there is none.
func exponentLength(s string, letter byte) int {
	if s == "" || s[0]|0x20 != letter {
		return 0
	}
	i := 1
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digits := i
	for i < len(s) && ascii.IsDigit(s[i]) {
		i++
	}
	if i == digits {
		return 0
	}
	return i
}

// pair reads a point, with or without parentheses.
func (r *shapeText) pair() geometry.Point {
	r.spaces()
	wrapped := r.accept('(')
	x := r.number()
	r.expect(',')
	y := r.number()
	if wrapped {
		r.expect(')')
		r.spaces()
	}
	return geometry.Point{X: x, Y: y}
}

// countPoints returns how many points the commas tell of.
func (r *shapeText) countPoints() int {
	commas := strings.Count(r.lit, ",")
	switch {
	case commas%2 == 0:
		r.fail()
		return 1
	case (commas+1)/2 > geometry.MaxPoints:
		r.failWith(geometry.TooManyPoints())
		return 1
	}
	return (commas + 1) / 2
}

// points reads n points. Parentheses may be around all of them, or square brackets, which say that
// they are open, where that is possible.
func (r *shapeText) points(n int, mayBeOpen bool) (points []geometry.Point, open bool) {
	points = make([]geometry.Point, n)
	r.spaces()
	wrapped := false
	switch {
	case r.at('[') && !mayBeOpen:
		r.fail()
	case r.accept('['):
		wrapped, open = true, true
	case r.opensTwice():
		wrapped = true
	case r.at('(') && strings.LastIndexByte(r.s, '(') == 0:
		r.s = r.s[1:]
		wrapped = true
	}
	for i := range points {
		if r.err == nil {
			r.err = r.fc.CountSteps(1)
		}
		if r.err != nil {
			return points, open
		}
		points[i] = r.pair()
		r.accept(',')
	}
	if wrapped {
		if !r.accept(')') && !(open && r.accept(']')) {
			r.fail()
		}
		r.spaces()
	}
	return points, open
}

func (r *shapeText) path() types.Datum {
	n := r.countPoints()
	r.spaces()
	wrapped := r.at('(') && strings.LastIndexByte(r.s, '(') == 0
	if wrapped {
		r.s = r.s[1:]
	}
	points, open := r.points(n, true)
	if wrapped {
		r.expect(')')
		r.spaces()
	}
	r.end()
	return types.NewPath(geometry.Path{Points: points, Closed: !open})
}

// line reads a line as its three coefficients or as two points of it.
func (r *shapeText) line() types.Datum {
	r.spaces()
	if r.accept('{') {
		l := r.coefficients()
		if r.err == nil && l.Degenerate() {
			r.failWith(pgerr.New(pgerr.InvalidTextRepresentation, noLine))
		}
		return types.NewLine(l)
	}
	p, _ := r.points(2, true)
	r.end()
	if r.err != nil {
		return types.Null
	}
	var c geometry.Calc
	l := c.Through(p[0], p[1], pgerr.InvalidTextRepresentation)
	r.err = c.Err()
	return types.NewLine(l)
}

// noLine is the message for coefficients of no line.
const noLine = "invalid line specification: A and B cannot both be zero"

func (r *shapeText) coefficients() geometry.Line {
	a := r.number()
	r.expect(',')
	b := r.number()
	r.expect(',')
	c := r.number()
	r.expect('}')
	r.spaces()
	r.end()
	return geometry.Line{A: a, B: b, C: c}
}

func (r *shapeText) circle() types.Datum {
	r.spaces()
	angled := r.accept('<')
	wrapped := angled || r.opensTwice()
	center := r.pair()
	r.accept(',')
	radius := r.number()
	if radius < 0 {
		r.fail()
	}
	if wrapped {
		if !r.accept(')') && !r.accept('>') {
			r.fail()
		}
		r.spaces()
	}
	r.end()
	return types.NewCircle(geometry.Circle{Center: center, Radius: radius})
}

// shapeWriter prints geometric values.
type shapeWriter struct {
	dst   []byte
	extra int
	fc    *types.FormatContext
}

func appendGeometry(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	w := shapeWriter{dst, extraFloatDigits(fc), fc}
	switch t.BaseType().Oid {
	case types.Point.Oid:
		w.point(d.Point())
	case types.LSeg.Oid:
		s := d.LSeg()
		w.points("[", s[:], "]")
	case types.Box.Oid:
		b := d.Box()
		w.points("", []geometry.Point{b.High, b.Low}, "")
	case types.Line.Oid:
		l := d.Line()
		w.numbers("{", "}", l.A, l.B, l.C)
	case types.Path.Oid:
		if p := d.Path(); p.Closed {
			w.points("(", p.Points, ")")
		} else {
			w.points("[", p.Points, "]")
		}
	case types.Polygon.Oid:
		w.points("(", d.Polygon(), ")")
	default:
		c := d.Circle()
		w.text("<")
		w.point(c.Center)
		w.numbers(",", ">", c.Radius)
	}
	return w.dst
}

func (w *shapeWriter) text(s string) { w.dst = append(w.dst, s...) }

func (w *shapeWriter) numbers(open, closing string, list ...float64) {
	w.text(open)
	for i, f := range list {
		if i > 0 {
			w.text(",")
		}
		w.dst = types.AppendFloat(w.dst, f, false, w.extra)
	}
	w.text(closing)
}

func (w *shapeWriter) point(p geometry.Point) { w.numbers("(", ")", p.X, p.Y) }

func (w *shapeWriter) points(open string, points []geometry.Point, closing string) {
	w.text(open)
	for i, p := range points {
		if w.fc.Stopped(1) {
			return
		}
		if i > 0 {
			w.text(",")
		}
		w.point(p)
	}
	w.text(closing)
}

// appendGeometryBinary appends the binary form: the coordinates, behind their number where that
// varies, and of a path whether it is closed.
func appendGeometryBinary(dst []byte, t *types.T, d types.Datum) []byte {
	switch t.BaseType().Oid {
	case types.Path.Oid:
		closed := byte(0)
		if d.Path().Closed {
			closed = 1
		}
		dst = append(dst, closed)
		dst = binary.BigEndian.AppendUint32(dst, uint32(d.PointCount()))
	case types.Polygon.Oid:
		dst = binary.BigEndian.AppendUint32(dst, uint32(d.PointCount()))
	}
	return append(dst, d.Str()[1:]...)
}

// geometry reads the binary form of a geometric value.
func (m *message) geometry(t *types.T) (types.Datum, error) {
	switch t.BaseType().Oid {
	case types.Point.Oid:
		return types.NewPoint(m.point()), nil
	case types.LSeg.Oid:
		return types.NewLSeg(geometry.Segment{m.point(), m.point()}), nil
	case types.Box.Oid:
		return types.NewBox(geometry.NewBox(m.point(), m.point())), nil
	case types.Line.Oid:
		l := geometry.Line{A: m.float64(), B: m.float64(), C: m.float64()}
		if m.err == nil && l.Degenerate() {
			return types.Null, errBinary(noLine)
		}
		return types.NewLine(l), nil
	case types.Path.Oid:
		closed := m.take(1)
		points, err := m.points(t)
		if err != nil {
			return types.Null, err
		}
		return types.NewPath(geometry.Path{Points: points, Closed: closed[0] != 0}), nil
	case types.Polygon.Oid:
		points, err := m.points(t)
		if err != nil {
			return types.Null, err
		}
		return types.NewPolygon(points), nil
	}
	c := geometry.Circle{Center: m.point(), Radius: m.float64()}
	if c.Radius < 0 {
		return types.Null, errBinary("invalid radius in external \"circle\" value")
	}
	return types.NewCircle(c), nil
}

func (m *message) float64() float64 { return math.Float64frombits(uint64(m.int64())) }

func (m *message) point() geometry.Point {
	x := m.float64()
	return geometry.Point{X: x, Y: m.float64()}
}

// points reads the number of points and the points.
func (m *message) points(t *types.T) ([]geometry.Point, error) {
	n := m.int32()
	if m.err == nil && (n <= 0 || n > geometry.MaxPoints) {
		return nil, errBinary("invalid number of points in external \"%s\" value", t.BaseType().Name)
	}
	var points []geometry.Point
	for ; n > 0 && m.err == nil; n-- {
		points = append(points, m.point())
		if err := m.fc.CountSteps(1); err != nil {
			return nil, err
		}
	}
	return points, m.err
}
