package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/prepared"
)

// BatchHolder is implemented by results that can take back those of several statements.
type BatchHolder interface {
	// MarkBatch notes where the results of several statements begin, and makes the results
	// hold back up to that much output until UnmarkBatch. RewindBatch takes back what came
	// since the mark; false if some of it has been sent.
	MarkBatch(bytes int)
	RewindBatch() bool
	UnmarkBatch()
}

// batch is the statements of one simple query that share a transaction: an implicit one, or a
// block that begins in the query. When a conflict ends that, they are run again from where it
// began, while nothing of their results was sent.
type batch struct {
	s    *Session
	res  BatchHolder // nil: what was answered can't be taken back
	text string
	// first is the statement that began the transaction.
	first int
	// fixed says that the transaction began before the query, or that one of its statements did
	// more than read and write rows.
	fixed bool
	replays
}

// runBatch runs several statements of a simple query.
func (s *Session) runBatch(stmts []parser.Statement, text string, res Results) error {
	s.ex.txn.ImplicitBlock(true)
	defer s.ex.txn.ImplicitBlock(false)
	b := batch{s: s, text: text}
	if h, ok := res.(BatchHolder); ok {
		b.res = h
		defer h.UnmarkBatch()
	}
	for i := 0; i < len(stmts); i++ {
		stmt, err := rewriteShow(stmts[i])
		if err != nil {
			s.ex.txn.Fail(context.Background())
			return err
		}
		b.note(i, stmt.AST)
		p := &prepared.Statement{Text: text, Stmt: stmt, NoParams: true}
		conflict, err := s.runSimple(p, false, i == len(stmts)-1, res)
		if err == nil {
			continue
		}
		if !conflict || !b.again() {
			return err
		}
		i = b.first - 1
	}
	return nil
}

// note looks at the statement that comes next.
func (b *batch) note(i int, stmt ast.Statement) {
	switch {
	case !b.s.ex.txn.Open() && !b.s.ex.txn.InBlock() && b.res != nil:
		if b.first != i {
			b.attempt = 0
		}
		b.first, b.fixed = i, false
		b.res.MarkBatch(maxHeld)
	case i == 0:
		b.fixed = true
	}
	if !repeatable(stmt) {
		b.fixed = true
	}
}

// repeatable reports whether a rollback takes back all that a statement does, or it begins or
// ends the block that is rolled back.
func repeatable(stmt ast.Statement) bool {
	switch st := stmt.(type) {
	case *ast.Select, *ast.Insert, *ast.Update, *ast.Delete, *ast.Merge, *ast.Begin, *ast.Listen, *ast.Unlisten, *ast.Notify:
		return true
	case *ast.Commit:
		return !st.Chain
	}
	return false
}

// again reports whether the statements are to be run again after a conflict, which has
// rolled their transaction back, and prepares that.
func (b *batch) again() bool {
	if b.res == nil || b.fixed || !b.next(&b.s.ex, b.text) || !b.res.RewindBatch() {
		return false
	}
	b.s.endFailedBlock()
	return true
}
