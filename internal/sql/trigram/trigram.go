// Package trigram takes texts apart into trigrams as PostgreSQL's pg_trgm does, for
// similarity and for inverted indexes.
//
// Above it: builtin (functions), inverted (indexes). It imports nothing of the
// project.
//
// Invariants:
//
//  1. Equal texts up to case have equal trigrams; the trigrams that Pattern and
//     Regexp return are trigrams of every text that matches (tests of inverted).
//
// It does not: know types or indexes.
package trigram

import (
	"hash/crc32"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Trigram is three bytes: three characters of one byte each, or a hash of others.
type Trigram [3]byte

// Of returns the trigrams of a text, sorted, without duplicates. Each word counts
// as if two blanks stood before it and one after it.
func Of(s string) []Trigram {
	var out []Trigram
	for len(s) > 0 {
		var word string
		word, s = nextWord(s)
		if word != "" {
			out = appendTrigrams(out, "  "+word+" ")
		}
	}
	return normal(out)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// nextWord returns the first word of s in lower case, and what follows it.
func nextWord(s string) (word, rest string) {
	s = strings.TrimLeftFunc(s, func(r rune) bool { return !isWord(r) })
	end := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
	if end < 0 {
		end = len(s)
	}
	return lower(s[:end]), s[end:]
}

func lower(s string) string { return strings.Map(fold, s) }

// fold maps a character to the one that stands for all that differ from it in case
// only, in lower case.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		least = min(least, o)
	}
	return unicode.ToLower(least)
}

// appendTrigrams appends the trigrams of the characters of s.
func appendTrigrams(dst []Trigram, s string) []Trigram {
	r := []rune(s)
	for i := 0; i+3 <= len(r); i++ {
		dst = append(dst, make3(r[i:i+3]))
	}
	return dst
}

// make3 packs three characters. Those of more than one byte are hashed, by the
// checksum that pg_trgm uses: its table is that of the reflected polynomial, and bytes
// go in at the other end.
func make3(r []rune) (t Trigram) {
	if r[0] < utf8.RuneSelf && r[1] < utf8.RuneSelf && r[2] < utf8.RuneSelf {
		return Trigram{byte(r[0]), byte(r[1]), byte(r[2])}
	}
	crc := uint32(0xFFFFFFFF)
	for _, b := range []byte(string(r)) {
		crc = crc32.IEEETable[byte(crc>>24)^b] ^ crc<<8
	}
	crc = ^crc
	return Trigram{byte(crc), byte(crc >> 8), byte(crc >> 16)}
}

// compare orders bytes as signed, as pg_trgm does.
func compare(a, b Trigram) int {
	for i := range a {
		if c := int(int8(a[i])) - int(int8(b[i])); c != 0 {
			return c
		}
	}
	return 0
}

func normal(ts []Trigram) []Trigram {
	slices.SortFunc(ts, compare)
	return slices.Compact(ts)
}

// Similarity is how much two sets of trigrams, as Of returns them, have in common,
// from 0 to 1.
func Similarity(a, b []Trigram) float32 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	shared := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := compare(a[i], b[j]); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			shared++
			i++
			j++
		}
	}
	return float32(shared) / float32(len(a)+len(b)-shared)
}

// place is a trigram where it stands in a text; first and last tell the ends of its word.
type place struct {
	t           Trigram
	first, last bool
}

// inOrder returns the trigrams of a text as they stand there.
func inOrder(s string) []place {
	var out []place
	for len(s) > 0 {
		var word string
		if word, s = nextWord(s); word == "" {
			continue
		}
		ts := appendTrigrams(nil, "  "+word+" ")
		for i, t := range ts {
			out = append(out, place{t, i == 0, i == len(ts)-1})
		}
	}
	return out
}

// extent is a stretch of a text's trigrams that is compared with a set: how many different ones
// are in it, and how many of them are in the set.
type extent struct{ from, distinct, shared int }

func (e extent) similarity(set int) float32 {
	return float32(e.shared) / float32(set+e.distinct-e.shared)
}

// WordSimilarity is the similarity of the trigrams of a to those of the stretch of b that is
// most like them; with strict, of whole words. The end of the stretch goes from the first trigram to
// the last, its beginning follows for as long as that makes it better.
func WordSimilarity(a, b string, strict bool) float32 {
	set := Of(a)
	places := inOrder(b)
	if len(set) == 0 || len(places) == 0 {
		return 0
	}
	best := float32(0)
	begun := strict
	var e extent
	newest := map[Trigram]int{} // where those of the stretch stand last
	for i, p := range places {
		_, wanted := slices.BinarySearchFunc(set, p.t, compare)
		if !begun && !wanted {
			continue
		}
		if !begun {
			begun, e.from = true, i
		}
		if _, have := newest[p.t]; !have {
			e.distinct++
			e.shared += count(wanted)
		}
		newest[p.t] = i
		if strict && !p.last || !strict && !wanted {
			continue
		}
		from := e.from
		e = shorten(e, places[:i+1], set, newest, strict)
		best = max(best, e.similarity(len(set)))
		for ; from < e.from; from++ {
			if t := places[from].t; newest[t] == from {
				delete(newest, t)
			}
		}
	}
	return best
}

// shorten moves the beginning of a stretch, which ends with places, to where it is most like
// the set.
func shorten(e extent, places []place, set []Trigram, newest map[Trigram]int, strict bool) extent {
	best := e
	for ; e.from < len(places); e.from++ {
		p := places[e.from]
		if (!strict || p.first) && e.similarity(len(set)) > best.similarity(len(set)) {
			best = e
		}
		if newest[p.t] == e.from {
			_, wanted := slices.BinarySearchFunc(set, p.t, compare)
			e.distinct--
			e.shared -= count(wanted)
		}
	}
	return best
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Pattern returns trigrams that every text matching a LIKE pattern has, whatever its
// case.
func Pattern(pattern string) []Trigram {
	var x extraction
	for i := 0; i < len(pattern); {
		r, n := utf8.DecodeRuneInString(pattern[i:])
		switch i += n; r {
		case '%', '_':
			x.unknown()
			continue
		case '\\':
			r, n = utf8.DecodeRuneInString(pattern[i:])
			i += n
		}
		x.literal(r)
	}
	x.end()
	return normal(x.found)
}

// extraction collects the trigrams of words in a pattern, where some characters are
// not known.
type extraction struct {
	found []Trigram
	word  []rune
	// open says that something unknown stands before the word, so that it may be the
	// rest of a longer one.
	open bool
}

// literal takes a known character.
func (x *extraction) literal(r rune) {
	if r = fold(r); isWord(r) {
		x.word = append(x.word, r)
		return
	}
	x.end()
}

// unknown takes a place where anything may stand.
func (x *extraction) unknown() {
	x.flush("")
	x.open = true
}

// end takes the boundary of a word.
func (x *extraction) end() {
	x.flush(" ")
	x.open = false
}

func (x *extraction) flush(after string) {
	if len(x.word) > 0 {
		before := "  "
		if x.open {
			before = ""
		}
		x.found = appendTrigrams(x.found, before+string(x.word)+after)
	}
	x.word = x.word[:0]
}

// Regexp returns trigrams that every text matching a regular expression has. It only
// looks at characters that stand for themselves outside of parentheses; alternatives
// and embedded options leave nothing.
func Regexp(pattern string) []Trigram {
	if strings.ContainsAny(pattern, "|") || strings.HasPrefix(pattern, "***") || strings.Contains(pattern, "(?") {
		return nil
	}
	x := extraction{open: true}
	for i := 0; i < len(pattern); {
		n, r, known := atom(pattern[i:])
		if n == 0 {
			return nil // not understood
		}
		i += n
		q := quantifier(pattern[i:])
		i += q
		if !known || q > 0 {
			x.unknown()
		} else if isWord(r) {
			x.literal(r)
		} else {
			x.unknown() // a boundary, but what the pattern does with it stays open
		}
	}
	x.unknown()
	return normal(x.found)
}

// atom reads an atom of a regular expression: its length and, if it is one, the
// character that it stands for. n is 0 if it has no end.
func atom(s string) (n int, r rune, known bool) {
	switch s[0] {
	case '\\':
		if len(s) == 1 {
			return 0, 0, false
		}
		r, n = utf8.DecodeRuneInString(s[1:])
		if isWord(r) {
			// A class, a constraint or a code, of which the digits may go on.
			for n++; n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'f' || s[n] >= 'A' && s[n] <= 'F'); n++ {
			}
			return n, 0, false
		}
		return 1 + n, r, true
	case '[':
		return bracket(s), 0, false
	case '(':
		return group(s), 0, false
	case '.', '^', '$', ')', '*', '+', '?', '{':
		return 1, 0, false
	}
	r, n = utf8.DecodeRuneInString(s)
	return n, r, true
}

// bracket is the length of a bracket expression, 0 if it has no end.
func bracket(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s); i++ {
		switch s[i] {
		case ']':
			return i + 1
		case '\\':
			i++
		case '[':
			if i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0 {
				end := strings.Index(s[i+2:], s[i+1:i+2]+"]")
				if end < 0 {
					return 0
				}
				i += 2 + end + 1
			}
		}
	}
	return 0
}

// group is the length of what stands in parentheses, 0 if they don't close.
func group(s string) int {
	depth := 0
	for i := 0; i < len(s); {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		case '[':
			n := bracket(s[i:])
			if n == 0 {
				return 0
			}
			i += n
			continue
		case '\\':
			i++
		}
		i++
	}
	return 0
}

// quantifier is the length of the quantifiers at the beginning of s.
func quantifier(s string) int {
	n := 0
	for n < len(s) {
		switch s[n] {
		case '*', '+', '?':
			n++
		case '{':
			end := strings.IndexByte(s[n:], '}')
			if end < 0 {
				return n
			}
			n += end + 1
		default:
			return n
		}
	}
	return n
}
