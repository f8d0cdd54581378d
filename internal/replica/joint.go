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

// joint takes the parts that one commit has in several ranges of this store through their
// groups, all on the goroutine of the request: to wake another one for each costs more than
// its part does.
//
// First all parts are evaluated, one inside the other (stage). Then the goroutine processes
// the first group; where that would append its entry it goes on to the next group, and so
// on, and the innermost append writes the entries of all of them with one sync. A group that
// somebody else is processing is left to a goroutine of its own.
//
// While it processes one group it so waits for others, as one that applies a merge waits for
// the range on its right (takeIn): both only for ranges of higher keys (invariant R41).
type joint struct {
	began time.Time
	parts []jointPart
	next  int // part to enter
	// carried is what the groups entered so far are about to append.
	carried []raftlog.Write
	written bool
	err     error // of writing it
}

// jointPart is a command on its way.
type jointPart struct {
	g    *group
	prop *raftgroup.Proposal
	done bool       // prop was answered
	away chan error // brings the outcome of a part that another goroutine waits for
	err  error
}

// StageJoint implements kvpb.Joiner.
func (r *Replica) StageJoint(ctx context.Context, parts []kvpb.StagePart) {
	for i := range parts[1:] { // who sends them may have an old view of one of the ranges
		if l, r := parts[i].Sender.(joinable).self(), parts[i+1].Sender.(joinable).self(); !l.isLeftOf(r) {
			for i := range parts {
				parts[i].Err = parts[i].Sender.(joinable).self().mismatch()
			}
			return
		}
	}
	j := &joint{parts: make([]jointPart, 0, len(parts))}
	j.stage(ctx, parts)
}

// isLeftOf reports whether the range begins at lower keys than another: where a range begins
// never changes.
func (r *Replica) isLeftOf(o *Replica) bool {
	return bytes.Compare(r.Desc().StartKey, o.Desc().StartKey) < 0
}

// joinable is a Replica, or something around it.
type joinable interface{ self() *Replica }

func (r *Replica) self() *Replica { return r }

// stage evaluates the first of parts and, when its command is ready, the others. The last
// one has all commands proposed.
func (j *joint) stage(ctx context.Context, parts []kvpb.StagePart) {
	if len(parts) == 0 {
		j.run()
		return
	}
	p, ready := &parts[0], false
	r := p.Sender.(joinable).self()
	p.Err = r.stage(ctx, p.Req, &p.Resp, func(under raftgroup.Fence, command []byte) error {
		ready = true
		i := len(j.parts)
		j.parts = append(j.parts, jointPart{g: r.group, prop: r.group.Queue.Get(under, command)})
		j.stage(ctx, parts[1:])
		return j.parts[i].err
	})
	if !ready { // it was refused, or there was nothing to do
		j.stage(ctx, parts[1:])
	}
}

// run takes all commands through their groups and waits for them.
func (j *joint) run() {
	j.began = time.Now()
	j.advance()
	for i := range j.parts {
		p := &j.parts[i]
		switch {
		case p.away != nil:
			p.err = <-p.away
		case p.done:
			p.err = p.g.Queue.Put(p.prop)
		default: // in an entry, which other replicas must have
			p.err = p.g.Await(p.prop, time.Since(j.began))
		}
	}
}

// advance enters the groups that are left. Those entered first are left last.
func (j *joint) advance() {
	for j.next < len(j.parts) {
		p := &j.parts[j.next]
		must.True(j.next == 0 || j.parts[j.next-1].g.r.isLeftOf(p.g.r), "R41: range %d is not on the right of what is processed", p.g.r.id)
		j.next++
		j.enter(p)
	}
}

// enter has a group process a command, here if nobody else does and the store does not share
// the node with others, which have logs of their own.
func (j *joint) enter(p *jointPart) {
	g, ok := p.g, false
	if p.done, ok = g.ProposeHere(p.prop, j); !ok {
		p.away = make(chan error, 1)
		go func() {
			defer must.Report(g.r.deps.OnFatal)
			p.away <- g.ProposeWait(p.prop)
		}()
	}
}

// Append implements raftgroup.Appender: it makes durable what a group has to write, with what
// those entered before it and after it have.
func (j *joint) Append(log *raftlog.Log, ws []raftlog.Write) error {
	j.carried = append(j.carried, ws...)
	j.advance()
	if !j.written {
		j.written, j.err = true, log.Append(j.carried)
	}
	return j.err
}
