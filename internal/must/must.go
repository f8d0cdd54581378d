// Package must holds assertions: conditions that only a bug can break, never
// user input, damaged files or the network. A broken one panics with the
// message, which names the invariant (package and number) it checks. Report makes a
// panic the end of the process where what it leaves behind half done can't be trusted.
package must

import (
	"fmt"
	"runtime/debug"

	"github.com/lichendb/lichen/internal/plant"
)

// PanicError is a panic that Report met.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// True panics unless cond holds.
func True(cond bool, format string, args ...any) {
	if !cond {
		panic("assertion failed: " + fmt.Sprintf(format, args...))
	}
}

// NoError panics when err is not nil.
func NoError(err error, format string, args ...any) {
	if err != nil {
		panic("assertion failed: " + fmt.Sprintf(format, args...) + ": " + err.Error())
	}
}

// Report, deferred, tells fatal of a panic under way, as a PanicError, before anything
// further up runs or recovers. fatal ends the process; if it returns, or is nil, the panic
// goes on.
func Report(fatal func(error)) {
	if fatal == nil || plant.On(plant.PanicSurvived) {
		return
	}
	if p := recover(); p != nil {
		fatal(&PanicError{p, debug.Stack()})
		panic(p)
	}
}
