package main

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/ast"
)

// tokenPattern cuts a text roughly as PostgreSQL's scanner does; anything else
// is a token of one character.
var tokenPattern = regexp.MustCompile(`(?s)\s+|--[^\n]*|/\*.*?\*/|` +
	`(?:[eE]|[bB]|[xX]|[nN]|[uU]&)?'(?:[^'\\]|''|\\.)*'|(?:[uU]&)?"(?:[^"]|"")*"|\$[a-z]*\$.*?\$[a-z]*\$|` +
	`[\pL_][\pL\pN_$]*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\$\d+|::|:=|\.\.|[~!@#^&|?+\-*/%<>=]+|.`)

// tokens cuts a text, white space left out.
func tokens(sql string) []string {
	var list []string
	for _, t := range tokenPattern.FindAllString(sql, -1) {
		if strings.TrimSpace(t) != "" {
			list = append(list, t)
		}
	}
	return list
}

// spice are tokens that a mutation puts in beside those of the corpus and the
// keywords.
var spice = []string{
	"(", ")", "[", "]", ",", ".", ";", ":", "::", ":=", "..", "*", "+", "-", "/", "%", "^", "<", ">", "=", "<=", ">=", "<>", "!=", "=>",
	"@", "->", "->>", "||", "~~", "!", "#", "&", "|", "?", "$1", "$", "$$", "$a$", "1", "0", "-1", "1.5", ".5", "1e5", "1e", "9223372036854775808",
	"'x'", "''", "'", "\"q\"", "\"", "e'\\n'", "b'01'", "x'1f'", "n'x'", "u&'\\0041'", "U&\"a\"", "a", "é", "日", "--", "/*", "*/", "{", "}", "\\", "`",
	"null", "true", "default", "select", "from", "where", "as", "not", "and", "or", "in", "is", "between", "like", "on", "using", "with", "by", "all",
	"int", "text", "numeric", "double precision", "timestamp with time zone", "interval", "char", "operator(pg_catalog.+)", "collate \"C\"",
}

// mutator changes statements by a seed.
type mutator struct {
	rng  *rand.Rand
	pool []string // tokens of the corpus
}

func newMutator(seed uint64, corpus []string) *mutator {
	m := &mutator{rng: rand.New(rand.NewPCG(seed, 0))}
	for _, s := range corpus {
		m.pool = append(m.pool, tokens(s)...)
	}
	return m
}

// mutate returns a changed statement: mostly of other tokens, at times of other
// characters.
func (m *mutator) mutate(sql string) string {
	if m.rng.IntN(12) == 0 {
		return m.mutateText(sql)
	}
	list := tokens(sql)
	for range 1 + m.rng.IntN(3) {
		if len(list) > 0 {
			list = m.mutateTokens(list)
		}
	}
	return m.join(list)
}

// mutateTokens makes one change to a list of tokens.
func (m *mutator) mutateTokens(list []string) []string {
	i := m.rng.IntN(len(list))
	switch m.rng.IntN(8) {
	case 0: // delete
		return append(list[:i:i], list[i+1:]...)
	case 1: // delete several
		return append(list[:i:i], list[min(len(list), i+1+m.rng.IntN(4)):]...)
	case 2: // double
		return insert(list, i, list[i])
	case 3: // swap
		j := m.rng.IntN(len(list))
		list[i], list[j] = list[j], list[i]
	case 4: // swap neighbours
		if i > 0 {
			list[i-1], list[i] = list[i], list[i-1]
		}
	case 5: // replace
		list[i] = m.token()
	case 6: // insert
		return insert(list, i, m.token())
	case 7: // cut off
		if m.rng.IntN(3) == 0 {
			return list[:i]
		}
		list[i] = m.keyword()
	}
	return list
}

func insert(list []string, i int, t string) []string {
	return append(append(list[:i:i], t), list[i:]...)
}

// token draws a token from the corpus, the keywords or the spice.
func (m *mutator) token() string {
	switch m.rng.IntN(3) {
	case 0:
		return m.keyword()
	case 1:
		return spice[m.rng.IntN(len(spice))]
	}
	return m.pool[m.rng.IntN(len(m.pool))]
}

func (m *mutator) keyword() string { return ast.Keywords[m.rng.IntN(len(ast.Keywords))].Word }

// join puts tokens together, at times without the space or after a comment.
func (m *mutator) join(list []string) string {
	var b strings.Builder
	if m.rng.IntN(10) == 0 {
		b.WriteString("/* é日 */ ") // only here: pg_query's lookahead takes comments for tokens
	}
	tight := m.rng.IntN(10) == 0
	for i, t := range list {
		if i > 0 {
			switch n := m.rng.IntN(40); {
			case n == 1:
				b.WriteString("\n\t")
			case tight && n < 20:
			default:
				b.WriteByte(' ')
			}
		}
		b.WriteString(t)
	}
	return b.String()
}

// mutateText deletes, doubles or exchanges characters.
func (m *mutator) mutateText(sql string) string {
	r := []rune(sql)
	for range 1 + m.rng.IntN(2) {
		if len(r) == 0 {
			break
		}
		i := m.rng.IntN(len(r))
		switch m.rng.IntN(4) {
		case 0:
			r = append(r[:i:i], r[i+1:]...)
		case 1:
			r = append(append(r[:i:i], r[i]), r[i:]...)
		case 2:
			j := m.rng.IntN(len(r))
			r[i], r[j] = r[j], r[i]
		case 3:
			c, _ := utf8.DecodeRuneInString(spice[m.rng.IntN(len(spice))])
			r[i] = c
		}
	}
	return string(r)
}
