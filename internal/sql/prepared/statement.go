package prepared

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Statement is a prepared statement of a session, or one that is executed once. Its plan is made
// anew when the catalog changes.
type Statement struct {
	Name string
	Text string
	// Connection is free for the connection that serves the session.
	Connection any
	// Stats is where its executions are counted; nil before the first.
	Stats *stmtstats.Entry

	// Stmt is what was parsed; its AST is nil for an empty statement.
	Stmt parser.Statement
	// Declared are the types of parameters as the client declared them; nil entries are inferred.
	Declared []*types.T
	// Domains are the parameters that PREPARE declares to be of domains.
	Domains []DomainParam
	// Parameterized says that literals have become parameters.
	Parameterized bool
	// NoParams refuses parameters beyond Declared: the statement came without a client that
	// supplies them.
	NoParams bool
	// RowKeys asks for the keys of the rows too: see planner.Env.RowKeys.
	RowKeys bool
	// Variables are what names in it stand for beside columns: it is a statement of a function's body.
	Variables *planner.Variables
	// Apart says that other sessions do not share its plan.
	Apart bool
	// FromSQL says that PREPARE made it.
	FromSQL bool
	// Reread says that Stmt can be parsed again from Text.
	Reread bool

	key   key
	plan  *Plan
	types []*types.T // of parameters, resolved; fixed once it is planned
	cols  []plan.Column
	made  time.Time // of a named one
	// held are the bytes accounted for a named one, planHeld those for its plan.
	held, planHeld int64
	thin           bool // its tree was dropped
}

// DomainParam is a parameter that PREPARE declares to be of a domain, or of an array of one.
// Within the statement it is of the type below.
type DomainParam struct {
	N  int
	As *ast.TypeName
}

// ParamTypes returns the types of $1, $2, ...
func (p *Statement) ParamTypes() []*types.T { return p.types }

// Columns describe the rows the statement returns; nil if it returns none.
func (p *Statement) Columns() []plan.Column { return p.cols }

// Plan returns the plan by which p is executed next; nil if it has none.
func (p *Statement) Plan() *Plan { return p.plan }

// Made returns when a named statement was prepared.
func (p *Statement) Made() time.Time { return p.made }

// Kind is what statements have in common that differ in their parameters only.
func (p *Statement) Kind() string {
	if p.Parameterized {
		return p.Stmt.SQL
	}
	return p.Text
}

// Planned gives a statement its first plan, and the columns described to its client.
func (p *Statement) Planned(c *Plan, cols []plan.Column) {
	p.plan, p.types, p.cols = c, c.Prep.ParamTypes, cols
}

// Failure returns what planning a query for execution fails with: PostgreSQL does that when it
// binds, and runs other statements, with the queries in them, later.
func (p *Statement) Failure() error {
	if p.plan == nil {
		return nil
	}
	switch p.Stmt.AST.(type) {
	case *ast.Select, *ast.Insert, *ast.Update, *ast.Delete, *ast.Merge:
		return p.plan.Prep.Failure()
	}
	return nil
}

// FixTypes has later plans keep the types of parameters described to the client.
func (p *Statement) FixTypes() { p.Declared = p.types }

// DomainArg makes an argument of EXECUTE checked by the domain of its parameter.
func (p *Statement) DomainArg(n int, arg ast.Expr) ast.Expr {
	for _, d := range p.Domains {
		if d.N == n {
			return &ast.Cast{Loc: ast.Loc{Pos: arg.Position()}, X: arg, Type: d.As}
		}
	}
	return arg
}

// Explained is EXPLAIN of the prepared statement instead of EXECUTE.
func (p *Statement) Explained(st *ast.Explain) *Statement {
	e := &Statement{Text: p.Text, Stmt: p.Stmt, Declared: p.types}
	e.Stmt.AST = &ast.Explain{Loc: st.Loc, Options: st.Options, Stmt: p.Stmt.AST}
	e.Stmt.SQL = "EXPLAIN " + p.Stmt.SQL
	return e
}
