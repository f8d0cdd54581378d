package activity

import (
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/trace"
)

// Context is the context of a statement: cancelled with an error that can be sent to a client as it is.
type Context struct {
	done chan struct{}
	err  atomic.Pointer[pgerr.Error]
	// looked, if not nil, is called when somebody looks whether the statement goes on: for tests.
	looked func()
	waited trace.Waited
}

func (c *Context) cancel(cause *pgerr.Error) {
	if c.err.CompareAndSwap(nil, cause) {
		close(c.done)
	}
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} {
	if c.looked != nil {
		c.looked()
	}
	return c.done
}

// Err implements context.Context; it returns the cause.
func (c *Context) Err() error {
	if c.looked != nil {
		c.looked()
	}
	return c.cause()
}

// cause is Err without a look.
func (c *Context) cause() error {
	if e := c.err.Load(); e != nil {
		return e
	}
	return nil
}

// Value implements context.Context: it says where waits for other transactions are summed.
func (c *Context) Value(key any) any {
	if key == (trace.WaitedKey{}) {
		return &c.waited
	}
	return nil
}
