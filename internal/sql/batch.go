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

// batch is the statements of one simple query that share an implicit transaction. When a
// conflict ends that, they are run again from where it began, while nothing of their
// results was sent.
type batch struct {
	s    *Session
	res  BatchHolder // nil: what was answered can't be taken back
	text string
	// first is the statement that began the transaction.
	first int
	// fixed says that a statement since then did more than read and write rows.
	fixed bool
	replays
}

// runBatch runs several statements of a simple query.
func (s *Session) runBatch(stmts []parser.Statement, text string, res Results) error {
	b := batch{s: s, text: text}
	if h, ok := res.(BatchHolder); ok {
		b.res = h
		defer h.UnmarkBatch()
	}
	for i := 0; i < len(stmts); i++ {
		stmt, err := rewriteShow(stmts[i])
		if err != nil {
			s.txn.Fail(context.Background())
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
	if !b.s.txn.Open() && b.res != nil {
		if b.first != i {
			b.attempt = 0
		}
		b.first, b.fixed = i, false
		b.res.MarkBatch(maxHeld)
	}
	if b.s.txn.InBlock() || !changesRowsOnly(stmt) {
		b.fixed = true
	}
}

// changesRowsOnly reports whether a rollback takes back all that a statement does.
func changesRowsOnly(stmt ast.Statement) bool {
	switch stmt.(type) {
	case *ast.Select, *ast.Insert, *ast.Update, *ast.Delete, *ast.Merge:
		return true
	}
	return false
}

// again reports whether the statements are to be run again after a conflict, which has
// rolled their transaction back, and prepares that.
func (b *batch) again() bool {
	return b.res != nil && !b.fixed && b.next(b.s, b.text) && b.res.RewindBatch()
}
