package notify

import (
	"context"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const (
	// maxPayload is the length of the longest payload, and one.
	maxPayload = 8000
	// maxChannel is the length of the longest name of a channel, and one.
	maxChannel = 64
	// maxPending bounds the notifications of one transaction, in bytes.
	maxPending = 64 << 20
	// maxChannels bounds the channels that a session listens to.
	maxChannels = 10_000
	// fewMessages is the number of messages up to which duplicates are looked for one by one.
	fewMessages = 16
	// ownWait bounds the wait of a session after its commit for its own notifications, and for LISTEN to hold
	// whatever clock others go by. Both come later all the same.
	ownWait = 5 * time.Second
)

// Host is the session as its notifications see it.
type Host interface {
	PID() int32
	Database() uint64
	// Terminate ends the session for a reason. Any goroutine may call it.
	Terminate(why *pgerr.Error)
}

type action uint8

const (
	send action = iota
	listen
	unlisten
	unlistenAll
)

// request is what a transaction asks for, which happens when it commits.
type request struct {
	action action
	message
}

// Session is what a session sends and gets. One goroutine at a time uses it, but for what waiting guards.
type Session struct {
	q    *Queue
	host Host

	pending []request
	bytes   int
	sent    map[message]struct{} // those of pending, if they are many
	// The following are of the commit under way.
	taken  []slot
	opened []*subscription
	at     hlc.Timestamp // of the entries, if another transaction wrote them
	joined bool          // the session counts as one that listens

	database uint64 // in which it listens
	waiting  waiting
}

// Init makes s ready.
func (s *Session) Init(q *Queue, h Host) {
	s.q, s.host = q, h
	s.waiting.account.Init(q.memory)
}

// OnWaiting sets what is called when notifications begin to wait. Any goroutine may call f, with no lock that
// Take needs.
func (s *Session) OnWaiting(f func()) {
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	s.waiting.wake = f
}

// Notify sends a notification when the transaction commits, unless the transaction has sent the same one before.
func (s *Session) Notify(channel, payload string) error {
	switch {
	case channel == "":
		return pgerr.New(pgerr.InvalidParameterValue, "channel name cannot be empty")
	case len(channel) >= maxChannel:
		return pgerr.New(pgerr.InvalidParameterValue, "channel name too long")
	case len(payload) >= maxPayload:
		return pgerr.New(pgerr.InvalidParameterValue, "payload string too long")
	}
	m := message{channel, payload}
	if s.hasSent(m) {
		return nil
	}
	if err := s.ask(request{send, m}); err != nil {
		return err
	}
	if s.sent != nil {
		s.sent[m] = struct{}{}
	}
	return nil
}

// ask adds a request for the commit.
func (s *Session) ask(r request) error {
	if s.bytes+r.size() > maxPending {
		return errFull()
	}
	s.bytes += r.size()
	s.pending = append(s.pending, r)
	return nil
}

func errFull() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "too many notifications in the NOTIFY queue")
}

// hasSent reports whether the transaction has sent a message.
func (s *Session) hasSent(m message) bool {
	if s.sent == nil {
		if len(s.pending) <= fewMessages {
			return slices.Contains(s.pending, request{send, m})
		}
		s.sent = map[message]struct{}{}
		for _, r := range s.pending {
			if r.action == send {
				s.sent[r.message] = struct{}{}
			}
		}
	}
	_, ok := s.sent[m]
	return ok
}

// Listen listens to a channel from the commit on.
func (s *Session) Listen(channel string) error {
	s.waiting.mu.Lock()
	many := s.waiting.subs[channel] == nil && len(s.waiting.subs) >= maxChannels
	s.waiting.mu.Unlock()
	if many {
		return pgerr.New(pgerr.ProgramLimitExceeded, "one session cannot listen to more than %d channels", maxChannels)
	}
	return s.ask(request{listen, message{channel: channel}})
}

// Unlisten ends Listen at the commit.
func (s *Session) Unlisten(channel string) error {
	if len(s.pending) == 0 && !s.joined {
		return nil // there is nothing to end
	}
	return s.ask(request{unlisten, message{channel: channel}})
}

// UnlistenAll ends all at the commit.
func (s *Session) UnlistenAll() error {
	if len(s.pending) == 0 && !s.joined {
		return nil
	}
	return s.ask(request{action: unlistenAll})
}

// Mark returns the present state of what the transaction asks for.
func (s *Session) Mark() int { return len(s.pending) }

// RollbackTo forgets what was asked for since a mark.
func (s *Session) RollbackTo(mark int) {
	if mark >= len(s.pending) {
		return
	}
	for _, r := range s.pending[mark:] {
		s.bytes -= r.size()
		if r.action == send {
			delete(s.sent, r.message)
		}
	}
	clear(s.pending[mark:])
	if s.pending = s.pending[:mark]; mark == 0 {
		s.pending, s.sent = nil, nil
	}
}

// BeforeCommit adds to the transaction what it asks for. Undone or Committed follows.
func (s *Session) BeforeCommit(ctx context.Context, txn *kv.Txn) error {
	if len(s.pending) == 0 {
		return nil
	}
	var messages []message
	for _, r := range s.pending {
		if r.action == send {
			messages = append(messages, r.message)
		}
	}
	s.open()
	if len(messages) == 0 && len(s.opened) == 0 {
		return nil
	}
	entries := split(s.host.Database(), s.host.PID(), messages)
	var ok bool
	if s.taken, ok = s.q.slots.take(len(entries)); !ok {
		return errFull()
	}
	if o := txn.Options(); !o.ReadOnly && o.AsOf.IsEmpty() {
		txn.BeginStatement()
		return s.q.write(txn, s.taken, entries)
	}
	// The transaction has no writes of its own, so that nobody can tell that they are another's.
	var wrote *kv.Txn
	err := s.q.db.Run(ctx, func(_ context.Context, t *kv.Txn) error {
		wrote = t
		return s.q.write(t, s.taken, entries)
	})
	if err != nil {
		s.q.slots.put(s.taken, false, time.Now()) // it may have committed
		s.taken = nil
		return err
	}
	s.at = wrote.CommitTimestamp()
	return nil
}

// open opens the subscriptions of LISTEN. What is committed after the transaction may reach the node before
// the session knows that the transaction has committed.
func (s *Session) open() {
	for _, r := range s.pending {
		if r.action != listen {
			continue
		}
		if !s.joined {
			s.joined, s.database = true, s.host.Database()
			s.q.join(s)
		}
		s.waiting.mu.Lock()
		if s.waiting.subs[r.channel] == nil {
			if s.waiting.subs == nil {
				s.waiting.subs = map[string]*subscription{}
			}
			sub := &subscription{channel: r.channel, open: true}
			s.waiting.subs[r.channel] = sub
			s.opened = append(s.opened, sub)
		}
		s.waiting.mu.Unlock()
	}
}

// Committed carries out what waited for the commit of txn. UNLISTEN alone needs no transaction: nil.
func (s *Session) Committed(ctx context.Context, txn *kv.Txn) {
	if len(s.pending) == 0 {
		return
	}
	at := s.at
	if at.IsEmpty() && txn != nil {
		at = txn.CommitTimestamp()
	}
	s.q.slots.put(s.taken, true, time.Now())
	heard := len(s.opened) > 0
	s.waiting.mu.Lock()
	for _, sub := range s.opened {
		sub.after, sub.open = at, false
	}
	for _, r := range s.pending {
		switch sub := s.waiting.subs[r.channel]; r.action {
		case send:
			heard = heard || sub != nil
		case listen: // of a channel that the transaction has left before
			if sub == nil {
				s.waiting.subs[r.channel] = &subscription{channel: r.channel, after: at}
			}
		case unlisten:
			s.waiting.leave(r.channel)
		case unlistenAll:
			for c := range s.waiting.subs {
				s.waiting.leave(c)
			}
		}
	}
	left := len(s.waiting.subs) == 0
	s.waiting.mu.Unlock()
	s.forget()
	if left {
		s.leave()
	} else if heard {
		s.q.await(ctx, at, ownWait)
	}
}

// leave ends a subscription. The caller holds mu.
func (w *waiting) leave(channel string) {
	if sub := w.subs[channel]; sub != nil {
		sub.ended = true
		delete(w.subs, channel)
	}
}

// Undone forgets what the transaction asks for, after a rollback or a commit that has failed. unknown says that
// it may have committed all the same.
func (s *Session) Undone(unknown bool) {
	if len(s.pending) == 0 && len(s.opened) == 0 {
		return
	}
	s.q.slots.put(s.taken, !unknown, time.Now())
	s.waiting.mu.Lock()
	for _, sub := range s.opened {
		s.waiting.leave(sub.channel)
	}
	left := len(s.waiting.subs) == 0
	s.waiting.mu.Unlock()
	s.forget()
	if left {
		s.leave()
	}
}

// UnlistenNow ends all at once: the session goes to another database.
func (s *Session) UnlistenNow() {
	s.waiting.mu.Lock()
	for c := range s.waiting.subs {
		s.waiting.leave(c)
	}
	s.waiting.mu.Unlock()
	s.leave()
}

// forget ends a commit.
func (s *Session) forget() {
	s.pending, s.sent, s.bytes = nil, nil, 0
	s.taken, s.opened, s.at = nil, nil, hlc.Timestamp{}
}

// leave says that the session listens no more.
func (s *Session) leave() {
	if s.joined {
		s.joined = false
		s.q.leave(s)
	}
}

// Close ends the session.
func (s *Session) Close() {
	s.Undone(true)
	s.leave()
	s.waiting.lose(errBehind)
}

// maxTaken bounds the notifications that Take returns at a time.
const maxTaken = 256

// Take appends notifications that wait to out, in order. The session is between transactions.
func (s *Session) Take(out []Notification) []Notification {
	if !s.joined {
		return out
	}
	return s.waiting.take(out, maxTaken)
}

// Waiting reports whether notifications wait. Any goroutine may call it.
func (s *Session) Waiting() bool { return s.waiting.any() }

// Channels lists what the session listens to, sorted.
func (s *Session) Channels() (names []string) {
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	for c, sub := range s.waiting.subs {
		if !sub.open {
			names = append(names, c)
		}
	}
	slices.Sort(names)
	return names
}

// deliver hands a notification to the session, unless it does not listen to the channel.
func (s *Session) deliver(n Notification, ts hlc.Timestamp) (wake bool) {
	first, over := s.waiting.add(n, ts)
	if over {
		s.lose(errBehind)
	}
	return first
}

// lose ends the session, which gets no notification any more.
func (s *Session) lose(why *pgerr.Error) {
	s.waiting.lose(why)
	s.host.Terminate(why)
}

// wakeConnection tells the connection that notifications wait.
func (s *Session) wakeConnection() {
	s.waiting.mu.Lock()
	wake := s.waiting.wake
	s.waiting.mu.Unlock()
	if wake != nil {
		wake()
	}
}
