package collation

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

const (
	// pieceBytes is how long the pieces are in which a long text is collated.
	pieceBytes = 64 << 10
	// aroundCut is how many characters on each side of a cut are looked at: more than any locale
	// orders as one.
	aroundCut = 8
	// cutTries bounds the places that are tried for a cut.
	cutTries = 256
)

// LongText is from how many bytes a text is long: LongKey looks up between its pieces.
const LongText = 2 * pieceBytes

// LongKey is what Key(nil, s, ties) is, made in pieces. It calls step with the length of each
// before, and returns its error.
func (r *Rules) LongKey(s string, ties bool, step func(n int) error) ([]byte, error) {
	if r == ascii || r.whole {
		return r.Key(nil, s, ties), step(len(s))
	}
	so := r.sorters.Get().(*sorter)
	defer r.sorters.Put(so)
	var all levels
	for rest := s; rest != ""; {
		piece := rest[:so.cut(rest)]
		rest = rest[len(piece):]
		if err := step(len(piece)); err != nil {
			return nil, err
		}
		all.append(so.key(piece))
	}
	key := all.join(r.backwards)
	if !ties {
		return key, nil
	}
	return breakTies(make([]byte, 0, len(key)+len(s)+2), key, s), nil
}

// cut returns the length of the first piece of s, which is all of it where no cut is found.
func (so *sorter) cut(s string) int {
	for at := pieceBytes; len(s)-at > pieceBytes/2; at += pieceBytes {
		end := at
		for range cutTries {
			for !utf8.RuneStart(s[end]) {
				end++
			}
			if so.separate(around(s, end)) {
				return end
			}
			if end++; end == len(s) {
				break
			}
		}
	}
	return len(s)
}

// around returns the characters of s next to a place.
func around(s string, at int) string {
	from, to := at, at
	for range aroundCut {
		_, n := utf8.DecodeLastRuneInString(s[:from])
		from -= n
		_, n = utf8.DecodeRuneInString(s[to:])
		to += n
	}
	return s[from:to]
}

// separate reports whether each character of s is ordered by itself, so that the key of s is put
// together from theirs. A contraction of some of them, such as the Hungarian dzs, has another key
// than they have.
func (so *sorter) separate(s string) bool {
	var parts levels
	for i, c := range s {
		if unicode.Is(unicode.M, c) || !unicode.IsGraphic(c) {
			return false
		}
		parts.append(so.key(s[i : i+utf8.RuneLen(c)]))
	}
	var all levels
	all.append(so.key(s))
	return bytes.Equal(parts.join(false), all.join(false))
}

// key returns the key of s, valid until the next call.
func (so *sorter) key(s string) []byte {
	so.buf.Reset()
	return so.c.KeyFromString(&so.buf, s)
}

// levels are the weights of a text, a level after the other.
type levels struct {
	n                 int // how many levels there are
	primary, tertiary []byte
	secondary         [][]byte // of each piece
}

// append adds the weights of a key: primary weights of two bytes, or three if the highest bit is
// set; two zeros, secondary weights of two bytes; two zeros, tertiary weights of a byte.
func (l *levels) append(key []byte) {
	i, n := 0, 1
	for i < len(key) && (key[i] != 0 || key[i+1] != 0) {
		i += 2 + int(key[i]>>7)
	}
	l.primary = append(l.primary, key[:i]...)
	if key = key[i:]; len(key) > 0 {
		for i, n = 2, 2; i < len(key) && (key[i] != 0 || key[i+1] != 0); i += 2 {
		}
		l.secondary = append(l.secondary, bytes.Clone(key[2:i]))
		if key = key[i:]; len(key) > 0 {
			n = 3
			l.tertiary = append(l.tertiary, key[2:]...)
		}
	}
	l.n = max(l.n, n)
}

// join returns the key with the weights of all that was appended. Secondary weights may run
// backwards, from the end of the text.
func (l *levels) join(backwards bool) []byte {
	key := l.primary
	if l.n > 1 {
		key = append(key, 0, 0)
		if backwards {
			slices.Reverse(l.secondary)
		}
		for _, piece := range l.secondary {
			key = append(key, piece...)
		}
	}
	if l.n > 2 {
		key = append(append(key, 0, 0), l.tertiary...)
	}
	return key
}
