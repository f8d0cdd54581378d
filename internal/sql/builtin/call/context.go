package call

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/jsonpath"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Context is what a call may need at run time. One belongs to a session (or to
// one goroutine of a statement); the session sets the times per statement.
// A zero Context serves constant folding of immutable functions.
type Context struct {
	// Ctx is cancelled when the statement is; nil means it cannot be.
	Ctx context.Context
	// Format holds the session settings that text forms depend on: time zone,
	// date style, interval style, extra_float_digits. Nil means the defaults.
	Format *types.FormatContext
	// StmtTime and TxnTime are statement_timestamp() and now(), in microseconds
	// since 2000-01-01 UTC.
	StmtTime int64
	TxnTime  int64
	// Now reads the wall clock; nil means time.Now.
	Now func() time.Time
	// Session serves functions about the session and the catalog; nil makes
	// them fail with 0A000.
	Session Session

	// Values accounts for large values that calls make; nil means without limit.
	Values *quota.Values
	// TriggerDepth is how many functions of triggers run, one within another; Transitions are the tables of the innermost one.
	TriggerDepth int
	Transitions  []Transition
	// Bulky is set by calls that take or return large values.
	Bulky bool

	rng      *rand.Rand
	regexps  regexpCache
	paths    map[string]*jsonpath.Path
	steps    int   // since the last look at Ctx
	stopped  error // what Step returns from now on
	ended    bool  // between statements
	folding  bool  // see Overload.Fold
	folded   int   // looks while folding
	reserved int64 // from Values, by the running call
}

// Folding returns a context to compute constants with while a statement is planned: see Overload.Fold.
func Folding() *Context { return &Context{folding: true} }

// Apart returns a context with the same settings and times that asks no session: to
// compute what does not depend on one.
func (c *Context) Apart() *Context {
	a := &Context{Ctx: c.Ctx, Format: types.NewFormatContext(), StmtTime: c.StmtTime, TxnTime: c.TxnTime, Now: c.Now, Values: c.Values}
	if c.Format != nil {
		*a.Format = *c.Format
	}
	a.Format.Step = a.Step
	return a
}

// ctx returns the statement's context.
func (c *Context) ctx() context.Context {
	if c.Ctx == nil {
		return context.Background()
	}
	return c.Ctx
}

// CheckCancel returns 57014 once the statement is cancelled; loops that may
// run long call it.
func (c *Context) CheckCancel() error {
	if c.Ctx == nil || c.Ctx.Err() == nil {
		return nil
	}
	return c.cancelCause()
}

// cancelCause returns why the statement's context ended: what the session says
// (a request, statement_timeout, a shutdown), else 57014.
func (c *Context) cancelCause() error {
	var pe *pgerr.Error
	if errors.As(context.Cause(c.ctx()), &pe) {
		return pe
	}
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}

// Random returns the session's generator, seeding it on first use.
func (c *Context) Random() *rand.Rand {
	if c.rng == nil {
		c.rng = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return c.rng
}

// SeedRandom is setseed(): the same seed gives the same sequence.
func (c *Context) SeedRandom(seed float64) {
	c.rng = rand.New(rand.NewPCG(uint64(int64(seed*(1<<62))), 0x9e3779b97f4a7c15))
}
