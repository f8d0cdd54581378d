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
	parts, err := covers(words, q, o, step)
	if err != nil {
		return "", err
	}
	if o.Fragments > 0 {
		return fragments(words, parts, o), nil
	}
	from, to := bestPart(words, parts, o)
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

// covers returns the parts of the document, as indexes of words, that fit q: from each of
// its words the shortest.
func covers(words []headWord, q *Query, o HeadlineOptions, step Step) (out [][2]int, err error) {
	if q == nil {
		return nil, nil
	}
	doc, at, err := queryWords(words, q, step)
	if err != nil {
		return nil, err
	}
	reach := o.reach()
	for start := range doc {
		seen := seenWords{}
		for i := start; i < len(doc) && (i == start || at[i]-at[start] < reach); i++ {
			if err := step.count(1); err != nil {
				return nil, err
			}
			if seen.add(doc[i], false); execute(q, seen.find) {
				out = append(out, [2]int{at[start], at[i]})
				break
			}
		}
	}
	return out, nil
}

// reach is how long a part of the document that fits the query may be, in words and what is
// between them.
func (o *HeadlineOptions) reach() int {
	return max(o.MaxWords*10, 100) * max(o.Fragments, 1)
}

// queryWords returns the words of q in the document, and at which index each is. The only errors
// are those of step.
func queryWords(words []headWord, q *Query, step Step) (doc []docEntry, at []int, err error) {
	for i := range words {
		if err := step.count(1); err != nil {
			return nil, nil, err
		}
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
		doc, at = append(doc, e), append(at, i)
	}
	return doc, at, nil
}

// bestPart chooses the part to show: one that holds all of a match, then one with the most
// words of the query, then one with a good end.
func bestPart(words []headWord, parts [][2]int, o HeadlineOptions) (from, to int) {
	best, whole, good := -1, false, false
	for _, c := range parts {
		f, t, matches := grow(words, c[0], c[1], o)
		all, ok := f <= c[0] && t >= c[1], !badEnd(&words[t], o)
		better := matches > best || matches == best && ok && !good
		if best < 0 || all && !whole || all == whole && better {
			from, to, best, whole, good = f, t, matches, all, ok
		}
	}
	if best >= 0 {
		return from, to
	}
	return 0, beginning(words, o)
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
		for i := to + 1; i < len(words) && count < o.MaxWords && (count < o.MinWords || badEnd(&words[to], o)); i++ {
			if words[i].isText() {
				count++
			}
			if words[i].matched {
				matches++
			}
			to = i
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

// fragment is a part of a document that begins and ends with words of the query.
type fragment struct {
	from, to       int
	words, matches int
	spent          bool // shown, or something of it is
}

// fragments shows several parts: each time the one with the most words of the query, of
// these the shortest.
func fragments(words []headWord, covers [][2]int, o HeadlineOptions) string {
	list := cutCovers(words, covers, o)
	shown := make([]bool, len(words))
	var parts [][2]int
	for len(parts) < o.Fragments {
		best := bestFragment(list)
		if best == nil {
			break
		}
		from, to := stretch(words, shown, *best, o)
		for i := from; i <= to; i++ {
			shown[i] = true
		}
		parts = append(parts, [2]int{from, to})
		for i := range list {
			f := &list[i]
			f.spent = f.spent || f.from <= to && f.to >= from
		}
	}
	if len(parts) == 0 {
		return render(words, 0, beginning(words, o), o)
	}
	slices.SortFunc(parts, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = render(words, p[0], p[1], o)
	}
	return strings.Join(texts, o.Delimiter)
}

// beginning returns where the least of words from the document's beginning end.
func beginning(words []headWord, o HeadlineOptions) (to int) {
	count := 0
	for i := range words {
		if words[i].isText() {
			count++
		}
		if to = i; count >= o.MinWords {
			break
		}
	}
	return to
}

// cutCovers cuts matches that are too long to show into fragments.
func cutCovers(words []headWord, list [][2]int, o HeadlineOptions) (out []fragment) {
	for _, c := range list {
		for p := c[0]; p <= c[1]; {
			if !words[p].matched {
				p++
				continue
			}
			f := fragmentFrom(words, p, c[1], o)
			out = append(out, f)
			p = f.to + 1
		}
	}
	return out
}

// fragmentFrom returns the longest fragment that begins with a word, ends before or at last
// and can be shown.
func fragmentFrom(words []headWord, from, last int, o HeadlineOptions) fragment {
	f := fragment{from: from}
	count := 0
	for i := from; i <= last && count < o.MaxWords; i++ {
		if words[i].isText() {
			count++
		}
		if words[i].matched {
			f.to, f.words = i, count
			f.matches++
		}
	}
	return f
}

// bestFragment returns what to show next, nil for nothing.
func bestFragment(list []fragment) (best *fragment) {
	for i := range list {
		f := &list[i]
		if !f.spent && (best == nil || f.matches > best.matches || f.matches == best.matches && f.words < best.words) {
			best = f
		}
	}
	return best
}

// stretch extends a fragment on both sides up to the greatest length, or to what is shown.
func stretch(words []headWord, shown []bool, f fragment, o HeadlineOptions) (from, to int) {
	count := f.words
	from, to = f.from, f.to
	side := (o.MaxWords - count) / 2
	for n := 0; from > 0 && n < side && !shown[from-1]; {
		from--
		if words[from].isText() {
			n++
			count++
		}
	}
	for from < f.from && badEnd(&words[from], o) {
		if words[from].isText() {
			count--
		}
		from++
	}
	for to+1 < len(words) && count < o.MaxWords && !shown[to+1] {
		to++
		if words[to].isText() {
			count++
		}
	}
	for to > f.to && badEnd(&words[to], o) {
		to--
	}
	return from, to
}
