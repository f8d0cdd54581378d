package plan

import (
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// DDL wraps a statement that changes the catalog. Query is the planned query
// of CREATE TABLE AS, CREATE VIEW (to learn its columns) and SELECT INTO.
type DDL struct {
	Base
	Stmt  ast.Statement
	Query *Prepared
}

// Utility wraps a statement that the session executes from its syntax: BEGIN,
// SET, SHOW, PREPARE, VACUUM and so on.
type Utility struct {
	Base
	Stmt ast.Statement
}

// Copy is COPY. Input is the query or table read (TO), or the Insert over
// CopyRows (FROM).
type Copy struct {
	Base
	Stmt  ast.Statement
	From  bool
	Table *catalog.Table // nil for COPY (query) TO
	Input Node
	// Columns are the columns sent or expected, in order.
	Columns []Column
}

// Explain is EXPLAIN of a planned statement; Options are as written.
type Explain struct {
	Base
	Stmt  ast.Statement
	Input Node
}

// Dep is a descriptor that a plan was made from.
type Dep = catalog.Dep

// Prepared is a planned statement. It is immutable and may be executed by many
// goroutines at once.
type Prepared struct {
	Stmt ast.Statement
	Root Node
	// ParamTypes are the types of $1, $2, ...
	ParamTypes []*types.T
	// Columns describe the rows sent to the client; nil if none are sent. Their
	// IDs are columns of Root, which may produce more (hidden sort keys).
	Columns []Column
	// RowTable is set of a cursor's query whose rows are those of one table each: the
	// last RowKey of Columns are the key of the table's row, and not for the client.
	RowTable *catalog.Table
	RowKey   int
	// Uses are what the statement does with relations: whoever runs it needs the privileges. Stored says that it
	// is not run but part of a definition, which takes none.
	Uses   []*access.Use
	Stored bool
	// Deps are the descriptors the plan depends on.
	Deps []Dep
	// NextCol is the first unused column identifier.
	NextCol ColID
	// Modifies says that the statement writes rows or locks them.
	Modifies bool
	// CallsRoutines says that it calls functions of users, which run statements while it runs.
	CallsRoutines bool
	// Procedure is what CALL calls: Root makes the row of its arguments, Columns are its outputs.
	Procedure *call.Overload
	// Uncacheable says that the plan holds values that were folded from the
	// session's state, so that it must not be reused.
	Uncacheable bool
	// ByValues says that the plan depends on the values of parameters: each execution has
	// its own, and one that was made without them says what the statement returns only.
	ByValues bool
	// Failed, if not nil, is what any execution fails with (Failure): a constant that can't be
	// computed, or else a lock on rows that may not be there, or an ON CONFLICT without an index.
	Failed *pgerr.Error
	// Guessed says that costs would be estimated better with the values of parameters.
	Guessed bool
	// Weighed says that the values of parameters were used to estimate costs: the plan is
	// right for others, but may be a bad one for them.
	Weighed bool
}

// Failure returns what any execution of p fails with as it begins, nil for most statements.
func (p *Prepared) Failure() error {
	if p.Failed == nil {
		return nil
	}
	e := *p.Failed // callers add to it
	return &e
}
