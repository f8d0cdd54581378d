package textsearch

import (
	"cmp"
	"math"
	"slices"
)

// Normalisations of a rank, as bits.
const (
	normLogLength = 1 << iota
	normLength
	normExtDist
	normUnique
	normLogUnique
	normRankPlus1
)

// DefaultWeights are the weights of D, C, B and A.
var DefaultWeights = [4]float32{0.1, 0.2, 0.4, 1.0}

// length counts the positions of a vector.
func (v Vector) length() int {
	n := 0
	for _, l := range v {
		n += max(len(l.Positions), 1)
	}
	return n
}

// operands returns the distinct operands of q in order.
func (q *Query) operands() []*Query {
	var out []*Query
	q.Words(func(w *Query) { out = append(out, w) })
	slices.SortStableFunc(out, func(a, b *Query) int { return cmp.Compare(a.Word, b.Word) })
	return slices.CompactFunc(out, func(a, b *Query) bool { return a.Word == b.Word })
}

// entries finds the lexemes that an operand stands for.
func (v Vector) entries(q *Query) []Lexeme {
	i, ok := v.Find(q.Word)
	if !q.Prefix {
		if !ok {
			return nil
		}
		return v[i : i+1]
	}
	j := i
	for j < len(v) && len(v[j].Word) >= len(q.Word) && v[j].Word[:len(q.Word)] == q.Word {
		j++
	}
	return v[i:j]
}

// Rank is ts_rank: how often and how near the words of q stand in v.
func Rank(w [4]float32, v Vector, q *Query, method int) float32 {
	if q == nil || len(v) == 0 {
		return 0
	}
	var res float32
	if q.Op == OpAnd || q.Op == OpPhrase {
		res = rankAnd(w, v, q)
	} else {
		res = rankOr(w, v, q)
	}
	if res < 0 {
		res = 1e-20
	}
	if method&normLogLength != 0 {
		res = float32(float64(res) / (math.Log(float64(v.length()+1)) / math.Log(2)))
	}
	if n := v.length(); method&normLength != 0 && n > 0 {
		res /= float32(n)
	}
	if method&normUnique != 0 {
		res /= float32(len(v))
	}
	if method&normLogUnique != 0 {
		res = float32(float64(res) / (math.Log(float64(len(v)+1)) / math.Log(2)))
	}
	if method&normRankPlus1 != 0 {
		res /= res + 1
	}
	return res
}

// noPosition stands for the position of a lexeme without any.
var noPosition = []Position{{Pos: MaxPosition - 1}}

func (l Lexeme) ranked() []Position {
	if len(l.Positions) == 0 {
		return noPosition
	}
	return l.Positions
}

func rankOr(w [4]float32, v Vector, q *Query) float32 {
	ops := q.operands()
	var res float32
	for _, o := range ops {
		for _, l := range v.entries(o) {
			var sum float32
			best, at := float32(-1), 0
			for j, p := range l.ranked() {
				wp := w[p.Weight]
				sum += wp / float32((j+1)*(j+1))
				if wp > best {
					best, at = wp, j
				}
			}
			res = float32(float64(res) + float64(best+sum-best/float32((at+1)*(at+1)))/1.64493406685)
		}
	}
	if len(ops) > 0 {
		res /= float32(len(ops))
	}
	return res
}

func wordDistance(d int) float32 {
	if d > 100 {
		return 1e-30
	}
	return float32(1.0 / (1.005 + 0.05*math.Exp(float64(float32(d))/1.5-2)))
}

func rankAnd(w [4]float32, v Vector, q *Query) float32 {
	ops := q.operands()
	if len(ops) < 2 {
		return rankOr(w, v, q)
	}
	res := float32(-1)
	pos := make([][]Position, len(ops))
	bare := make([]bool, len(ops))
	for i, o := range ops {
		for _, l := range v.entries(o) {
			pos[i], bare[i] = l.ranked(), len(l.Positions) == 0
			for k := range i {
				if pos[k] == nil {
					continue
				}
				for _, a := range pos[i] {
					for _, b := range pos[k] {
						dist := int(a.Pos) - int(b.Pos)
						dist = max(dist, -dist)
						if dist == 0 {
							if !bare[i] && !bare[k] {
								continue
							}
							dist = MaxPosition
						}
						cur := float32(math.Sqrt(float64(w[a.Weight] * w[b.Weight] * wordDistance(dist))))
						if res < 0 {
							res = cur
						} else {
							res = float32(1 - (1-float64(res))*(1-float64(cur)))
						}
					}
				}
			}
		}
	}
	return res
}

// docEntry is a position of a document at which words of the query stand.
type docEntry struct {
	pos    int
	weight Weight
	words  []*Query
}

// document lists the positions of the query's words.
func (v Vector) document(q *Query) []docEntry {
	var doc []docEntry
	seen := map[string]bool{}
	q.Words(func(o *Query) {
		key := o.Word
		if o.Prefix {
			key += ":*"
		}
		key += string(rune('0' + o.Weights))
		if seen[key] {
			return
		}
		seen[key] = true
		for _, l := range v.entries(o) {
			for _, p := range l.Positions {
				if o.Weights == 0 || o.Weights&(1<<p.Weight) != 0 {
					doc = append(doc, docEntry{int(p.Pos), p.Weight, []*Query{o}})
				}
			}
		}
	})
	slices.SortStableFunc(doc, func(a, b docEntry) int { return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(a.weight, b.weight)) })
	out := doc[:0]
	for _, e := range doc {
		if n := len(out); n > 0 && out[n-1].pos == e.pos && out[n-1].weight == e.weight {
			out[n-1].words = append(out[n-1].words, e.words...)
			continue
		}
		out = append(out, e)
	}
	return out
}

// cover is a part of a document that matches a query.
type cover struct{ from, to, p, q int }

// seenWords collects the words of a walk over a document.
type seenWords map[string][]int

func (s seenWords) add(e docEntry, backwards bool) {
	for _, w := range e.words {
		if backwards {
			s[w.Word] = append([]int{e.pos}, s[w.Word]...)
		} else {
			s[w.Word] = append(s[w.Word], e.pos)
		}
	}
}

func (s seenWords) find(q *Query, _ bool) ([]int, truth) {
	ps := s[q.Word]
	return ps, truthOf(len(ps) > 0)
}

// nextCover finds the next shortest part from entry start on.
func nextCover(doc []docEntry, q *Query, start int) (c cover, next int, ok bool) {
	for ; start < len(doc); start++ {
		seen := seenWords{}
		end := -1
		for i := start; i < len(doc); i++ {
			seen.add(doc[i], false)
			if execute(q, seen.find) {
				end = i
				break
			}
		}
		if end < 0 {
			return c, start, false
		}
		seen = seenWords{}
		for i := end; i >= start; i-- {
			seen.add(doc[i], true)
			if execute(q, seen.find) {
				return cover{i, end, doc[i].pos, doc[end].pos}, i + 1, true
			}
		}
	}
	return c, start, false
}

// RankCD is ts_rank_cd: how dense the parts of v that match q are.
func RankCD(w [4]float32, v Vector, q *Query, method int) float32 {
	if q == nil || len(v) == 0 {
		return 0
	}
	var inv [4]float64
	for i := range inv {
		inv[i] = 1 / float64(w[i])
	}
	doc := v.document(q)
	var total, sumDist, prev float64
	extents := 0
	for start := 0; ; extents++ {
		c, next, ok := nextCover(doc, q, start)
		if !ok {
			break
		}
		start = next
		sum := 0.0
		for i := c.from; i <= c.to; i++ {
			sum += inv[doc[i].weight]
		}
		dense := float64(c.to-c.from+1) / sum
		noise := (c.q - c.p) - (c.to - c.from)
		if noise < 0 {
			noise = (c.to - c.from) / 2
		}
		total += dense / float64(1+noise)
		at := float64(c.q+c.p) / 2
		if extents > 0 && at > prev {
			sumDist += 1 / (at - prev)
		}
		prev = at
	}
	return float32(normalCD(total, v, method, extents, sumDist))
}

func normalCD(total float64, v Vector, method, extents int, sumDist float64) float64 {
	if method&normLogLength != 0 {
		total /= math.Log(float64(v.length() + 1))
	}
	if n := v.length(); method&normLength != 0 && n > 0 {
		total /= float64(n)
	}
	if method&normExtDist != 0 && extents > 0 && sumDist > 0 {
		total /= float64(extents) / sumDist
	}
	if method&normUnique != 0 {
		total /= float64(len(v))
	}
	if method&normLogUnique != 0 {
		total /= math.Log(float64(len(v)+1)) / math.Log(2)
	}
	if method&normRankPlus1 != 0 {
		total /= total + 1
	}
	return total
}
