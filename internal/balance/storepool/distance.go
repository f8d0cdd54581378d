package storepool

import "time"

// unmeasured stands for the round trip to a node that was not measured lately.
const unmeasured = time.Second

// Distance says how far a node is: the more tiers of its locality differ, the farther; of those
// alike, by the round trip. measured says whether that is known.
func Distance(own, other string, roundTrip time.Duration, measured bool) int64 {
	if !measured || roundTrip > unmeasured {
		roundTrip = unmeasured
	}
	a, b := tiers(own), tiers(other)
	alike := 0
	for alike < min(len(a), len(b)) && a[alike] == b[alike] {
		alike++
	}
	return int64(len(a)-alike)*int64(unmeasured+1) + int64(roundTrip)
}
