package ast

// CreateAggregate is CREATE AGGREGATE.
type CreateAggregate struct {
	Loc
	OrReplace bool
	Name      TableName
	Args      AggregateArgs
	// Old says that there are no arguments: the option basetype has the type of the only one.
	Old     bool
	Options []AggregateOption
}

// AggregateArgs are the arguments of an aggregate, as statements about it name them.
type AggregateArgs struct {
	Star   bool // (*): none
	Params []RoutineParam
	// Ordered are those behind ORDER BY, of an ordered-set aggregate.
	Ordered []RoutineParam
}

// AggregateOption is name = value: one of the values is set, or none.
type AggregateOption struct {
	Loc
	Name     Name
	Value    Expr      // a number or a string
	Word     string    // NONE, true, false and other reserved words
	Type     *TypeName // a type, or the name of a function
	Operator *Operator
}

func (*CreateAggregate) stmtNode() {}

// Tag implements Statement.
func (s *CreateAggregate) Tag() string { return "CREATE AGGREGATE" }

func (p *printer) createAggregate(s *CreateAggregate) {
	p.w("CREATE ")
	p.opt(s.OrReplace, "OR REPLACE ")
	p.w("AGGREGATE ")
	p.name(s.Name)
	if !s.Old {
		p.aggregateArgs(&s.Args)
		p.w(" ")
	}
	p.w("(")
	p.list(len(s.Options), func(i int) { p.aggregateOption(&s.Options[i]) })
	p.w(")")
}

func (p *printer) aggregateArgs(a *AggregateArgs) {
	p.w("(")
	p.opt(a.Star, "*")
	p.list(len(a.Params), func(i int) { p.routineParam(&a.Params[i]) })
	if len(a.Ordered) > 0 {
		p.opt(len(a.Params) > 0, " ")
		p.w("ORDER BY ")
		p.list(len(a.Ordered), func(i int) { p.routineParam(&a.Ordered[i]) })
	}
	p.w(")")
}

func (p *printer) aggregateOption(o *AggregateOption) {
	p.ident(o.Name)
	switch {
	case o.Value != nil:
		p.w(" = ")
		p.expr(o.Value)
	case o.Type != nil:
		p.w(" = ")
		p.typeName(o.Type, false)
	case o.Operator != nil:
		p.w(" = ")
		p.operator(*o.Operator)
	case o.Word != "":
		p.w(" = ", o.Word)
	}
}

// Text is the value of the option as text, "" for none.
func (o *AggregateOption) Text() string {
	switch v := o.Value.(type) {
	case *StrLit:
		return v.Val
	case nil:
	default:
		return Format(v)
	}
	switch {
	case o.Type != nil:
		return o.Type.String()
	case o.Operator != nil:
		return o.Operator.Name
	}
	return o.Word
}
