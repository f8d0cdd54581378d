package ast

import "strconv"

// CreateStatistics is CREATE STATISTICS.
type CreateStatistics struct {
	Loc
	IfNotExists bool
	Name        TableName
	Kinds       []Name
	Elems       []IndexElem // a column or an expression each
	From        []TableExpr
}

// AlterStatistics is ALTER STATISTICS ... SET STATISTICS; the other forms are an AlterObject.
type AlterStatistics struct {
	Loc
	IfExists bool
	Name     TableName
	Target   int64
}

func (*CreateStatistics) stmtNode() {}
func (*AlterStatistics) stmtNode()  {}

// Tag implements Statement.
func (*CreateStatistics) Tag() string { return "CREATE STATISTICS" }

// Tag implements Statement.
func (*AlterStatistics) Tag() string { return "ALTER STATISTICS" }

func (p *printer) createStatistics(s *CreateStatistics) {
	p.w("CREATE STATISTICS ")
	p.ifNotExists(s.IfNotExists)
	p.name(s.Name)
	p.parenIdents(" ", s.Kinds)
	p.w(" ON ")
	p.list(len(s.Elems), func(i int) { p.indexElem(s.Elems[i]) })
	p.w(" FROM ")
	p.tableExprs(s.From)
}

func (p *printer) alterStatistics(s *AlterStatistics) {
	p.w("ALTER STATISTICS ")
	p.opt(s.IfExists, "IF EXISTS ")
	p.name(s.Name)
	p.w(" SET STATISTICS ", strconv.FormatInt(s.Target, 10))
}
