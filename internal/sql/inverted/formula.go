package inverted

import "strings"

// Kind says what a formula is.
type Kind uint8

// The kinds of formulas.
const (
	None   Kind = iota // no value satisfies it
	All                // values with any tokens, or none, may
	Token              // the value has the token
	Prefix             // the value has a token that begins so
	Least              // at least Count of the Args hold
)

// Formula is what the tokens of a value must satisfy.
type Formula struct {
	Kind  Kind
	Token string
	Count int
	Args  []*Formula
}

var (
	none = &Formula{Kind: None}
	all  = &Formula{Kind: All}
)

func token(t string) *Formula { return &Formula{Kind: Token, Token: t} }

// And returns the formula that all args hold.
func And(args ...*Formula) *Formula { return AtLeast(len(args), args...) }

// Or returns the formula that one of args holds.
func Or(args ...*Formula) *Formula { return AtLeast(1, args...) }

// AtLeast returns the formula that n of args hold. The result has All and None at
// the top only.
func AtLeast(n int, args ...*Formula) *Formula {
	var rest []*Formula
	for _, a := range args {
		switch a.Kind {
		case None:
		case All:
			n--
		default:
			rest = append(rest, a)
		}
	}
	switch {
	case n <= 0:
		return all
	case n > len(rest):
		return none
	case len(rest) == 1:
		return rest[0]
	}
	return &Formula{Kind: Least, Count: n, Args: rest}
}

// Holds reports whether a value with these tokens satisfies f.
func (f *Formula) Holds(tokens []string) bool {
	switch f.Kind {
	case None:
		return false
	case All:
		return true
	case Least:
		n := 0
		for _, a := range f.Args {
			if a.Holds(tokens) {
				n++
			}
		}
		return n >= f.Count
	}
	for _, t := range tokens {
		if t == f.Token || f.Kind == Prefix && strings.HasPrefix(t, f.Token) {
			return true
		}
	}
	return false
}

// Tokens counts the lists of entries that f reads.
func (f *Formula) Tokens() int {
	switch f.Kind {
	case Token, Prefix:
		return 1
	}
	n := 0
	for _, a := range f.Args {
		n += a.Tokens()
	}
	return n
}
