package textsearch

import (
	"cmp"
	"slices"
	"strings"
)

// HeadlineOptions say what an excerpt looks like.
type HeadlineOptions struct {
	StartSel, StopSel, Delimiter             string
	MaxWords, MinWords, ShortWord, Fragments int
	All                                      bool
}

// DefaultHeadline are the options of ts_headline.
var DefaultHeadline = HeadlineOptions{
	StartSel: "<b>", StopSel: "</b>", Delimiter: " ... ", MaxWords: 35, MinWords: 15, ShortWord: 3,
}

// headWord is a token of the document.
type headWord struct {
	token
	matched bool // it is a word of the query
	pos     int  // its position as of a tsvector, 0 for none
	lexemes []string
}

func (w *headWord) isText() bool {
	switch w.kind {
	case tokenBlank, tokenTag, tokenEntity, tokenProtocol:
		return false
	}
	return true
}

// headWords splits a document; the parts of a hyphenated word are left out of
// what prints, as the whole prints.
func (c Config) headWords(doc string, q *Query, step Step) ([]headWord, error) {
	var out []headWord
	pos, shown := 0, 0
	err := eachToken(doc, step, func(t token) {
		w := headWord{token: t}
		words, counts := c.lexemes(t)
		if counts {
			pos++
			w.pos, w.lexemes = pos, words
		}
		q.Words(func(o *Query) {
			for _, l := range words {
				w.matched = w.matched || l == o.Word || o.Prefix && strings.HasPrefix(l, o.Word)
			}
		})
		if t.from < shown { // a part of what is there already
			last := &out[len(out)-1]
			last.matched = last.matched || w.matched
			last.lexemes = append(last.lexemes, words...)
			return
		}
		shown = t.to
		out = append(out, w)
	})
	return out, err
}

// Headline is ts_headline: the part of a document that fits a query best, with
// the words of the query marked. The only errors are those of step.
func (c Config) Headline(doc string, q *Query, o HeadlineOptions, step Step) (string, error) {
	words, err := c.headWords(doc, q, step)
	if err != nil || len(words) == 0 {
		return "", err
	}
	if o.All {
		return render(words, 0, len(words)-1, o), nil
	}
	if o.Fragments > 0 {
		return fragments(words, q, o), nil
	}
	from, to := bestPart(words, q, o)
	return render(words, from, to, o), nil
}

func render(words []headWord, from, to int, o HeadlineOptions) string {
	var b strings.Builder
	for i := from; i <= to && i < len(words); i++ {
		w := &words[i]
		switch {
		case w.kind == tokenTag && !o.All:
			b.WriteByte(' ')
		case w.matched:
			b.WriteString(o.StartSel + w.text + o.StopSel)
		default:
			b.WriteString(w.text)
		}
	}
	return b.String()
}

// badEnd reports whether a part should not begin or end with a word.
func badEnd(w *headWord, o HeadlineOptions) bool {
	return !w.matched && (!w.isText() || len(w.text) <= o.ShortWord)
}

// covers returns the parts of the document, as positions of words, that fit q.
func covers(words []headWord, q *Query) [][2]int {
	if q == nil {
		return nil
	}
	var doc []docEntry
	at := map[int]int{}
	for i := range words {
		if !words[i].matched || words[i].pos == 0 {
			continue
		}
		e := docEntry{pos: words[i].pos}
		q.Words(func(o *Query) {
			for _, l := range words[i].lexemes {
				if l == o.Word || o.Prefix && strings.HasPrefix(l, o.Word) {
					e.words = append(e.words, o)
				}
			}
		})
		at[e.pos] = i
		doc = append(doc, e)
	}
	var out [][2]int
	for start := 0; ; {
		c, next, ok := nextCover(doc, q, start)
		if !ok {
			return out
		}
		start = next
		out = append(out, [2]int{at[c.p], at[c.q]})
	}
}

// bestPart chooses the part to show: one with the most words of the query.
func bestPart(words []headWord, q *Query, o HeadlineOptions) (from, to int) {
	best, bestLen, good := -1, 0, false
	for _, c := range covers(words, q) {
		f, t, matches := grow(words, c[0], c[1], o)
		n := t - f
		ok := !badEnd(&words[t], o)
		if best < 0 || matches > best || matches == best && ok && !good {
			from, to, best, bestLen, good = f, t, matches, n, ok
		}
	}
	_ = bestLen
	if best >= 0 {
		return from, to
	}
	// No match: the beginning.
	count := 0
	for i := range words {
		if words[i].isText() {
			count++
		}
		to = i
		if count >= o.MinWords {
			break
		}
	}
	return 0, to
}

// grow extends a match to the wanted number of words: to the right first, then
// to the left when the document ends.
func grow(words []headWord, p, q int, o HeadlineOptions) (from, to, matches int) {
	count := 0
	from, to = p, p
	for i := p; i <= q && count < o.MaxWords; i++ {
		if words[i].isText() {
			count++
		}
		if words[i].matched {
			matches++
		}
		to = i
	}
	if count < o.MaxWords {
		for i := to + 1; i < len(words) && count < o.MaxWords; i++ {
			if words[i].isText() {
				count++
			}
			if words[i].matched {
				matches++
			}
			to = i
			if !badEnd(&words[i], o) && count >= o.MinWords {
				break
			}
		}
		for i := from - 1; i >= 0 && count < o.MinWords; i-- {
			if words[i].isText() {
				count++
			}
			if words[i].matched {
				matches++
			}
			from = i
		}
		if count < o.MinWords {
			from = 0
		}
		return from, to, matches
	}
	// Too long: shorten to a good end.
	for to > from && badEnd(&words[to], o) && count > o.MinWords {
		if words[to].isText() {
			count--
		}
		to--
	}
	return from, to, matches
}

// fragments shows several parts.
func fragments(words []headWord, q *Query, o HeadlineOptions) string {
	var parts []string
	end := -1
	for _, c := range shortCovers(words, covers(words, q), o) {
		if len(parts) == o.Fragments {
			break
		}
		if c[0] <= end {
			continue
		}
		f, t := stretch(words, c[0], c[1], end+1, o)
		parts = append(parts, render(words, f, t, o))
		end = t
	}
	if len(parts) == 0 {
		to, count := 0, 0
		for i := range words {
			if words[i].isText() {
				count++
			}
			to = i
			if count >= o.MinWords {
				break
			}
		}
		return render(words, 0, to, o)
	}
	return strings.Join(parts, o.Delimiter)
}

// shortCovers cuts matches that are too long to show into pieces that begin and
// end with words of the query.
func shortCovers(words []headWord, list [][2]int, o HeadlineOptions) [][2]int {
	var out [][2]int
	for _, c := range list {
		for p := c[0]; p <= c[1]; p++ {
			if !words[p].matched {
				continue
			}
			last, count := p, 0
			for i := p; i <= c[1] && count < o.MaxWords; i++ {
				if words[i].isText() {
					count++
				}
				if words[i].matched {
					last = i
				}
			}
			out = append(out, [2]int{p, last})
			p = last
		}
	}
	slices.SortStableFunc(out, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	return out
}

// stretch extends a match on both sides up to the greatest length.
func stretch(words []headWord, p, q, floor int, o HeadlineOptions) (from, to int) {
	count := 0
	from, to = p, p
	for i := p; i <= q && count < o.MaxWords; i++ {
		if words[i].isText() {
			count++
		}
		to = i
	}
	side := (o.MaxWords - count) / 2
	for n := 0; from > floor && n < side; {
		from--
		if words[from].isText() {
			n++
			count++
		}
	}
	for from < p && badEnd(&words[from], o) {
		if words[from].isText() {
			count--
		}
		from++
	}
	for to+1 < len(words) && count < o.MaxWords {
		to++
		if words[to].isText() {
			count++
		}
	}
	for to > q && badEnd(&words[to], o) {
		to--
	}
	return from, to
}
