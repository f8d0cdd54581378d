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
	// maxAttempts bounds the attempts of a parallel commit. It tries again when the timestamp must rise,
	// or when range bounds have changed.
	maxAttempts = 16
	// maxStagedKeys and maxStagedBytes bound the keys that a transaction record lists. A larger
	// transaction commits in two rounds, and its record alone decides.
	maxStagedKeys  = 2048
	maxStagedBytes = 128 << 10
	// maxBatchParts bounds the parts of a multi-range batch.
	maxBatchParts = 8
)

// errMoved says that range bounds have changed between two lookups.
var errMoved = errors.New("dist: the bounds of the ranges changed")

// parallelCommit is the state of a commit in several ranges (docs/decisions/0007).
type parallelCommit struct {
	d        *Router
	req      *kvpb.CommitRequest
	ts       hlc.Timestamp // commit timestamp of the present attempt
	readTS   hlc.Timestamp // what the transaction has read is unchanged up to here
	attempts uint32
	since    hlc.Timestamp // time of the first attempt that may have written a record
	anchor   []byte
	keys     [][]byte // written keys, sorted: those of the buffer, not the spilled ones
	span     kvpb.Span
	listed   bool   // the record lists the keys
	staged   bool   // a writing part was sent
	queried  bool   // recovery has queried a part: the record must accept each attempt before the part does
	recorded uint32 // the last attempt that the record has accepted before its parts
	resent   bool   // commitOne got no answer and was sent again
	parts    []commitPart
}

// commitPart is what a commit does in one range.
type commitPart struct {
	key        []byte // one of its keys
	writes     []kvpb.Write
	locks      [][]byte
	lockTables []uint64
	spilled    bool
	anchor     bool
	recorded   bool // the record has accepted the present attempt

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

// spillRest spills the rest of the buffer of a transaction that has spilled before. So all provisional
// data of a transaction has one form.
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

// raise moves the commit timestamp to low or to the present, whichever is later. At the present, readers
// that arrive meanwhile hardly make it rise again.
func (c *parallelCommit) raise(low hlc.Timestamp) {
	c.ts = c.ts.Max(low)
	if c.d.cfg.Now != nil {
		c.ts = c.ts.Max(c.d.cfg.Now())
	}
}

// attempt tries to commit at c.ts. It returns again if another attempt may succeed, because it has raised
// the timestamp or range bounds have changed.
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
	if err := c.byRange(ctx); err != nil {
		return false, err
	}
	c.attempts++
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
		if again, err := c.confirmLocks(ctx, resp); again || err != nil || !resp.CommitTS.IsEmpty() {
			return again, err
		}
	}
	return c.stageWrites(ctx, resp)
}

// stageWrites stages all parts that write, at the same time. If one of them must wait for the record, the
// record goes first.
func (c *parallelCommit) stageWrites(ctx context.Context, resp *kvpb.CommitResponse) (again bool, err error) {
	rest := (*commitPart).writing
	if c.queried {
		c.stage(ctx, func(p *commitPart) bool { return p.anchor })
		if again, err := c.answers(resp); again || err != nil || !resp.CommitTS.IsEmpty() {
			return again, err
		}
		c.recorded = c.attempts
		rest = func(p *commitPart) bool { return p.writing() && !p.anchor }
	}
	c.stage(ctx, rest)
	return c.outcome(resp)
}

// confirmLocks makes the ranges where the transaction only locked keys accept the commit timestamp. This
// comes before anything is staged (invariant D8): recovery queries only staged keys, so it would not
// notice that a lock was lost.
func (c *parallelCommit) confirmLocks(ctx context.Context, resp *kvpb.CommitResponse) (again bool, err error) {
	c.stage(ctx, func(p *commitPart) bool { return !p.writing() })
	return c.answers(resp)
}

// byRange divides the commit into parts, one for each range.
func (c *parallelCommit) byRange(ctx context.Context) error {
	s := divider{d: c.d, parts: c.parts[:0]}
	err := c.addTo(ctx, &s)
	c.parts = s.parts
	return err
}

func (c *parallelCommit) addTo(ctx context.Context, s *divider) error {
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
	all := commitPart{writes: c.req.Writes, locks: c.req.Locks, lockTables: c.req.LockTableIDs, anchor: c.anchor != nil}
	if len(all.lockTables) == 0 {
		all.lockTables = slices.Repeat([]uint64{c.req.LockTableID}, len(all.locks))
	}
	return s.addPart(ctx, &all, c.anchor)
}

// divider divides a commit, or a part of one, into a part for each range.
type divider struct {
	d     *Router
	parts []commitPart
	index map[kvpb.RangeID]int
	desc  *kvpb.RangeDescriptor // of the last key
}

// at returns the part of the range that holds a key, as far as the cache knows.
func (s *divider) at(ctx context.Context, key []byte) (*commitPart, error) {
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

// addPart adds what the part all does. anchor is the key of the record, if the part writes it.
func (s *divider) addPart(ctx context.Context, all *commitPart, anchor []byte) error {
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
		p.locks, p.lockTables = append(p.locks, k), append(p.lockTables, all.lockTables[i])
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

// commitOne commits in the only range with writes, at the timestamp that all others have accepted.
func (c *parallelCommit) commitOne(ctx context.Context, w *commitPart, resp *kvpb.CommitResponse) (again bool, err error) {
	if again, err := c.confirmLocks(ctx, resp); again || err != nil {
		return again, err
	}
	one := *c.req
	one.Reads, one.AllReadsHere, one.At = nil, false, c.ts
	one.Writes, one.Locks, one.LockTableID, one.LockTableIDs = w.writes, w.locks, 0, w.lockTables
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
			// A copy of an earlier attempt may also be in flight. Recovery has found that this attempt
			// had not committed, and without the mark the range would refuse the commit.
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

// stage sends the parts that which selects, all at the same time.
func (c *parallelCommit) stage(ctx context.Context, which func(*commitPart) bool) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	here := c.here(ctx, which)
	var own *commitPart // the part sent on this goroutine
	for i := range c.parts {
		p := &c.parts[i]
		p.resp, p.err, p.recorded = kvpb.StageResponse{}, nil, c.recorded == c.attempts
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

// partHere is a part in a range that this node leads, as far as the cache knows.
type partHere struct {
	part  *commitPart
	to    kvpb.BatchStager
	start []byte // of the range
}

// here returns the selected parts that write in ranges of this node, in the order of the ranges. It
// returns nil unless a multi-range batch pays: for at least two parts.
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

// stageHere stages parts in ranges of this node on this goroutine, as one multi-range batch. Parts that
// fail there are sent again like any other.
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
			c.noteRecord(h.part, nil)
		}
	}
}

// stagePart stages a part. If its range has been split, the pieces of the part go to the new ranges in the
// same attempt. Another attempt with all parts of a large transaction would take so long that more ranges
// might be split or merged meanwhile.
func (c *parallelCommit) stagePart(ctx context.Context, p *commitPart) error {
	err := c.sendPart(ctx, p)
	for n := 0; err == errMoved && n < maxAttempts; n++ {
		var pieces []commitPart
		if pieces, err = c.divide(ctx, p); err != nil {
			break
		}
		err = c.sendPieces(ctx, p, pieces)
	}
	c.noteRecord(p, err)
	return err
}

// noteRecord notes that a record may exist, once the anchor's part was staged or its outcome is unknown.
func (c *parallelCommit) noteRecord(p *commitPart, err error) {
	if p.anchor && c.since.IsEmpty() && (err != nil || p.resp.Lowest.IsEmpty()) {
		c.since = c.ts
	}
}

// divide divides a part at the range boundaries that are known now. Two kinds of part need another attempt
// instead, and get errMoved: a spilled part, whose keys this node does not have, and one with a piece that
// only locks, which must be confirmed before anything is staged (invariant D8).
func (c *parallelCommit) divide(ctx context.Context, p *commitPart) ([]commitPart, error) {
	s := divider{d: c.d}
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

// sendPieces sends the pieces of a part. The anchor is the first key, so its piece goes first.
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

// sendPart sends a part to its range. It returns errMoved if no single range holds the part.
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

// request builds the stage request of a part.
func (c *parallelCommit) request(p *commitPart) kvpb.StageRequest {
	req := kvpb.StageRequest{
		Txn: c.req.Txn, TS: c.ts, Attempt: c.attempts, Anchor: c.anchor,
		Writes: p.writes, Locks: p.locks, LockTableIDs: p.lockTables, Spilled: p.spilled, Record: p.anchor,
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

// outcome evaluates the responses once all parts have been sent.
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

// answers evaluates the latest responses. again says that another attempt must follow. If recovery has
// committed the transaction, resp holds its timestamp.
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
		case !p.resp.CommitTS.IsEmpty(): // recovery has committed the transaction
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

// twoRounds commits a transaction whose record does not list its keys: the record goes first, then
// the parts, then the record again.
func (c *parallelCommit) twoRounds(ctx context.Context, resp *kvpb.CommitResponse) (again bool, err error) {
	for _, first := range []bool{true, false} {
		c.stage(ctx, func(p *commitPart) bool { return p.anchor == first })
		var staged kvpb.CommitResponse
		again, err := c.outcome(&staged)
		if again || err != nil {
			return again, err
		}
		c.recorded = c.attempts
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

// locksLeft returns the locks on keys that the transaction has not written. Those on written keys were
// released when the keys were staged.
func (c *parallelCommit) locksLeft() [][]byte {
	var left [][]byte
	for _, k := range c.req.Locks {
		if _, written := slices.BinarySearchFunc(c.keys, k, bytes.Compare); !written {
			left = append(left, bytes.Clone(k))
		}
	}
	return left
}

// releaseRest releases the locks in the ranges without writes.
func (c *parallelCommit) releaseRest(ctx context.Context, w *commitPart) {
	for i := range c.parts {
		if p := &c.parts[i]; p != w && len(p.locks) > 0 {
			// A range that can't be reached has lost the locks, or drops them when the gateway's process
			// ends.
			_ = c.d.Release(context.WithoutCancel(ctx), &kvpb.ReleaseRequest{Txn: c.req.Txn, Locks: p.locks})
		}
	}
}
