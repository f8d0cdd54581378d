package trigram

import (
	"container/list"
	"slices"
)

// Similarity is how much two sets of trigrams, as Of returns them, have in common,
// from 0 to 1. Its error is that of step.
func Similarity(a, b []Trigram, step Step) (float32, error) {
	if len(a) == 0 || len(b) == 0 {
		return 0, nil
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
			if shared%stride != 0 {
				continue
			}
			if err := step.count(stride); err != nil {
				return 0, err
			}
		}
	}
	return float32(shared) / float32(len(a)+len(b)-shared), nil
}

// WordSimilarity is the similarity of the trigrams of a to those of the stretch of b that is
// most like them; with strict, of whole words. The end of the stretch goes from the first trigram to
// the last, its beginning follows for as long as that makes it better. Its error is that of step.
func WordSimilarity(a, b string, strict bool, step Step) (float32, error) {
	set, err := Of(a, step)
	if err != nil || len(set) == 0 {
		return 0, err
	}
	e := extent{set: set, last: map[Trigram]*list.Element{}, step: step}
	best := float32(0)
	err = each(b, step, func(t Trigram, ends bool) {
		_, wanted := slices.BinarySearchFunc(set, t, compare)
		if e.err != nil || !strict && !wanted && len(e.last) == 0 {
			return
		}
		e.add(t, wanted)
		if strict && ends || !strict && wanted {
			best = max(best, e.shorten())
		}
		if ends || !strict {
			e.unit++
		}
	})
	if e.err != nil {
		err = e.err
	}
	return best, err
}

// extent is a stretch of a text's trigrams that is compared with a set. Each trigram counts
// where it stands last: before that, the stretch is as similar without it. The stretch begins
// with a unit: a word, or any trigram.
type extent struct {
	set    []Trigram
	places list.List // of type place, in the order of the text
	last   map[Trigram]*list.Element
	unit   int // of the trigram that is added next
	shared int // how many trigrams of the stretch are in the set
	step   Step
	err    error // of step
}

// place is where a trigram stands last.
type place struct {
	t      Trigram
	wanted bool // it is in the set
	unit   int
}

func (e *extent) add(t Trigram, wanted bool) {
	p := place{t, wanted, e.unit}
	if at, have := e.last[t]; have {
		at.Value = p
		e.places.MoveToBack(at)
		return
	}
	e.last[t] = e.places.PushBack(p)
	if wanted {
		e.shared++
	}
}

// similarity is that of a stretch with so many trigrams, of which some are in the set.
func (e *extent) similarity(trigrams, shared int) float32 {
	return float32(shared) / float32(len(e.set)+trigrams-shared)
}

// shorten moves the beginning of the stretch to the unit where it is most like the set, to the
// first of equals, and returns how much that is.
func (e *extent) shorten() float32 {
	trigrams, shared, unit := len(e.last), e.shared, 0
	best, from := e.similarity(trigrams, shared), unit
	for at := e.places.Front(); at != nil; at = at.Next() {
		p := at.Value.(place)
		if p.unit >= unit {
			if s := e.similarity(trigrams, shared); s > best {
				best, from = s, p.unit
			}
		}
		if e.similarity(shared, shared) <= best {
			break // what follows would not be better even if it held nothing but these
		}
		if trigrams--; p.wanted {
			shared--
		}
		unit = p.unit + 1
		if e.err = e.step.count(1); e.err != nil {
			return 0
		}
	}
	e.drop(from)
	return best
}

// drop removes the trigrams that stand last before a unit.
func (e *extent) drop(unit int) {
	for at := e.places.Front(); at.Value.(place).unit < unit; at = e.places.Front() {
		p := e.places.Remove(at).(place)
		delete(e.last, p.t)
		if p.wanted {
			e.shared--
		}
	}
}
