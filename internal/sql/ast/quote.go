package ast

import (
	"sort"
	"strings"
)

// LookupKeyword returns the keyword of a lower-case word.
func LookupKeyword(word string) (Keyword, bool) {
	i := sort.Search(len(Keywords), func(i int) bool { return Keywords[i].Word >= word })
	if i < len(Keywords) && Keywords[i].Word == word {
		return Keywords[i], true
	}
	return Keyword{}, false
}

// QuoteIdent returns name as SQL reads it back: in double quotes when it has
// other characters than lower-case letters, digits and underscores, or is a
// keyword that is not free everywhere.
func QuoteIdent(name Name) string {
	if !needsQuotes(name) {
		return name
	}
	return Quoted(name)
}

// Quoted returns name in double quotes.
func Quoted(name Name) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// needsQuotes reports whether the bare name would not read back as itself.
func needsQuotes(name Name) bool {
	if name == "" {
		return true
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c == '_':
		case c >= '0' && c <= '9':
			if i == 0 {
				return true
			}
		default:
			return true
		}
	}
	k, ok := LookupKeyword(name)
	return ok && k.Class != Unreserved
}

// QuoteLiteral returns s as a string constant; with a backslash in it, as
// E'...', which reads back the same under every setting.
func QuoteLiteral(s string) string {
	if !strings.ContainsAny(s, `'\`) {
		return "'" + s + "'"
	}
	var b strings.Builder
	if strings.IndexByte(s, '\\') >= 0 {
		b.WriteByte('E')
	}
	b.WriteByte('\'')
	for i := 0; i < len(s); i++ {
		if s[i] == '\'' || s[i] == '\\' {
			b.WriteByte(s[i])
		}
		b.WriteByte(s[i])
	}
	b.WriteByte('\'')
	return b.String()
}
