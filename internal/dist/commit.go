package dist

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// maxAttempts bounds how often a commit across ranges begins anew, because its
	// timestamp must rise or bounds of a range changed.
	maxAttempts = 16
	// maxStagedKeys and maxStagedBytes bound the keys that a transaction record
	// lists. A larger transaction commits in two rounds: its record alone decides.
	maxStagedKeys  = 2048
	maxStagedBytes = 128 << 10
	// maxBatchParts bounds the parts that one goroutine takes through the groups of this node.
	maxBatchParts = 8
)

// errMoved says that the bounds of ranges changed between two lookups.
var errMoved = errors.New("dist: the bounds of the ranges changed")

// parallelCommit is a commit in several ranges on its way (docs/decisions/0007).
type parallelCommit struct {
	d        *Router
	req      *kvpb.CommitRequest
	ts       hlc.Timestamp // at which to commit
	readTS   hlc.Timestamp // up to which all that was read is known to hold
	epoch    uint32
	since    hlc.Timestamp // of the first attempt that may have made a record
	anchor   []byte
	keys     [][]byte // written, sorted; those of the buffer, not the spilled ones
	span     kvpb.Span
	listed   bool   // the record lists the keys
	staged   bool   // a part that writes was sent
	queried  bool   // a part does not replace an earlier attempt unless the record does first
	recorded uint32 // the last attempt that the record is known to have seen before its parts
	resent   bool   // commitOne got no answer once, and asked again
	parts    []commitPart
}

// commitPart is what a commit does in one range.
type commitPart struct {
	key     []byte // one of its keys
	writes  []kvpb.Write
	locks   [][]byte
	epochs  []uint64
	spilled bool
	anchor  bool
	// recorded: the record has seen the present attempt.
	recorded bool

	resp kvpb.StageResponse
	err  error
}

func (p *commitPart) writing() bool { return len(p.writes) > 0 || p.spilled || p.anchor }

// commitParallel commits a transaction of several ranges.
func (d *Router) commitParallel(ctx context.Context, req *kvpb.CommitRequest, resp *kvpb.CommitResponse) error {
	*resp = kvpb.CommitResponse{}
	c := &parallelCommit{d: d, req: req, ts: req.Txn.ReadTS, readTS: req.Txn.ReadTS}
	if err := c.spillRest(ctx); err != nil {
		return err
	}
	c.prepare()
	for range maxAttempts {
		again, err := c.attempt(ctx, resp)
		if err != nil {
			return c.fail(ctx, err, resp)
		}
		if !again {
			return nil
		}
	}
	return c.fail(ctx, &kvpb.RetryError{Reason: "the commit timestamp moved too often"}, resp)
}

// spillRest spills what a transaction that has spilled still has in its buffer, so
// that there is one form of provisional data per transaction.
func (c *parallelCommit) spillRest(ctx context.Context) error {
	if !c.req.Spilled || len(c.req.Writes) == 0 {
		return nil
	}
	sp := kvpb.SpillRequest{Txn: c.req.Txn, Writes: c.req.Writes, Anchor: c.req.Anchor, Keep: math.MaxInt64, Statement: math.MaxInt64, AtSnapshot: c.req.AtSnapshot}
	for i := range c.req.Writes {
		sp.Positions = append(sp.Positions, 1<<62+uint64(i))
		c.req.SpillSpan = kvpb.Cover(c.req.SpillSpan, c.req.Writes[i].Key)
	}
	if err := c.d.Spill(ctx, &sp); err != nil {
		return err
	}
	c.req.Writes = nil
	return nil
}

func (c *parallelCommit) prepare() {
	size := 0
	for i := range c.req.Writes {
		k := c.req.Writes[i].Key
		c.keys = append(c.keys, k)
		size += len(k)
	}
	c.listed = !c.req.Spilled && len(c.keys) <= maxStagedKeys && size <= maxStagedBytes
	c.span = c.req.SpillSpan
	if n := len(c.keys); n > 0 {
		c.anchor = c.keys[0]
		c.span = kvpb.Cover(kvpb.Cover(kvpb.Span{}, c.keys[0]), c.keys[n-1])
	}
	if c.req.Spilled {
		c.anchor = c.req.Anchor
		if c.req.AtSnapshot {
			c.ts = c.req.Txn.SnapshotSpill()
		}
	}
	if low := c.req.MinTS.Next(); !c.req.MinTS.IsEmpty() && c.ts.Less(low) {
		c.raise(low)
	}
}

// raise moves the timestamp of the commit to low, or to the present if that is
// later, so that it need not move again for those who read meanwhile.
func (c *parallelCommit) raise(low hlc.Timestamp) {
	c.ts = c.ts.Max(low)
	if c.d.cfg.Now != nil {
		c.ts = c.ts.Max(c.d.cfg.Now())
	}
}

// attempt tries to commit at c.ts. again says that it raised the timestamp, or found
// other bounds, and that another attempt may succeed.
func (c *parallelCommit) attempt(ctx context.Context, resp *kvpb.CommitResponse) (again bool, err error) {
	c.req.RenewDeadline()
	if err := kvpb.CheckDeadline(c.ts, c.req.Deadline); err != nil {
		return false, err
	}
	if c.req.Txn.Isolation == kvpb.Serializable && c.readTS.Less(c.ts) {
		req := kvpb.RefreshRequest{Txn: c.req.Txn, Spans: c.req.Reads, From: c.readTS, To: c.ts}
		if err := c.d.Refresh(ctx, &req); err != nil {
			return false, err
		}
		c.readTS = c.ts
	}
	if err := c.split(ctx); err != nil {
		return false, err
	}
	c.epoch++
	var writer *commitPart
	writers := 0
	for i := range c.parts {
		if c.parts[i].writing() {
			writers++
			writer = &c.parts[i]
		}
	}
	switch {
	case writers == 1 && !c.req.Spilled && !c.staged:
		return c.commitOne(ctx, writer, resp)
	case !c.listed:
		return c.twoRounds(ctx, resp)
	case writers < len(c.parts):
		if again, err := c.confirm(ctx, resp); again || err != nil || !resp.CommitTS.IsEmpty() {
			return again, err
		}
	}
	return c.stageWrites(ctx, resp)
}

// stageWrites stages all parts that write: at once, or the record before the others if one
// of these waits for that.
func (c *parallelCommit) stageWrites(ctx context.Context, resp *kvpb.CommitResponse) (again bool, err error) {
	rest := (*commitPart).writing
	if c.queried {
		c.stage(ctx, func(p *commitPart) bool { return p.anchor })
		if again, err := c.answers(resp); again || err != nil || !resp.CommitTS.IsEmpty() {
			return again, err
		}
		c.recorded = c.epoch
		rest = func(p *commitPart) bool { return p.writing() && !p.anchor }
	}
	c.stage(ctx, rest)
	return c.outcome(resp)
}

// confirm has the ranges that the transaction has only locked agree to the timestamp. That
// comes before anything is staged: whoever recovers the commit looks for staged keys alone,
// and would not miss a lock that was lost.
func (c *parallelCommit) confirm(ctx context.Context, resp *kvpb.CommitResponse) (again bool, err error) {
	c.stage(ctx, func(p *commitPart) bool { return !p.writing() })
	return c.answers(resp)
}

// split sorts what the commit does by range.
func (c *parallelCommit) split(ctx context.Context) error {
	s := sorting{d: c.d, parts: c.parts[:0]}
	err := c.sort(ctx, &s)
	c.parts = s.parts
	return err
}

func (c *parallelCommit) sort(ctx context.Context, s *sorting) error {
	if c.req.Spilled {
		groups, err := c.d.byRange(ctx, []kvpb.Span{c.req.SpillSpan})
		if err != nil {
			return err
		}
		for _, g := range groups {
			p, err := s.at(ctx, g[0].Key)
			if err != nil {
				return err
			}
			p.spilled = true
		}
	}
	all := commitPart{writes: c.req.Writes, locks: c.req.Locks, epochs: c.req.LockEpochs, anchor: c.anchor != nil}
	if len(all.epochs) == 0 {
		all.epochs = slices.Repeat([]uint64{c.req.LockEpoch}, len(all.locks))
	}
	return s.addPart(ctx, &all, c.anchor)
}

// sorting sorts what a commit does by range.
type sorting struct {
	d     *Router
	parts []commitPart
	index map[kvpb.RangeID]int
	desc  *kvpb.RangeDescriptor // of the last key
}

// at returns the part of the range that is believed to hold a key.
func (s *sorting) at(ctx context.Context, key []byte) (*commitPart, error) {
	if s.desc == nil || !s.desc.ContainsKey(key) {
		desc, err := s.d.rangeOf(ctx, key)
		if err != nil {
			return nil, err
		}
		s.desc = desc
	}
	i, ok := s.index[s.desc.RangeID]
	if !ok {
		i = len(s.parts)
		if s.index == nil {
			s.index = map[kvpb.RangeID]int{}
		}
		s.index[s.desc.RangeID] = i
		s.parts = append(s.parts, commitPart{key: key})
	}
	return &s.parts[i], nil
}

// addPart adds what one part does; anchor is the key of the record, if the part writes that.
func (s *sorting) addPart(ctx context.Context, all *commitPart, anchor []byte) error {
	for _, w := range all.writes {
		p, err := s.at(ctx, w.Key)
		if err != nil {
			return err
		}
		p.writes = append(p.writes, w)
	}
	for i, k := range all.locks {
		p, err := s.at(ctx, k)
		if err != nil {
			return err
		}
		p.locks, p.epochs = append(p.locks, k), append(p.epochs, all.epochs[i])
	}
	if !all.anchor {
		return nil
	}
	p, err := s.at(ctx, anchor)
	if err == nil {
		p.anchor = true
	}
	return err
}

// commitOne commits in the only range that is written, at the timestamp to which
// the others have agreed.
func (c *parallelCommit) commitOne(ctx context.Context, w *commitPart, resp *kvpb.CommitResponse) (again bool, err error) {
	if again, err := c.confirm(ctx, resp); again || err != nil {
		return again, err
	}
	one := *c.req
	one.Reads, one.AllReadsHere, one.At = nil, false, c.ts
	one.Writes, one.Locks, one.LockEpoch, one.LockEpochs = w.writes, w.locks, 0, w.epochs
	r := retry{commit: true}
	for {
		t, err := c.d.find(ctx, w.key, &r)
		if err == nil {
			if !fits(t.desc, &one) {
				if r.unknown {
					return false, r.giveUp(errSplitMeanwhile)
				}
				return true, nil
			}
			// A copy of an earlier attempt may still be under way too: it was found not to have
			// happened, and the range refuses what comes without this mark.
			c.resent = c.resent || r.unknown
			one.Resent = c.resent
			one.RenewDeadline()
			if err = t.Commit(ctx, &one, resp); err == nil {
				break
			}
		}
		if err = r.next(ctx, c.d, t, w.key, err); err != nil {
			return false, err
		}
	}
	if !resp.Lowest.IsEmpty() {
		c.raise(resp.Lowest)
		*resp = kvpb.CommitResponse{}
		return true, nil
	}
	c.releaseRest(ctx, w)
	return false, nil
}

// stage sends the parts that which names, in parallel.
func (c *parallelCommit) stage(ctx context.Context, which func(*commitPart) bool) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	here := c.here(ctx, which)
	var own *commitPart // one of the others, without a goroutine
	for i := range c.parts {
		p := &c.parts[i]
		p.resp, p.err, p.recorded = kvpb.StageResponse{}, nil, c.recorded == c.epoch
		if !which(p) {
			continue
		}
		c.staged = c.staged || p.writing()
		if slices.ContainsFunc(here, func(h partHere) bool { return h.part == p }) {
			continue
		}
		if own == nil && len(here) == 0 {
			own = p
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			p.err = c.stagePart(ctx, p)
			<-slots
		})
	}
	if own != nil {
		own.err = c.stagePart(ctx, own)
	}
	c.stageHere(ctx, here)
	wg.Wait()
}

// partHere is a part in a range that this node is believed to lead.
type partHere struct {
	part  *commitPart
	to    kvpb.BatchStager
	start []byte // of the range
}

// here returns the parts that write, of those that which names, in ranges that this node is
// believed to lead, in the order of the ranges; nil unless there are several.
func (c *parallelCommit) here(ctx context.Context, which func(*commitPart) bool) []partHere {
	var found []partHere
	for i := range c.parts {
		p := &c.parts[i]
		if !which(p) || !p.writing() {
			continue
		}
		t, err := c.d.find(ctx, p.key, &retry{})
		if err != nil || !c.d.isHere(t) || !c.within(p, t.desc) {
			continue
		}
		if to, ok := t.Sender.(kvpb.BatchStager); ok {
			found = append(found, partHere{part: p, to: to, start: t.desc.StartKey})
		}
	}
	if len(found) < 2 || len(found) > maxBatchParts {
		return nil
	}
	slices.SortFunc(found, func(x, y partHere) int { return bytes.Compare(x.start, y.start) })
	return found
}

// stageHere stages parts in ranges of this node on this goroutine. What can't be done so is
// sent like other parts.
func (c *parallelCommit) stageHere(ctx context.Context, here []partHere) {
	if len(here) == 0 {
		return
	}
	parts := make([]kvpb.StagePart, len(here))
	reqs := make([]kvpb.StageRequest, len(here))
	for i, h := range here {
		reqs[i] = c.request(h.part)
		parts[i] = kvpb.StagePart{Sender: h.to, Req: &reqs[i]}
	}
	here[0].to.StageBatch(ctx, parts)
	for i, h := range here {
		h.part.resp = parts[i].Resp
		if parts[i].Err != nil {
			h.part.err = c.stagePart(ctx, h.part)
		} else {
			c.tried(h.part, nil)
		}
	}
}

// stagePart stages a part. If its range turns out to have been split, each piece of the part
// goes where its keys are, in the same attempt: to begin anew with all parts takes so long, if
// the transaction is large, that more ranges may have been split or merged by then.
func (c *parallelCommit) stagePart(ctx context.Context, p *commitPart) error {
	err := c.sendPart(ctx, p)
	for n := 0; err == errMoved && n < maxAttempts; n++ {
		var pieces []commitPart
		if pieces, err = c.cut(ctx, p); err != nil {
			break
		}
		err = c.sendPieces(ctx, p, pieces)
	}
	c.tried(p, err)
	return err
}

// tried notes that there may be a record, once the part of the anchor was staged or may have
// been.
func (c *parallelCommit) tried(p *commitPart, err error) {
	if p.anchor && c.since.IsEmpty() && (err != nil || p.resp.Lowest.IsEmpty()) {
		c.since = c.ts
	}
}

// cut returns the pieces of a part between the boundaries that are known now. Of a spilled part
// nobody knows them here, and a piece that only locks would have to agree before anything is
// staged (invariant D8): these begin anew.
func (c *parallelCommit) cut(ctx context.Context, p *commitPart) ([]commitPart, error) {
	s := sorting{d: c.d}
	if p.spilled {
		return nil, errMoved
	}
	if err := s.addPart(ctx, p, c.anchor); err != nil {
		return nil, err
	}
	for i := range s.parts {
		if c.listed && p.writing() && !s.parts[i].writing() {
			return nil, errMoved
		}
	}
	return s.parts, nil
}

// sendPieces sends the pieces of a part, that of the anchor first: it is the first key.
func (c *parallelCommit) sendPieces(ctx context.Context, p *commitPart, pieces []commitPart) error {
	recorded := p.recorded
	p.resp = kvpb.StageResponse{}
	for i := range pieces {
		piece := &pieces[i]
		piece.recorded = recorded
		if err := c.sendPart(ctx, piece); err != nil {
			return err
		}
		recorded = recorded || piece.anchor && piece.resp == kvpb.StageResponse{}
		p.resp.Lowest = p.resp.Lowest.Max(piece.resp.Lowest)
		p.resp.CommitTS = p.resp.CommitTS.Max(piece.resp.CommitTS)
		p.resp.Queried = p.resp.Queried || piece.resp.Queried
	}
	return nil
}

// sendPart sends a part to its range; errMoved says that it does not lie in one.
func (c *parallelCommit) sendPart(ctx context.Context, p *commitPart) error {
	req := c.request(p)
	return c.d.route(ctx, p.key, p.writing(), func(t target) error {
		if !c.within(p, t.desc) {
			return errMoved
		}
		return t.Stage(ctx, &req, &p.resp)
	})
}

// within reports whether a part lies in a range.
func (c *parallelCommit) within(p *commitPart, desc *kvpb.RangeDescriptor) bool {
	for i := range p.writes {
		if !desc.ContainsKey(p.writes[i].Key) {
			return false
		}
	}
	return holdsKeys(desc, p.locks) && (!p.anchor || desc.ContainsKey(c.anchor))
}

// request returns what asks for a part.
func (c *parallelCommit) request(p *commitPart) kvpb.StageRequest {
	req := kvpb.StageRequest{
		Txn: c.req.Txn, TS: c.ts, Epoch: c.epoch, Anchor: c.anchor,
		Writes: p.writes, Locks: p.locks, LockEpochs: p.epochs, Spilled: p.spilled, Record: p.anchor,
		Deadline: c.req.Deadline, Recorded: p.recorded,
	}
	if p.anchor && c.listed {
		req.Keys = c.keys
	}
	if p.anchor && !c.listed {
		req.Span = c.span
	}
	return req
}

// outcome says what the answers to the parts mean when all have been sent.
func (c *parallelCommit) outcome(resp *kvpb.CommitResponse) (again bool, err error) {
	again, err = c.answers(resp)
	if again || err != nil || !resp.CommitTS.IsEmpty() {
		return again, err
	}
	if c.staged {
		resp.CommitTS = c.ts
		if c.listed {
			c.end(kvpb.EndCommit).finish()
		}
	}
	return false, nil
}

// answers says what the answers to the parts mean that were sent last: whether another
// attempt must follow, or the transaction has committed.
func (c *parallelCommit) answers(resp *kvpb.CommitResponse) (again bool, err error) {
	var low hlc.Timestamp
	moved, queried := false, false
	for i := range c.parts {
		p := &c.parts[i]
		queried = queried || p.resp.Queried
		switch {
		case p.err == errMoved:
			moved = true
		case p.err != nil && (err == nil || kvpb.Classify(err) == kvpb.ClassAmbiguous):
			err = p.err
		case !p.resp.CommitTS.IsEmpty(): // others have finished what we began
			resp.CommitTS = p.resp.CommitTS
		}
		low = low.Max(p.resp.Lowest)
	}
	c.queried = c.queried || queried
	switch {
	case !resp.CommitTS.IsEmpty():
		return false, nil
	case err != nil:
		return false, err
	case !low.IsEmpty():
		c.raise(low)
		return true, nil
	}
	return moved || queried, nil
}

// twoRounds commits a transaction whose record does not list its keys: first its
// record, then its parts, then the record again.
func (c *parallelCommit) twoRounds(ctx context.Context, resp *kvpb.CommitResponse) (again bool, err error) {
	for _, first := range []bool{true, false} {
		c.stage(ctx, func(p *commitPart) bool { return p.anchor == first })
		var staged kvpb.CommitResponse
		again, err := c.outcome(&staged)
		if again || err != nil {
			return again, err
		}
		c.recorded = c.epoch
	}
	e := c.end(kvpb.EndCommit)
	var answer kvpb.EndTxnResponse
	if err := e.endTxn(ctx, &answer); err != nil {
		return false, err
	}
	switch {
	case answer.Forgotten:
		return false, &kvpb.AmbiguousCommitError{Cause: errForgotten}
	case !answer.Lowest.IsEmpty():
		c.raise(answer.Lowest)
		return true, nil
	case answer.Status != kvpb.TxnCommitted:
		return false, errAbortedByOthers
	}
	resp.CommitTS = answer.CommitTS
	e.done = true
	e.finish()
	return false, nil
}

var (
	errForgotten       = errors.New("the range of its record may have forgotten how it ended")
	errAbortedByOthers = &kvpb.RetryError{Reason: "the transaction was aborted by another that met its locks"}
)

// locksLeft returns the locks on keys that the transaction has not written: those
// on written ones went when they were staged.
func (c *parallelCommit) locksLeft() [][]byte {
	var left [][]byte
	for _, k := range c.req.Locks {
		if _, written := slices.BinarySearchFunc(c.keys, k, bytes.Compare); !written {
			left = append(left, bytes.Clone(k))
		}
	}
	return left
}

// releaseRest gives up the locks in the ranges that are not written.
func (c *parallelCommit) releaseRest(ctx context.Context, w *commitPart) {
	for i := range c.parts {
		if p := &c.parts[i]; p != w && len(p.locks) > 0 {
			// What can't be reached has lost its locks, or will.
			_ = c.d.Release(context.WithoutCancel(ctx), &kvpb.ReleaseRequest{Txn: c.req.Txn, Locks: p.locks})
		}
	}
}
