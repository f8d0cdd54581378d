package textsearch

import (
	"strings"
	"unicode/utf8"
)

// Token is a piece of a text as ts_parse shows it: the number of its kind, an index of
// TokenKinds plus one.
type Token struct {
	Kind int
	Text string
}

// The numbers of PostgreSQL's kinds of tokens.
const (
	numASCIIWord = iota + 1
	numWord
	numNumWord
	numEmail
	numURL
	numHost
	numScientific
	numVersion
	numNumPart
	numPart
	numASCIIPart
	numBlank
	numTag
	numProtocol
	numNumHWord
	numASCIIHWord
	numHWord
	numPath
	numFile
	numFloat
	numInt
	numUint
	numEntity
)

// Parse takes a text apart; blanks that follow one another are one token. The only errors are
// those of step.
func Parse(s string, step Step) ([]Token, error) {
	var out []Token
	begin, blank := 0, 0 // of the blanks that the last token is, and their end
	err := eachToken(s, step, func(t token) {
		kind := t.number()
		if kind == numBlank && !t.part && t.from == blank && len(out) > 0 && out[len(out)-1].Kind == numBlank && !beginsBlank(t.text) {
			out[len(out)-1].Text = s[begin:t.to]
			blank = t.to
			return
		}
		out = append(out, Token{kind, t.text})
		if blank = 0; kind == numBlank {
			begin, blank = t.from, t.to
		}
	})
	return out, err
}

// beginsBlank reports whether a character ends the blanks before it, as it may begin something.
func beginsBlank(s string) bool { return strings.Contains("<-+&/", s) }

// number is the number of a token's kind.
func (t token) number() int {
	switch t.kind {
	case tokenASCIIWord:
		return pick(t.part, numASCIIPart, numASCIIWord)
	case tokenWord:
		return pick(t.part, numPart, numWord)
	case tokenNumWord:
		return pick(t.part, numNumPart, numNumWord)
	case tokenHWord:
		return pick(isASCII(t.text), numASCIIHWord, numHWord)
	case tokenInt:
		return pick(strings.ContainsAny(t.text[:1], "+-"), numInt, numUint)
	case tokenFloat:
		return pick(strings.ContainsAny(t.text, "eE"), numScientific, numFloat)
	}
	return numbers[t.kind]
}

// numbers are the numbers of the kinds that have one number each.
var numbers = [...]int{
	tokenBlank: numBlank, tokenEmail: numEmail, tokenURL: numURL, tokenHost: numHost, tokenPath: numPath, tokenFile: numFile,
	tokenVersion: numVersion, tokenTag: numTag, tokenEntity: numEntity, tokenProtocol: numProtocol, tokenNumHWord: numNumHWord,
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func pick(b bool, yes, no int) int {
	if b {
		return yes
	}
	return no
}
