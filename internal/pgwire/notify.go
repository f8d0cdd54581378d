package pgwire

import (
	"github.com/lichendb/lichen/internal/pgwire/wire"
)

// notified is called when notifications begin to wait for the session. A connection that waits for its client's
// next statement sends them, a busy one does before its next ReadyForQuery. Any goroutine may call it.
func (c *conn) notified() {
	if !c.busy.Load() {
		c.wire.Interrupt()
	}
}

// notifyIdle sends what waits, once the connection does not count as busy any more: who adds to that later
// interrupts it. It reports whether the connection goes on.
func (c *conn) notifyIdle() bool {
	for n := -1; n != 0; {
		if n = c.appendNotifications(); n > 0 && !c.flush() {
			return false
		}
	}
	if c.deadline {
		_ = c.wire.SetReadDeadline(c.idleUntil) // which Resume has ended
	}
	return true
}

// sendNotifications sends what waits before ReadyForQuery, and reports whether the connection goes on.
func (c *conn) sendNotifications() bool {
	for c.appendNotifications() > 0 {
		if !c.flushIfLong() {
			return false
		}
	}
	return true
}

// appendNotifications appends some of the notifications that wait, if the session is between transactions, and
// returns how many.
func (c *conn) appendNotifications() int {
	c.notifications = c.ses.TakeNotifications(c.notifications[:0])
	n := len(c.notifications)
	for i := range c.notifications {
		m := &c.notifications[i]
		w := c.wire
		w.Begin(wire.NotificationResponse)
		w.Int32(m.PID)
		w.String(c.shown(m.Channel))
		w.String(c.shown(m.Payload))
		w.End()
	}
	if n > 0 {
		clear(c.notifications)
	}
	return n
}
