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
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Trigram is three bytes: three characters of one byte each, or a hash of others.
type Trigram [3]byte

// Step counts n steps of work on a text; its error ends the work. A nil Step lets it go on.
type Step func(n int) error

// stride is how many trigrams lie between two calls of a Step.
const stride = 1 << 10

// Of returns the trigrams of a text, sorted, without duplicates. Each word counts
// as if two blanks stood before it and one after it. Its error is that of step.
func Of(s string, step Step) ([]Trigram, error) {
	if len(s) > manyBytes {
		return ofMany(s, step)
	}
	var out []Trigram
	err := each(s, step, func(t Trigram, _ bool) { out = append(out, t) })
	return normal(out), err
}

// manyBytes is the length from which on the trigrams of a text are not sorted, but marked in a
// table of all: that takes as long for a text of one word as for any other of its length.
const manyBytes = 1 << 20

func ofMany(s string, step Step) ([]Trigram, error) {
	marks := make([]uint64, 1<<24/64)
	count := 0
	err := each(s, step, func(t Trigram, _ bool) {
		word, bit := &marks[t.rank()/64], uint64(1)<<(t.rank()%64)
		if *word&bit == 0 {
			*word |= bit
			count++
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([]Trigram, 0, count)
	for i, word := range marks {
		for ; word != 0; word &= word - 1 {
			out = append(out, ofRank(uint32(i*64+bits.TrailingZeros64(word))))
		}
		if i%stride == 0 {
			if err := step.count(64 * stride); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// rank is the position of a trigram among all, in the order of compare.
func (t Trigram) rank() uint32 {
	return uint32(t[0]^signBit)<<16 | uint32(t[1]^signBit)<<8 | uint32(t[2]^signBit)
}

func ofRank(r uint32) Trigram {
	return Trigram{byte(r>>16) ^ signBit, byte(r>>8) ^ signBit, byte(r) ^ signBit}
}

// signBit turns the order of signed bytes into that of unsigned ones.
const signBit = 0x80

func (s Step) count(n int) error {
	if s == nil {
		return nil
	}
	return s(n)
}

// each calls f for the trigrams of a text as they stand there; last says that a word ends with
// one. Its error is that of step.
func each(s string, step Step, f func(t Trigram, last bool)) error {
	const blanks = "  "
	word := []rune(blanks) // the last characters of a word that goes on
	inside := false
	steps := 0
	for _, r := range s {
		switch {
		case isWord(r):
			word = append(word, fold(r))
			f(make3(word), false)
			word[0], word[1] = word[1], word[2]
			word, inside = word[:2], true
		case inside:
			f(make3(append(word, ' ')), true)
			word[0], word[1], inside = ' ', ' ', false
		}
		if steps++; steps == stride {
			if err := step.count(steps); err != nil {
				return err
			}
			steps = 0
		}
	}
	if inside {
		f(make3(append(word, ' ')), true)
	}
	return step.count(steps)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

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
