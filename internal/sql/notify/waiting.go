package notify

import (
	"sync"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

const (
	// maxWaiting bounds the notifications that wait for one session, in bytes.
	maxWaiting = 64 << 20
	// waitingOverhead is the charge of one that waits, beside its text.
	waitingOverhead = 64
)

// errBehind ends a session for which too many notifications wait, errGap one that has missed some.
var (
	errBehind = pgerr.New(pgerr.AdminShutdown, "terminating connection because too many notifications wait for it").
			WithHint("Read notifications as they come, and keep transactions in sessions that listen short.")
	errGap = pgerr.New(pgerr.AdminShutdown, "terminating connection because notifications may have been lost").
		WithDetail("The node could not read the notification queue for as long as that is kept.").
		WithHint("Connect again, LISTEN, and read what the notifications are about.")
)

// Notification is what a session gets.
type Notification struct {
	PID              int32 // of the session that sent it
	Channel, Payload string
}

// subscription is a channel that a session listens to.
type subscription struct {
	channel string
	// after is the timestamp from which on notifications count: that of the commit of LISTEN. open says that it
	// is not known yet.
	after hlc.Timestamp
	open  bool
	ended bool
}

// delivered is a notification that waits, with the subscription that it is for.
type delivered struct {
	Notification
	sub *subscription
	ts  hlc.Timestamp
}

func (d *delivered) size() int64 { return int64(len(d.Channel)+len(d.Payload)) + waitingOverhead }

// waiting is what waits for a session.
type waiting struct {
	mu      sync.Mutex
	subs    map[string]*subscription
	list    []delivered
	account quota.Account
	lost    *pgerr.Error
	wake    func()
}

// add adds a notification unless the session does not listen to its channel. first says that nothing waited
// before; over that it is one too many.
func (w *waiting) add(n Notification, ts hlc.Timestamp) (first, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sub := w.subs[n.Channel]
	if sub == nil || w.lost != nil || !sub.open && ts.Less(sub.after) {
		return false, false
	}
	d := delivered{n, sub, ts}
	if w.account.Used()+d.size() > maxWaiting || w.account.Grow(d.size()) != nil {
		w.dropLocked()
		return false, true
	}
	w.list = append(w.list, d)
	return len(w.list) == 1, false
}

func (w *waiting) dropLocked() {
	w.list = nil
	w.account.Close()
}

// take moves up to n of what waits to out.
func (w *waiting) take(out []Notification, n int) []Notification {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := 0
	for ; i < len(w.list) && len(out) < n; i++ {
		d := &w.list[i]
		w.account.Shrink(d.size())
		if !d.sub.ended && !d.sub.open && !d.ts.Less(d.sub.after) {
			out = append(out, d.Notification)
		}
		*d = delivered{}
	}
	if w.list = w.list[i:]; len(w.list) == 0 {
		w.dropLocked()
	}
	return out
}

// any reports whether something waits.
func (w *waiting) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.list) > 0
}

// lose notes why the session must end.
func (w *waiting) lose(why *pgerr.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = why
	w.dropLocked()
}
