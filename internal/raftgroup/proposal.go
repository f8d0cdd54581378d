package raftgroup

import "github.com/lichendb/lichen/internal/raftlog"

// Proposal is a command on its way through raft. Its proposer waits for Woken.
type Proposal struct {
	Command []byte
	Fence   Fence
	// Keep, if not nil, is called when the proposer stops waiting for the outcome; the function that
	// it returns is called when the outcome is known.
	Keep func() (known func())
	// Appender, if not nil, makes the next write of the processing goroutine, whose own
	// proposal this is, durable together with those of other groups.
	Appender Appender

	err  error
	done bool // belongs to the processing goroutine
	wake chan Wake
}

// Appender makes the next write of a group durable, with those of other groups.
type Appender interface {
	Append(log *raftlog.Log, ws []raftlog.Write) error
}

// Wake is why a waiting proposer is notified.
type Wake uint8

const (
	// Done says that the proposal has its outcome (Proposal.Err).
	Done Wake = iota
	// Process hands the role of the processing goroutine to the proposer.
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

// IsDone reports whether the outcome is known. The processing goroutine may ask.
func (p *Proposal) IsDone() bool { return p.done }
