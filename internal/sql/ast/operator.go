package ast

// CreateOperator is CREATE OPERATOR.
type CreateOperator struct {
	Loc
	Name    TableName
	Options []AggregateOption
}

func (*CreateOperator) stmtNode() {}

// Tag implements Statement.
func (s *CreateOperator) Tag() string { return "CREATE OPERATOR" }

func (p *printer) createOperator(s *CreateOperator) {
	p.w("CREATE OPERATOR ")
	p.operatorName(s.Name)
	p.w(" (")
	p.list(len(s.Options), func(i int) { p.aggregateOption(&s.Options[i]) })
	p.w(")")
}

// operatorName prints the name of an operator, which is never quoted.
func (p *printer) operatorName(n TableName) {
	for _, part := range []Name{n.Catalog, n.Schema} {
		if part != "" {
			p.ident(part)
			p.w(".")
		}
	}
	p.w(n.Table)
}

// operatorRef prints an operator with its operands, as statements that change it have it.
func (p *printer) operatorRef(n TableName, prefix bool, operands []*TypeName) {
	p.operatorName(n)
	p.w(" (")
	p.opt(prefix, "NONE, ")
	p.list(len(operands), func(i int) { p.typeName(operands[i], false) })
	p.w(")")
}
