package sql

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/notify"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// notifyHost is the session as its notifications see it. It implements notify.Host.
type notifyHost struct{ ex *executor }

// PID implements notify.Host.
func (h notifyHost) PID() int32 { return h.ex.conn.pid }

// Database implements notify.Host.
func (h notifyHost) Database() uint64 { return uint64(h.ex.conn.db.ID) }

// Terminate implements notify.Host.
func (h notifyHost) Terminate(why *pgerr.Error) { h.ex.current.Terminate(why) }

// notification executes LISTEN, UNLISTEN and NOTIFY, which take effect at the commit.
func (x *execution) notification(stmt ast.Statement) error {
	x.ex.txn.Ensure()
	n := &x.ex.pending.notify
	switch st := stmt.(type) {
	case *ast.Listen:
		return n.Listen(string(st.Channel))
	case *ast.Unlisten:
		if st.All {
			return n.UnlistenAll()
		}
		return n.Unlisten(string(st.Channel))
	case *ast.Notify:
		return n.Notify(string(st.Channel), st.Payload)
	}
	return nil
}

// Notification is what a session that listens gets.
type Notification = notify.Notification

// OnNotification sets what is called when notifications begin to wait for the session. Any goroutine calls f,
// which must not call the session.
func (s *Session) OnNotification(f func()) { s.ex.pending.notify.OnWaiting(f) }

// TakeNotifications appends notifications that wait to out, in order, if the session is between transactions:
// some of them if there are many.
func (s *Session) TakeNotifications(out []Notification) []Notification {
	if s.ex.txn.Open() || s.ex.txn.InBlock() {
		return out
	}
	return s.ex.pending.notify.Take(out)
}

// Notify implements call.Session.
func (f *sessionFuncs) Notify(channel, payload string) error {
	return f.ex.pending.notify.Notify(channel, payload)
}

// Listening implements call.Session.
func (f *sessionFuncs) Listening() []string { return f.ex.pending.notify.Channels() }

// NotificationQueueUsage implements call.Session.
func (f *sessionFuncs) NotificationQueueUsage() float64 { return f.ex.srv.notify.Usage() }
