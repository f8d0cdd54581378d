package textsearch

import (
	"errors"
	"iter"
	"strings"
)

// Config is a text search configuration: how text becomes lexemes. Its value is its place in
// PostgreSQL's list.
type Config uint8

// The configurations.
const (
	Simple     Config = 0
	Arabic     Config = 1
	Danish     Config = 5
	Dutch      Config = 6
	English    Config = 7
	Finnish    Config = 8
	French     Config = 9
	German     Config = 10
	Hungarian  Config = 13
	Irish      Config = 15
	Italian    Config = 16
	Norwegian  Config = 19
	Portuguese Config = 20
	Romanian   Config = 21
	Russian    Config = 22
	Spanish    Config = 24
	Swedish    Config = 25
	Tamil      Config = 26
	Turkish    Config = 27

	configs = 28
)

// configNames are the names of the configurations.
var configNames = [configs]string{
	Simple: "simple", Arabic: "arabic", Danish: "danish", Dutch: "dutch", English: "english", Finnish: "finnish", French: "french",
	German: "german", Hungarian: "hungarian", Irish: "irish", Italian: "italian", Norwegian: "norwegian", Portuguese: "portuguese",
	Romanian: "romanian", Russian: "russian", Spanish: "spanish", Swedish: "swedish", Tamil: "tamil", Turkish: "turkish",
}

// Configs returns the configurations that there are.
func Configs() iter.Seq[Config] {
	return func(yield func(Config) bool) {
		for c := range Config(configs) {
			if c.Valid() && !yield(c) {
				return
			}
		}
	}
}

// ConfigNamed returns the configuration of a name.
func ConfigNamed(name string) (Config, bool) {
	for c := range Configs() {
		if configNames[c] == name {
			return c, true
		}
	}
	return 0, false
}

// Valid reports whether the configuration exists.
func (c Config) Valid() bool { return c < configs && configNames[c] != "" }

// String returns the configuration's name.
func (c Config) String() string { return configNames[c] }

// HasStopWords reports whether the configuration's language has stop words.
func (c Config) HasStopWords() bool { return languages[c].stopWords != nil }

// lexemes returns what a token contributes: its words, all at one position. A
// stop word yields none but takes a position; skipped tokens take none.
func (c Config) lexemes(t token) (words []string, counts bool) {
	dict, ok := c.Dictionary(t.number())
	if !ok {
		return nil, false
	}
	if len(t.text) > longestToken {
		return nil, false
	}
	if words = dict.Lexize(t.text); len(words) > 0 && len(words[0]) > MaxWordLen {
		return nil, false
	}
	return words, true
}

// longestToken is the length from which on no word has a lexeme that is short enough: lower case
// and stemming leave more than a fourth of a word.
const longestToken = 4 * MaxWordLen

// ToVector is to_tsvector: the lexemes of a text, counted from position start+1.
// It returns the last position too. The only errors are those of step.
func (c Config) ToVector(text string, start int, step Step) (Vector, int, error) {
	b := vectorBuilder{at: map[string]int{}, pos: start}
	err := eachToken(text, step, func(t token) {
		if words, counts := c.lexemes(t); counts {
			b.add(words)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	v := Normal(b.v, step)
	return v, b.pos, step.count(0)
}

// vectorBuilder collects the lexemes of a text.
type vectorBuilder struct {
	v   Vector
	at  map[string]int // where in v a word is
	pos int
}

// add adds words that are at the next position. Of a word's positions, which come in order,
// no more are kept than a vector has.
func (b *vectorBuilder) add(words []string) {
	b.pos++
	pos := Position{Pos: uint16(min(b.pos, MaxPosition))}
	for _, w := range words {
		i, ok := b.at[w]
		if !ok {
			b.at[w] = len(b.v)
			b.v = append(b.v, Lexeme{w, []Position{pos}})
			continue
		}
		if l := &b.v[i]; len(l.Positions) < MaxPositions && l.Positions[len(l.Positions)-1] != pos {
			l.Positions = append(l.Positions, pos)
		}
	}
}

// errEnough ends eachToken.
var errEnough = errors.New("enough words")

// words returns the lexemes of a query's operand, with positions: more than limit if there are
// more, but not all of them. The only errors are those of step.
func (c Config) words(text string, limit int, step Step) ([]placed, error) {
	var out []placed
	pos := 0
	enough := func(n int) error {
		if len(out) > limit {
			return errEnough
		}
		return step.count(n)
	}
	err := eachToken(text, enough, func(t token) {
		words, counts := c.lexemes(t)
		if !counts {
			return
		}
		pos++
		for _, w := range words {
			out = append(out, placed{w, pos})
		}
		if len(words) == 0 {
			out = append(out, placed{"", pos})
		}
	})
	if err == errEnough {
		err = nil
	}
	return out, err
}

// placed is a lexeme at a position; "" is a stop word.
type placed struct {
	word string
	pos  int
}

// operand makes a query of the text of an operand: its words joined by op. Of too
// many words, it takes so many that the query is higher than MaxQueryHeight, which
// the caller refuses. The only errors are those of step.
func (c Config) operand(text string, op Op, weights uint8, prefix bool, step Step) (*Query, error) {
	words, err := c.words(text, MaxQueryHeight+1, step)
	if err != nil {
		return nil, err
	}
	var q *Query
	last := 0
	for i, w := range words {
		if i > MaxQueryHeight {
			break
		}
		o := &Query{Word: w.word, Weights: weights, Prefix: prefix, stop: w.word == ""}
		if q == nil {
			q = o
		} else {
			q = &Query{Op: op, Left: q, Right: o, Distance: uint16(min(w.pos-last, MaxPhraseDistance))}
		}
		last = w.pos
	}
	return q, nil
}

// ToQuery is to_tsquery: a query in the form of ParseQuery whose words are
// normalised. Its error may be that of step.
func (c Config) ToQuery(s string, step Step) (*Query, error) {
	return parseQuery(s, func(word string, weights uint8, prefix bool) (*Query, error) {
		return c.operand(word, OpPhrase, weights, prefix, step)
	})
}

// PlainToQuery is plainto_tsquery: all words of a text. Its error is that of step.
func (c Config) PlainToQuery(s string, step Step) (*Query, error) {
	return c.cleanOperand(s, OpAnd, step)
}

// PhraseToQuery is phraseto_tsquery: the words of a text in their order. Its error is that of step.
func (c Config) PhraseToQuery(s string, step Step) (*Query, error) {
	return c.cleanOperand(s, OpPhrase, step)
}

func (c Config) cleanOperand(s string, op Op, step Step) (*Query, error) {
	q, err := c.operand(s, op, 0, false, step)
	if q == nil || err != nil {
		return nil, err
	}
	return clean(q), nil
}

// WebToQuery is websearch_to_tsquery: words, "phrases", or, -not. It takes any
// text. Its error is that of step.
func (c Config) WebToQuery(s string, step Step) (*Query, error) {
	var all, group *Query
	or := false
	add := func(q *Query) {
		switch {
		case group == nil:
			group = q
		case or:
			group = &Query{Op: OpOr, Left: group, Right: q}
		default:
			group = &Query{Op: OpAnd, Left: group, Right: q}
		}
		or = false
	}
	parts := webParts(s, MaxQueryHeight+2) // one beyond, and the one that follows that
	// OR binds less than AND: collect conjunctions, join them at the end.
	var alternatives []*Query
	height := 0
	for i, p := range parts {
		if height += 1 + p.not; height > MaxQueryHeight {
			break
		}
		if p.or && i > 0 && i+1 < len(parts) && !parts[i-1].or && !parts[i+1].or {
			if group != nil {
				alternatives = append(alternatives, group)
				group = nil
			}
			continue
		}
		op := OpPhrase
		q, err := c.operand(p.text, op, 0, false, step)
		if err != nil {
			return nil, err
		}
		if q == nil {
			q = &Query{stop: true}
		}
		for range p.not {
			q = &Query{Op: OpNot, Left: q}
		}
		add(q)
	}
	if group != nil {
		alternatives = append(alternatives, group)
	}
	for _, a := range alternatives {
		if all == nil {
			all = a
		} else {
			all = &Query{Op: OpOr, Left: all, Right: a}
		}
	}
	if all == nil {
		return nil, nil
	}
	return clean(all), nil
}

// webPart is a word or a phrase of a web search.
type webPart struct {
	text string
	not  int // how often it is negated
	or   bool
}

// webParts returns the first parts of a web search.
func webParts(s string, most int) []webPart {
	var out []webPart
	for len(out) < most {
		s = strings.TrimLeft(s, " \t\n\v\f\r&|!()<>:*'")
		var p webPart
		for p.not <= MaxQueryHeight && strings.HasPrefix(s, "-") {
			p.not++
			s = strings.TrimLeft(s[1:], " \t\n\v\f\r")
		}
		if s == "" {
			return out
		}
		if s[0] == '"' {
			end := strings.IndexByte(s[1:], '"')
			if end < 0 { // unbalanced: the phrase goes on to the end
				p.text, s = s[1:], ""
			} else {
				p.text, s = s[1:1+end], s[end+2:]
			}
			if strings.TrimSpace(p.text) == "" {
				continue
			}
		} else {
			end := strings.IndexAny(s, " \t\n\v\f\r\"()|&!:'")
			if end < 0 {
				end = len(s)
			}
			if end == 0 {
				end = 1
			}
			p.text = s[:end]
			s = s[end:]
			p.or = p.not == 0 && strings.EqualFold(p.text, "or")
		}
		out = append(out, p)
	}
	return out
}
