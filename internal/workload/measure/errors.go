package measure

import (
	"fmt"
	"io"
	"sync"
)

// maxShownErrors bounds how many different errors are written while a run goes on.
const maxShownErrors = 10

// Errors are those of a run's operations: each is written once, and the first for which a
// thread gave up is kept. Its methods may be called at the same time.
type Errors struct {
	out    io.Writer
	mu     sync.Mutex
	shown  map[string]bool
	broken error
}

// NewErrors returns no errors yet; they are written to out.
func NewErrors(out io.Writer) *Errors { return &Errors{out: out, shown: map[string]bool{}} }

// Failed writes the error of an operation unless the like was written before.
func (e *Errors) Failed(op string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	line := op + ": " + err.Error()
	if e.shown[line] || len(e.shown) >= maxShownErrors {
		return
	}
	e.shown[line] = true
	fmt.Fprintln(e.out, line)
}

// GiveUp says why a thread gave up.
func (e *Errors) GiveUp(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken == nil {
		e.broken = err
	}
}

// Broken returns why the first thread gave up that did.
func (e *Errors) Broken() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.broken
}
