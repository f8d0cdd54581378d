package zone

import (
	"iter"
	"strings"
)

// Tiers are the tiers of a locality, which was checked when its node started, from large to
// small: region=eu,zone=a.
func Tiers(locality string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for t := range strings.SplitSeq(locality, ",") {
			if k, v, ok := strings.Cut(t, "="); ok && !yield(k, v) {
				return
			}
		}
	}
}
