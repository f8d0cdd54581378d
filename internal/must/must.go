// Package must holds assertions: conditions that only a bug can break, never
// user input, damaged files or the network. A broken one panics with the
// message, which names the invariant (package and number) it checks.
package must

import "fmt"

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
