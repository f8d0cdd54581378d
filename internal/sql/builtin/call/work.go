package call

import (
	"context"
	"strings"
	"unsafe"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// StepsPerCheck is how many steps of work lie between two looks at the statement's context: a
// step takes some nanoseconds, up to a microsecond.
const StepsPerCheck = 16 << 10

// Step counts n steps of a loop that may run long: 57014, or why else the statement ends,
// once that is cancelled. Every loop whose length is not bounded by a small number calls it.
func (c *Context) Step(n int) error {
	if c.steps += n; c.steps < StepsPerCheck {
		return nil
	}
	if c.stopped == nil {
		c.stopped = c.check()
	}
	if c.stopped == nil {
		c.steps = 0
	}
	return c.stopped
}

func (c *Context) check() error {
	if c.folding {
		if c.folded++; c.folded > foldChecks {
			return errFoldedLong
		}
	}
	if c.ended {
		return nil
	}
	return c.CheckCancel()
}

// Start begins a statement, or continues it.
func (c *Context) Start(ctx context.Context) {
	c.Ctx, c.stopped, c.steps, c.ended = ctx, nil, 0, false
}

// Stopped returns what Step has returned, after which functions that return no error leave
// their work undone.
func (c *Context) Stopped() error { return c.stopped }

// foldChecks bounds the work of a call that is computed while a statement is planned; what
// takes longer is computed when it runs, where it can be cancelled.
const foldChecks = 4

var errFoldedLong = pgerr.New(pgerr.ProgramLimitExceeded, "too long to compute while planning")

// Scratch is how many bytes a call is taken to need for each byte of its large arguments,
// its result included; those that make more of less call Reserve.
const Scratch = 2

// Reserve reserves n bytes that a call is about to allocate: 53200 if there are not as many.
func (c *Context) Reserve(n int) error {
	if n < quota.LargeValue {
		return nil
	}
	if c.folding {
		return errFoldedLong // a plan keeps no large values
	}
	return c.reserveAny(int64(n))
}

// reserveAny is Reserve for any size.
func (c *Context) reserveAny(n int64) error {
	if err := c.Values.Reserve(n); err != nil {
		e := pgerr.New(pgerr.OutOfMemory, "out of memory").WithDetail("%s", err.Error()).
			WithHint("Use smaller values, or raise --max-memory.")
		e.Cause = err
		return e
	}
	c.reserved += n
	return nil
}

// Large reports whether a value of so many bytes is accounted for by itself.
func Large(size int) bool { return size >= quota.LargeValue }

// Weighty reports whether a call must Begin: size are the bytes of its arguments.
func Weighty(size int) bool { return size >= WeightyBytes }

// WeightyBytes is the size from which on a call counts as more steps than its row.
const WeightyBytes = 4 << 10

// Begin counts the steps of a call with weighty arguments, of so many bytes in all, and
// reserves memory for it.
func (c *Context) Begin(args []types.Datum, size int) error {
	if err := c.Step(size); err != nil {
		return err
	}
	need := Scratch * size
	for _, d := range args {
		switch d.Family() {
		case types.JSONFamily:
			need += types.ParsedJSONSize(d.Str())
		case types.ArrayFamily:
			need += d.ArrayLen() * int(unsafe.Sizeof(d))
		}
	}
	return c.Reserve(need)
}

// BeginCast is Begin for the conversion of a weighty value.
func (c *Context) BeginCast(d types.Datum, to *types.T) error {
	if err := c.Step(len(d.Str())); err != nil {
		return err
	}
	need := Scratch * len(d.Str())
	if to.Oid == types.JSONB.Oid {
		need += types.ParsedJSONSize(d.Str())
	}
	if to.Family == types.ArrayFamily {
		need += (1 + strings.Count(d.Str(), ",")) * int(unsafe.Sizeof(d))
	}
	return c.Reserve(need)
}

// Made ends a call: the memory that it reserved is its result's from now on, as far as that
// is large and new, and otherwise free. args are what it was called with.
func (c *Context) Made(d types.Datum, err error, args []types.Datum) (types.Datum, error) {
	n := len(d.Str())
	if c.reserved == 0 && n < quota.LargeValue && c.stopped == nil {
		return d, err
	}
	return c.settle(d, err, args)
}

// EndStatement gives back what calls had reserved that did not end. Until Start, nothing ends
// because the statement's context did.
func (c *Context) EndStatement() {
	c.Values.Release(c.reserved)
	c.reserved, c.Bulky = 0, false
	c.stopped, c.steps, c.ended = nil, 0, true
}

func (c *Context) settle(d types.Datum, err error, args []types.Datum) (types.Datum, error) {
	reserved, n := c.reserved, int64(len(d.Str()))
	c.reserved, c.Bulky = 0, true
	if c.stopped != nil {
		err = c.stopped
	}
	if err != nil {
		c.Values.Release(reserved)
		return types.Null, err
	}
	if n < quota.LargeValue || within(d.Str(), args) {
		c.Values.Release(reserved)
		return d, nil
	}
	if c.folding {
		return types.Null, errFoldedLong
	}
	if n > reserved {
		if err := c.reserveAny(n - reserved); err != nil {
			c.Values.Release(reserved)
			return types.Null, err
		}
		reserved, c.reserved = n, 0
	}
	c.Values.Release(reserved - n)
	c.Values.Bind(d.Str(), n)
	return d, nil
}

// within reports whether s lies in the memory of one of args.
func within(s string, args []types.Datum) bool {
	at := uintptr(unsafe.Pointer(unsafe.StringData(s)))
	for _, a := range args {
		from := uintptr(unsafe.Pointer(unsafe.StringData(a.Str())))
		if len(a.Str()) > 0 && at >= from && at < from+uintptr(len(a.Str())) {
			return true
		}
	}
	return false
}
