package replica

import (
	"bytes"
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/raftlog"
)

// multiRangeBatch is a multi-range batch: the parts of one commit in several ranges of this store. All
// parts run on the goroutine of the request, since a switch to another goroutine costs more than a part.
//
// First it evaluates all parts, in nested calls of stage. Then it processes the first group. Where that group
// appends its entry, Append enters the next group, and so on. The innermost Append writes the entries of all
// groups with one sync:
//
//	group 1: entry ─► Append ─┐                        ┌─► responses, apply
//	group 2:                  └─► entry ─► Append ─┐   │ ┌─► responses, apply
//	log:                                           └─► one sync
//
// A part whose group is being processed elsewhere gets a goroutine of its own.
//
// While the goroutine processes one group it waits for others. So does the goroutine that applies a merge,
// for the range on its right (subsume). Both wait only for ranges of higher keys, so there is no cycle.
type multiRangeBatch struct {
	began time.Time
	parts []batchPart
	next  int // index of the next part to enter
	// carried are the pending writes of the groups entered so far.
	carried []raftlog.Write
	written bool
	err     error // of the write
}

// batchPart is the command of a part.
type batchPart struct {
	g        *group
	prop     *raftgroup.Proposal
	done     bool       // prop has its outcome
	proposed chan error // receives the outcome if another goroutine proposes; else nil
	err      error
}

// StageBatch implements kvpb.BatchStager.
func (r *Replica) StageBatch(ctx context.Context, parts []kvpb.StagePart) {
	for i := range parts[1:] { // the sender may have an outdated descriptor
		if l, r := parts[i].Sender.(local).self(), parts[i+1].Sender.(local).self(); !l.isLeftOf(r) {
			for i := range parts {
				parts[i].Err = parts[i].Sender.(local).self().mismatch()
			}
			return
		}
	}
	b := &multiRangeBatch{parts: make([]batchPart, 0, len(parts))}
	b.stage(ctx, parts)
}

// isLeftOf reports whether the range begins at a lower key than another. The start key of a range never
// changes.
func (r *Replica) isLeftOf(o *Replica) bool {
	return bytes.Compare(r.Desc().StartKey, o.Desc().StartKey) < 0
}

// local is a Replica of this node, or a wrapper of one.
type local interface{ self() *Replica }

func (r *Replica) self() *Replica { return r }

// stage evaluates the first part and, inside its propose function, the others. The innermost call
// proposes all commands.
func (b *multiRangeBatch) stage(ctx context.Context, parts []kvpb.StagePart) {
	if len(parts) == 0 {
		b.run()
		return
	}
	p, ready := &parts[0], false
	r := p.Sender.(local).self()
	p.Err = r.stage(ctx, p.Req, &p.Resp, func(fence raftgroup.Fence, command []byte, onAbandon func() func()) error {
		ready = true
		i, prop := len(b.parts), r.group.Queue.Get(fence, command)
		prop.OnAbandon = onAbandon
		b.parts = append(b.parts, batchPart{g: r.group, prop: prop})
		b.stage(ctx, parts[1:])
		return b.parts[i].err
	})
	if !ready { // it was refused, or has no command
		b.stage(ctx, parts[1:])
	}
}

// run proposes all commands and waits for their outcomes.
func (b *multiRangeBatch) run() {
	b.began = time.Now()
	b.advance()
	for i := range b.parts {
		p := &b.parts[i]
		switch {
		case p.proposed != nil:
			p.err = <-p.proposed
		case p.done:
			p.err = p.g.Queue.Put(p.prop)
		default: // in an entry that waits for a quorum
			p.err = p.g.Await(p.prop, time.Since(b.began))
		}
	}
}

// advance enters the remaining groups, each within the one before: the group entered first is left last.
func (b *multiRangeBatch) advance() {
	for b.next < len(b.parts) {
		p := &b.parts[b.next]
		must.True(b.next == 0 || b.parts[b.next-1].g.r.isLeftOf(p.g.r), "replica: range %d is not on the right of what is processed", p.g.r.id)
		b.next++
		b.enter(p)
	}
}

// enter processes a group with a command on this goroutine. If the group is being processed elsewhere, or
// the node has several stores, whose logs are separate, it uses another goroutine.
func (b *multiRangeBatch) enter(p *batchPart) {
	g, ok := p.g, false
	if p.done, ok = g.ProposeHere(p.prop, b); !ok {
		p.proposed = make(chan error, 1)
		go func() {
			defer must.Report(g.r.deps.OnFatal)
			p.proposed <- g.ProposeWait(p.prop)
		}()
	}
}

// Append implements raftgroup.Appender: it makes a group's write durable together with those of the groups
// entered before and after it.
func (b *multiRangeBatch) Append(log *raftlog.Log, ws []raftlog.Write) error {
	b.carried = append(b.carried, ws...)
	b.advance()
	if !b.written {
		b.written, b.err = true, log.Append(b.carried)
	}
	return b.err
}
