package pgerr

import "iter"

// maxTypoDistance is how many edits away a suggested name may be.
const maxTypoDistance = 3

// TypoLimit returns how many edits away a name may be that is suggested for one.
func TypoLimit(name string) int { return min(maxTypoDistance, len(name)/2) }

// Closest returns the name of a list that a mistyped one may mean: the one that is
// the fewest edits away, if there is only one such and it is not too far; "" if not.
// Names of one or two letters say too little.
func Closest(name string, list iter.Seq[string]) (found string) {
	if len(name) < 3 {
		return ""
	}
	best := TypoLimit(name) + 1
	for s := range list {
		switch d := EditDistance(name, s, best); {
		case d < best:
			best, found = d, s
		case d == best && s != found:
			found = ""
		}
	}
	return found
}

// WithSuggestion adds a hint with the name of a list that a mistyped one may mean, if
// there is one; what says what is named.
func (e *Error) WithSuggestion(what, name string, list iter.Seq[string]) *Error {
	if s := Closest(name, list); s != "" {
		return e.WithHint("Perhaps you meant the %s \"%s\".", what, s)
	}
	return e
}

// EditDistance is the Levenshtein distance, at least limit+1 if larger than limit.
func EditDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		prev := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			prev, row[j] = row[j], min(row[j]+1, row[j-1]+1, prev+cost)
		}
	}
	return row[len(b)]
}
