package check

import (
	"fmt"
	"strings"
)

// maxShown limits the operations that an error prints.
const maxShown = 30

// Violation is the error of a checker that found what must not happen: the
// counterexample.
type Violation struct {
	Checker string
	Problem string // what is wrong, in a sentence
	Ops     []Op   // the operations that show it
}

// Error prints the problem and the operations that show it, one a line.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", v.Checker, v.Problem)
	for i, op := range v.Ops {
		if i == maxShown {
			fmt.Fprintf(&b, "\n  … and %d more", len(v.Ops)-maxShown)
			break
		}
		fmt.Fprintf(&b, "\n  %v", op)
	}
	return b.String()
}

// Undecided is the error of a checker that gave up: the history is neither
// good nor bad as far as it knows. The test asks too much of the checker.
type Undecided struct {
	Checker string
	Reason  string
}

// Error says why the checker gave up.
func (u *Undecided) Error() string {
	return fmt.Sprintf("%s: undecided: %s", u.Checker, u.Reason)
}
