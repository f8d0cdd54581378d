package wire

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/lichendb/lichen/internal/quota"
)

// DroppedError says that there was no memory for a message. It was read and dropped, so that
// the connection goes on with the next one.
type DroppedError struct {
	Cause error // *quota.ExceededError
}

// Error implements error.
func (e *DroppedError) Error() string { return "message dropped: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *DroppedError) Unwrap() error { return e.Cause }

// dropped is a message that is being dropped.
type dropped struct {
	typ   byte
	left  int // bytes of it that are still to come
	cause error
}

// dropRest reads the rest of a message that is dropped. After an interruption it goes on.
func (c *Conn) dropRest() (byte, []byte, error) {
	for c.drop.left > 0 {
		if c.r == c.w {
			if err := c.need(1); err != nil {
				return c.drop.typ, nil, err
			}
		}
		n := min(c.w-c.r, c.drop.left)
		c.r += n
		c.drop.left -= n
	}
	return c.drop.typ, nil, &DroppedError{Cause: c.drop.cause}
}

func isExceeded(err error) bool {
	var e *quota.ExceededError
	return errors.As(err, &e)
}

// Text returns part of the body of the present message as a string, which is accounted for
// until nothing refers to it if it is long: *quota.ExceededError if there is no memory for it.
// That of most of a message takes the place of the message.
func (c *Conn) Text(b []byte) (string, error) {
	if len(b) < quota.LargeValue {
		return string(b), nil
	}
	mem := quota.NewValues(c.pool.Mem)
	if c.r == c.w && len(b) > len(c.in)/2 {
		s := unsafe.String(unsafe.SliceData(b), len(b))
		mem.Bind(s, c.inMem.Hand())
		c.in, c.r, c.w = nil, 0, 0
		return s, nil
	}
	if err := mem.Reserve(int64(len(b))); err != nil {
		return "", err
	}
	s := string(b)
	mem.Bind(s, int64(len(b)))
	return s, nil
}

// Reserve makes room for n bytes of output, of which a long message will take about as many:
// *quota.ExceededError if there is no memory for it.
func (c *Conn) Reserve(n int) error {
	room := cap(c.out) - len(c.out)
	if n < longOutput || n <= room {
		return nil
	}
	if err := c.outMem.Grow(int64(len(c.out) + n)); err != nil {
		return err
	}
	c.out = slices.Grow(c.out, n)
	return nil
}

// dropLongOutput gives up the buffer of a long message that was written.
func (c *Conn) dropLongOutput() {
	if cap(c.out) <= longOutput {
		return
	}
	if c.held != nil {
		c.out = c.held.b[:0]
	} else {
		c.out = nil
	}
	c.outMem.Close()
}
