package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/explain"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/sessionvar"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Prepare parses and plans a statement under a name, "" being the unnamed one,
// which is replaced. A zero oid in paramTypes means that the type is inferred. n gets the
// warnings of the parser.
func (s *Session) Prepare(ctx context.Context, name, text string, paramTypes []uint32, n Noticer) (*prepared.Statement, error) {
	if err := s.ex.statements.Admit(name); err != nil {
		return nil, err
	}
	stmts, warnings, err := s.ex.parse(text)
	warn(n, warnings)
	if err != nil {
		return nil, err
	}
	if len(stmts) > 1 {
		return nil, pgerr.New(pgerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	p := &prepared.Statement{Name: name, Text: text, Reread: len(stmts) == 1}
	if len(stmts) == 1 {
		if p.Stmt, err = rewriteShow(stmts[0]); err != nil {
			return nil, err
		}
	}
	if p.Declared, err = s.declaredTypes(paramTypes); err != nil {
		return nil, err
	}
	if err := s.plan(ctx, p); err != nil {
		return nil, err
	}
	return p, s.ex.statements.Keep(p)
}

func (s *Session) declaredTypes(oids []uint32) ([]*types.T, error) {
	out := make([]*types.T, len(oids))
	for i, oid := range oids {
		if oid == 0 || oid == types.Unknown.Oid {
			continue
		}
		t, ok := s.ex.cats.TypeByOid(oid)
		if !ok {
			return nil, pgerr.New(pgerr.UndefinedObject, "type with OID %d does not exist", oid)
		}
		out[i] = t
	}
	return out, nil
}

// plan plans p, in the open transaction or one of its own.
func (s *Session) plan(ctx context.Context, p *prepared.Statement) error {
	if p.Stmt.AST == nil {
		return nil
	}
	if s.ex.txn.Failed() && !endsBlock(p.Stmt.AST) {
		return errFailedBlock()
	}
	if endsBlock(p.Stmt.AST) {
		return nil
	}
	c, err := s.planApart(p)
	if err != nil {
		return err
	}
	p.Planned(c, s.ex.resultColumns(c.Prep))
	if len(c.Prep.ParamTypes) > 0 {
		p.FixTypes()
	}
	return nil
}

// planApart plans p outside its execution.
func (s *Session) planApart(p *prepared.Statement) (*prepared.Plan, error) {
	ctx := s.ex.begin(p.Text)
	defer s.ex.end()
	s.ex.txn.Ensure()
	c, err := s.ex.planner.For(ctx, p, nil)
	if err != nil {
		err = s.ex.translate(ctx, err)
		s.ex.auditor.tellUnplanned(p, err)
		s.ex.txn.Fail(ctx)
	}
	return c, err
}

// resultColumns are the columns a statement returns, for Describe.
func (ex *executor) resultColumns(p *plan.Prepared) []plan.Column {
	switch st := p.Stmt.(type) {
	case *ast.Explain:
		return explain.Columns(st)
	case *ast.Show:
		return sessionvar.Columns(st.Name)
	case *ast.Split, *ast.Scatter, *ast.Inspect, *ast.ShowRanges, *ast.ShowZone, *ast.ShowObjects:
		return computedColumns(st)
	case *ast.Execute:
		return ex.statements.Columns(string(st.Name))
	case *ast.Fetch:
		if p, err := ex.portals.Named(string(st.Cursor)); err == nil && !st.Move {
			return p.Columns()
		}
		return nil
	}
	return p.Columns
}

// Revalidate reports why p can't be executed as its client knows it, if the catalog has
// changed since it was planned: 0A000 if its rows have.
func (s *Session) Revalidate(p *prepared.Statement) error {
	if s.ex.txn.Failed() || !s.ex.planner.Changed(p) {
		return nil // or the execution will tell
	}
	c, err := s.planApart(p)
	if err == nil {
		s.ex.statements.KeepPlan(p, c)
	}
	return err
}

// Statement returns a prepared statement.
func (s *Session) Statement(name string) (*prepared.Statement, error) {
	return s.ex.statements.Find(name)
}

// StatementBytes is Statement for a name that is not a string yet.
func (s *Session) StatementBytes(name []byte) (*prepared.Statement, error) {
	return s.ex.statements.FindBytes(name)
}

// CloseStatement forgets a prepared statement; an absent one is no error.
func (s *Session) CloseStatement(name string) { s.ex.statements.Close(name) }

// reparse parses the text of a prepared statement again, which must read as it did.
func (ex *executor) reparse(text string, escapes bool) (parser.Statement, error) {
	o := ex.stringOptions()
	o.Escapes, o.Warn, o.RefuseQuotes = escapes, false, false
	stmts, _, err := parser.ParseStrings(text, o)
	if err != nil {
		return parser.Statement{}, err
	}
	return rewriteShow(stmts[0])
}

func endsBlock(stmt ast.Statement) bool {
	switch stmt.(type) {
	case *ast.Commit, *ast.Rollback, *ast.RollbackTo:
		return true
	}
	return false
}

func errFailedBlock() error {
	return pgerr.New(pgerr.InFailedSQLTransaction,
		"current transaction is aborted, commands ignored until end of transaction block")
}
