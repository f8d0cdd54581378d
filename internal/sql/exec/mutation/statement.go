package mutation

import "github.com/lichendb/lichen/internal/sql/exec/operator"

// Statement is what the operators share that write rows for one statement. A referential action
// is a statement too, which leaves to the end of the one that caused it what it has to check.
type Statement struct {
	queue *afterQueue
	own   afterQueue // queue, unless this is a referential action
	done  bool       // the queue has been worked off
	// keys are those whose referring rows a referential action changes.
	keys *referredKeys
}

// NewStatement returns what the operators of one program share.
func NewStatement(r *operator.Run, compile actionCompiler) *Statement {
	st := &Statement{own: afterQueue{run: r, compile: compile}}
	st.queue = &st.own
	return st
}

// Start begins an execution.
func (st *Statement) Start() { st.done = false }

// Finish does what the statement left to its end, once.
func (st *Statement) Finish() error {
	if st.done || st.queue != &st.own {
		return nil
	}
	st.done = true
	return st.own.drain()
}

// Stop ends an execution: what was noted is dropped.
func (st *Statement) Stop() { st.own.reset(st.own.run) }
