package raftgroup

import "github.com/lichendb/lichen/internal/raftlog"

// Proposal is a command on its way through raft. Its proposer waits for Woken.
type Proposal struct {
	Command []byte
	Fence   Fence
	// OnAbandon, if not nil, is called when the proposer stops waiting for the outcome. The function that
	// it returns is called when the outcome is known.
	OnAbandon func() (known func())
	// Appender, if not nil, makes the next write durable together with those of other groups. It applies
	// while the proposer is itself the processing goroutine.
	Appender Appender

	err  error
	done bool // belongs to the processing goroutine
	wake chan Wake
}

// Appender makes the write of a group durable together with those of other groups.
type Appender interface {
	Append(log *raftlog.Log, ws []raftlog.Write) error
}

// Wake says why a waiting proposer is notified.
type Wake uint8

const (
	// Done: the proposal has its outcome (Proposal.Err).
	Done Wake = iota
	// Process: the proposer is the processing goroutine now.
	Process
)

// NewProposal returns a proposal that is used once.
func NewProposal(f Fence, command []byte) *Proposal {
	return &Proposal{Command: command, Fence: f, wake: make(chan Wake, 1)}
}

// Woken returns the channel on which the proposer is notified.
func (p *Proposal) Woken() <-chan Wake { return p.wake }

// Err returns the outcome of a proposal that is done.
func (p *Proposal) Err() error { return p.err }

// IsDone reports whether the outcome is known. Only the processing goroutine may call it.
func (p *Proposal) IsDone() bool { return p.done }
