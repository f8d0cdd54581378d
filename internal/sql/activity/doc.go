// Package activity holds what a session runs at present: the goroutine that runs statements records it,
// other goroutines see it and end it.
//
// sql calls it: a session has a Current, which it tells where statements begin and end. Requests to
// cancel, timeouts and the end of the node reach the statement through its Context; what waits for the
// client learns of them by OnInterrupt. Read current.go (Current), context.go (Context), redact.go (texts
// without passwords).
//
//	         Begin                   Interrupt, Stop, timeout
//	idle ─────────────▶ running ───────────────────────────────▶ running, its Context ended
//	  ▲                    │ End                                          │ End
//	  └────────────────────┴──────────────────────────────────────────────┘
//
// Invariants:
//
//  1. What ends a statement ends no later one: a Context that has ended, or that a timer may end, serves
//     no other statement (Current.Begin, End; TestInterruptEndsOneStatement).
//
//  2. A session that was terminated begins no statement that goes on (Current.Begin; TestTerminate).
//
//  3. No other session sees a password in the text of a statement (Redacted; TestRedacted).
//
// Begin and End belong to the session's goroutine; everything else may come from any.
package activity
