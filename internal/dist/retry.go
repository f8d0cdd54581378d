package dist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/dist/rangecache"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sleep"
)

// Limits for a request that finds no leader.
const (
	// maxUnavailable is the time without progress after which a request fails. The election of another
	// leader after the loss of a node or the stall of its disk is faster.
	maxUnavailable = 6 * time.Second
	// maxUnknown is the same for a commit that may have happened. It is longer, since the failure leaves
	// the client with an ambiguous result.
	maxUnknown = 12 * time.Second
	// failFastAfter is maxUnavailable on a node that is stopping.
	failFastAfter = 300 * time.Millisecond
	// minBackoff and maxBackoff bound the pause between rounds over the replicas.
	minBackoff = 5 * time.Millisecond
	maxBackoff = 200 * time.Millisecond
	// maxDetours bounds how often a request follows new bounds without a pause.
	maxDetours = 8
	// maxAnswer bounds what a redirected attempt adds to noProgress. A late redirect means that the
	// replica was serving the request, and that the request perhaps waited for a lock.
	maxAnswer = 500 * time.Millisecond
	// maxReload bounds the lookup of a new address while the old one is still known.
	maxReload = time.Second
)

var errAllTried = errors.New("no replica of it answers")

// retry is the state of a request over its attempts. The zero value is that of the first attempt, and costs
// nothing if that succeeds.
type retry struct {
	commit  bool // the request must not count as failed while its outcome is unknown
	unknown bool // an earlier attempt may have been executed
	nearest bool // the next attempt goes to the nearest replica

	tried []kvpb.NodeID // since the last pause
	cause error         // why the last replica did not serve the request
	sent  time.Time     // when the last attempt began, zero for the first
	// noProgress is the time since the request last made progress.
	noProgress time.Duration
	backoff    time.Duration
	detours    int
}

func (r *retry) hasTried(n kvpb.NodeID) bool { return slices.Contains(r.tried, n) }

// step says what follows a failed attempt.
type step uint8

const (
	stop    step = iota // return the error to the caller
	reroute             // new bounds are known: cut and send again
	another             // ask another replica
	wait                // back off first
)

// next prepares another attempt after the one at t has failed with err. It returns nil if the caller should
// try again, and otherwise the final error. Before another attempt the caller must look up the range of key
// again, whose bounds may have changed.
func (r *retry) next(ctx context.Context, d *Router, t target, key []byte, err error) error {
	if t.desc != nil && !t.desc.ContainsKey(key) {
		key = t.desc.StartKey // a reverse scan looks up the keys before its end
	}
	s, answered := r.judge(d, t, key, err)
	if cerr := ctx.Err(); cerr != nil && (s != stop || errors.Is(err, cerr)) {
		return r.giveUp(cerr)
	}
	if s == stop {
		if t.Sender == nil { // no replica was asked: the lookup of the range failed
			return r.giveUp(err)
		}
		return err
	}
	r.count(answered)
	switch s {
	case reroute:
		r.cause = err
		r.tried = r.tried[:0]
		if r.detours++; r.detours > maxDetours {
			s = wait
		}
	case another:
		r.cause = err
		r.tried = append(r.tried, t.node)
	case wait:
		if err != errAllTried { // errAllTried says less than its cause
			r.cause = err
		}
	}
	if r.noProgress >= d.timeout(r) {
		return r.giveUp(r.unavailable(d, t))
	}
	if s == wait {
		if err := r.backOff(ctx, d, key); err != nil {
			return r.giveUp(err)
		}
	}
	r.sent = time.Now()
	return nil
}

// timeout returns the limit on the time without progress.
func (d *Router) timeout(r *retry) time.Duration {
	switch {
	case d.failFast.Load():
		return failFastAfter
	case r.commit && r.unknown:
		return maxUnknown
	}
	return maxUnavailable
}

// FailFast shortens the time after which requests without a leader fail, including those in progress. A
// stopping node calls it, since the nodes that would answer may be gone for good.
func (d *Router) FailFast() { d.failFast.Store(true) }

// count adds the time of an attempt to the time without progress.
func (r *retry) count(answered bool) {
	if r.sent.IsZero() {
		return
	}
	spent := time.Since(r.sent)
	if answered {
		spent = min(spent, maxAnswer)
	}
	r.noProgress += spent
}

// giveUp returns the error of a request that was not served.
func (r *retry) giveUp(err error) error {
	if r.commit && r.unknown {
		return &kvpb.AmbiguousCommitError{Cause: err}
	}
	return err
}

// unavailable returns the error of a range that did not serve a request. It says what is missing, and what to
// do.
func (r *retry) unavailable(d *Router, t target) error {
	e := &kvpb.UnavailableError{Reason: "its address is not known"}
	if t.desc != nil {
		e.Reason = fmt.Sprintf("range %d has had no leader for %s", t.desc.RangeID, max(r.noProgress, minBackoff).Round(100*time.Millisecond))
		e.Detail, e.Hint = d.missing(t.desc)
	}
	if r.cause != nil {
		e.Reason += ": " + r.cause.Error()
	}
	return e
}

// missing describes the nodes that a range lacks and suggests a remedy.
func (d *Router) missing(desc *kvpb.RangeDescriptor) (detail, hint string) {
	if d.cfg.Live == nil {
		return "", ""
	}
	var all, silent []kvpb.NodeID
	for _, rep := range desc.Replicas {
		if !rep.Type.Votes() {
			continue
		}
		all = append(all, rep.Node)
		if rep.Node != d.self() && !d.cfg.Live(rep.Node) {
			silent = append(silent, rep.Node)
		}
	}
	slices.Sort(all)
	slices.Sort(silent)
	detail = fmt.Sprintf("Its replicas are on %s, and %d of them must answer.", nodeList(all), len(all)/2+1)
	switch {
	case len(silent) == 0:
		return detail + " All of them are there.", "The range should have a leader soon; run the statement again."
	case len(all)-len(silent) > len(all)/2:
		return detail + fmt.Sprintf(" Nothing is heard from %s.", nodeList(silent)),
			"The others should elect a leader soon; run the statement again."
	}
	return detail + fmt.Sprintf(" Nothing is heard from %s.", nodeList(silent)),
		fmt.Sprintf("Start %s again, or mend the network between the nodes; statements succeed as soon as a majority is back.", nodeList(silent))
}

// nodeList formats node ids as an English enumeration.
func nodeList(ids []kvpb.NodeID) string {
	if len(ids) == 1 {
		return fmt.Sprintf("node %d", ids[0])
	}
	b := []byte("nodes ")
	for i, n := range ids {
		switch {
		case i == 0:
		case i == len(ids)-1:
			b = append(b, " and "...)
		default:
			b = append(b, ", "...)
		}
		b = strconv.AppendUint(b, uint64(n), 10)
	}
	return string(b)
}

// backOff pauses, and begins another round over the replicas. It reloads their addresses, since all known
// ones may be stale.
func (r *retry) backOff(ctx context.Context, d *Router, key []byte) error {
	r.backoff = min(max(2*r.backoff, minBackoff), maxBackoff)
	r.noProgress += r.backoff
	r.tried = r.tried[:0]
	if err := sleep.For(ctx, r.backoff); err != nil {
		return err
	}
	if d.cache != nil && d.cache.Cached(key) != nil {
		ctx, cancel := context.WithTimeout(ctx, maxReload)
		defer cancel()
		began := time.Now()
		_ = d.cache.Reload(ctx, key) // the cached address is good enough
		r.noProgress += time.Since(began)
	}
	return ctx.Err()
}

// judge corrects the cache after a failed attempt and decides the next step. answered reports
// whether a replica redirected the request.
func (r *retry) judge(d *Router, t target, key []byte, err error) (s step, answered bool) {
	var (
		call      *callError
		notLeader *kvpb.NotLeaderError
		mismatch  *kvpb.RangeMismatchError
		ambiguous *kvpb.AmbiguousCommitError
		down      *kvpb.UnavailableError
	)
	switch {
	case err == errAllTried, errors.Is(err, rangecache.ErrNoRange):
		return wait, false
	case t.Sender == nil && (d.loc != nil || errors.As(err, &down)):
		return stop, false // the lookup has had its own retries
	case t.Sender == nil:
		return wait, false
	case errors.As(err, &call):
		r.unknown = r.unknown || !call.notSent()
		return d.notHere(t), false
	case errors.As(err, &ambiguous):
		r.unknown = true
		return d.notHere(t), false
	case errors.As(err, &notLeader):
		return r.follow(d, t, key, notLeader), true
	case errors.As(err, &mismatch):
		return r.learnBounds(d, t, mismatch), true
	case errors.As(err, &down):
		return d.notHere(t), false
	case t.node != d.self() && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return d.notHere(t), true // the other node is stopping
	}
	return stop, true
}

// notHere makes the cache forget that the target leads. If this node holds all ranges, the error is final.
func (d *Router) notHere(t target) step {
	if d.loc != nil {
		return stop
	}
	t.entry.ForgetLeader(t.node)
	return another
}

// follow records the leader that a replica has named.
func (r *retry) follow(d *Router, t target, key []byte, e *kvpb.NotLeaderError) step {
	if d.loc != nil {
		return wait
	}
	if e.Desc != nil && d.cache.Insert(*e.Desc) {
		r.progress()
	}
	now := d.cache.Cached(key)
	if now == nil || now.Desc().RangeID != t.desc.RangeID {
		return reroute
	}
	if n := e.Leader.Node; n != 0 && n != t.node && !r.hasTried(n) {
		now.SetLeader(e.Leader)
	} else {
		now.ForgetLeader(t.node)
	}
	return another
}

// learnBounds adds the bounds that a replica has reported to the cache.
func (r *retry) learnBounds(d *Router, t target, e *kvpb.RangeMismatchError) step {
	if d.loc != nil {
		return reroute
	}
	for i := range e.Known {
		if k := &e.Known[i]; k.RangeID == t.desc.RangeID && k.Generation < t.desc.Generation {
			return d.notHere(t) // the replica lags behind
		}
	}
	if len(e.Known) == 0 {
		return d.notHere(t) // it is gone from there
	}
	if d.cache.Insert(e.Known...) {
		r.progress()
	}
	d.cache.Evict(t.entry) // if it is still there
	d.cache.Insert(e.Known...)
	return reroute
}

// progress records that the request has made progress.
func (r *retry) progress() { r.noProgress, r.backoff = 0, 0 }
