package rangestats

import (
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/store"
)

// quiescedRounds is the number of rounds after which a replica is measured although it is quiesced: a
// safeguard, since whatever happens to it wakes or touches it.
const quiescedRounds = 60

// round is the set of replicas of a store that a round of measurements covers. It leaves out quiesced ones,
// of which there may be thousands.
type round struct {
	n       int
	all     []*replica.Replica // as of the last round
	hot     []*Stats
	leaders int
}

// begin collects the replicas of a store to be measured in this round: those that the last one
// found unquiesced, those that were unquiesced since, and a part of the others.
func (r *round) begin(c *Collector, st *store.Store) {
	all := st.Replicas()
	unquiesced, complete := st.TakeUnquiesced()
	if len(all) != len(r.all) || len(all) > 0 && &all[0] != &r.all[0] { // a list that has changed is another one
		r.renew(c, all)
	}
	if !complete {
		unquiesced = all
	}
	for _, w := range unquiesced {
		r.include(st, c.Of(w))
	}
	k := r.n % quiescedRounds
	for _, w := range all[len(all)*k/quiescedRounds : len(all)*(k+1)/quiescedRounds] {
		r.include(st, c.Of(w))
	}
	r.n++
}

// renew takes another list of replicas, which drops those that are gone.
func (r *round) renew(c *Collector, all []*replica.Replica) {
	r.all, r.hot, r.leaders = all, r.hot[:0], 0
	for _, a := range all {
		s := c.Of(a)
		if s.noticed == nil { // new
			s.hot = true
		}
		if s.hot {
			r.hot = append(r.hot, s)
		}
		if s.counted {
			r.leaders++
		}
	}
}

// include has a replica measured in this round, if the store still has it, with data.
func (r *round) include(st *store.Store, s *Stats) {
	if is, ok := st.Replica(s.RangeID()); s.hot || !ok || is != s.Replica || !is.Initialized() {
		return
	}
	s.hot = true
	r.hot = append(r.hot, s)
}
