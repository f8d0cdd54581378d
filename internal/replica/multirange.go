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

// multiRangeBatch is a multi-range batch: the parts that one commit has in several ranges of this
// store. It takes them through their groups all on the goroutine of the request: to wake another
// one for each costs more than its part does.
//
// First all parts are evaluated, one inside the other (stage). Then the goroutine processes
// the first group; where that would append its entry it goes on to the next group, and so
// on, and the innermost append writes the entries of all of them with one sync. A group that
// somebody else is processing is left to a goroutine of its own.
//
// While it processes one group it so waits for others, as one that applies a merge waits for
// the range on its right (subsume): both only for ranges of higher keys.
type multiRangeBatch struct {
	began time.Time
	parts []batchPart
	next  int // part to enter
	// carried is what the groups entered so far are about to append.
	carried []raftlog.Write
	written bool
	err     error // of writing it
}

// batchPart is a command on its way.
type batchPart struct {
	g    *group
	prop *raftgroup.Proposal
	done bool       // prop was answered
	away chan error // brings the outcome of a part that another goroutine waits for
	err  error
}

// StageBatch implements kvpb.BatchStager.
func (r *Replica) StageBatch(ctx context.Context, parts []kvpb.StagePart) {
	for i := range parts[1:] { // who sends them may have an old view of one of the ranges
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

// isLeftOf reports whether the range begins at lower keys than another: where a range begins
// never changes.
func (r *Replica) isLeftOf(o *Replica) bool {
	return bytes.Compare(r.Desc().StartKey, o.Desc().StartKey) < 0
}

// local is a Replica of this node, or something around it.
type local interface{ self() *Replica }

func (r *Replica) self() *Replica { return r }

// stage evaluates the first of parts and, when its command is ready, the others. The last
// one has all commands proposed.
func (b *multiRangeBatch) stage(ctx context.Context, parts []kvpb.StagePart) {
	if len(parts) == 0 {
		b.run()
		return
	}
	p, ready := &parts[0], false
	r := p.Sender.(local).self()
	p.Err = r.stage(ctx, p.Req, &p.Resp, func(fence raftgroup.Fence, command []byte) error {
		ready = true
		i := len(b.parts)
		b.parts = append(b.parts, batchPart{g: r.group, prop: r.group.Queue.Get(fence, command)})
		b.stage(ctx, parts[1:])
		return b.parts[i].err
	})
	if !ready { // it was refused, or there was nothing to do
		b.stage(ctx, parts[1:])
	}
}

// run takes all commands through their groups and waits for them.
func (b *multiRangeBatch) run() {
	b.began = time.Now()
	b.advance()
	for i := range b.parts {
		p := &b.parts[i]
		switch {
		case p.away != nil:
			p.err = <-p.away
		case p.done:
			p.err = p.g.Queue.Put(p.prop)
		default: // in an entry, which other replicas must have
			p.err = p.g.Await(p.prop, time.Since(b.began))
		}
	}
}

// advance enters the groups that are left. Those entered first are left last.
func (b *multiRangeBatch) advance() {
	for b.next < len(b.parts) {
		p := &b.parts[b.next]
		must.True(b.next == 0 || b.parts[b.next-1].g.r.isLeftOf(p.g.r), "replica: range %d is not on the right of what is processed", p.g.r.id)
		b.next++
		b.enter(p)
	}
}

// enter has a group process a command, here if nobody else does and the store does not share
// the node with others, which have logs of their own.
func (b *multiRangeBatch) enter(p *batchPart) {
	g, ok := p.g, false
	if p.done, ok = g.ProposeHere(p.prop, b); !ok {
		p.away = make(chan error, 1)
		go func() {
			defer must.Report(g.r.deps.OnFatal)
			p.away <- g.ProposeWait(p.prop)
		}()
	}
}

// Append implements raftgroup.Appender: it makes durable what a group has to write, with what
// those entered before it and after it have.
func (b *multiRangeBatch) Append(log *raftlog.Log, ws []raftlog.Write) error {
	b.carried = append(b.carried, ws...)
	b.advance()
	if !b.written {
		b.written, b.err = true, log.Append(b.carried)
	}
	return b.err
}
