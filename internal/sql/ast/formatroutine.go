package ast

// routineStmt prints the statements about functions and procedures.
func (p *printer) routineStmt(s Statement) {
	switch s := s.(type) {
	case *CreateRoutine:
		p.createRoutine(s)
	case *CreateAggregate:
		p.createAggregate(s)
	case *CreateOperator:
		p.createOperator(s)
	case *DropRoutine:
		p.w("DROP ", s.Kind.String(), " ")
		p.ifExists(s.IfExists)
		p.list(len(s.Refs), func(i int) { p.routineRef(&s.Refs[i], s.Kind) })
		p.cascade(s.Cascade)
		p.opt(s.Restrict, " RESTRICT")
	case *AlterRoutine:
		p.w("ALTER ", s.Kind.String(), " ")
		p.routineRef(&s.Ref, s.Kind)
		p.routineOptions(s.Options)
		if s.Set != nil {
			p.w(" SET (")
			p.list(len(s.Set), func(i int) { p.aggregateOption(&s.Set[i]) })
			p.w(")")
		}
		p.optIdent(" RENAME TO ", s.NewName)
		p.optIdent(" SET SCHEMA ", s.NewSchema)
		p.optIdent(" DEPENDS ON EXTENSION ", s.Extension)
		if s.Owner != nil {
			p.w(" OWNER TO ")
			p.role(*s.Owner)
		}
	}
}

func (p *printer) createRoutine(s *CreateRoutine) {
	p.w("CREATE ")
	p.opt(s.OrReplace, "OR REPLACE ")
	p.w(s.Kind.String(), " ")
	p.name(s.Name)
	columns := len(s.Params)
	for columns > 0 && s.Params[columns-1].Mode == ParamTable {
		columns--
	}
	p.w("(")
	p.list(columns, func(i int) { p.routineParam(&s.Params[i]) })
	p.w(")")
	if s.Returns != nil {
		p.w(" RETURNS ")
		p.typeName(s.Returns, false)
	}
	if s.Table {
		p.w(" RETURNS TABLE (")
		p.list(len(s.Params)-columns, func(i int) { p.routineParam(&s.Params[columns+i]) })
		p.w(")")
	}
	p.routineOptions(s.Options)
	p.routineBody(s.Body)
}

func (p *printer) routineBody(b *RoutineBody) {
	switch {
	case b == nil:
	case b.Return != nil:
		p.w(" RETURN ")
		p.expr(b.Return)
	default:
		p.w(" BEGIN ATOMIC ")
		for _, s := range b.Stmts {
			p.stmt(s)
			p.w("; ")
		}
		p.w("END")
	}
}

var paramModes = map[byte]string{ParamIn: "IN ", ParamOut: "OUT ", ParamInOut: "INOUT ", ParamVariadic: "VARIADIC "}

func (p *printer) routineParam(r *RoutineParam) {
	if r.Stated {
		p.w(paramModes[r.Mode])
	}
	if r.Name != "" {
		p.ident(r.Name)
		p.w(" ")
	}
	p.typeName(r.Type, false)
	if r.Default != nil {
		p.w(" DEFAULT ")
		p.expr(r.Default)
	}
}

func (p *printer) routineRef(r *RoutineRef, k RoutineKind) {
	if k == OwnOperator {
		operands := make([]*TypeName, len(r.Params))
		for i := range r.Params {
			operands[i] = r.Params[i].Type
		}
		p.operatorRef(r.Name, r.Prefix, operands)
		return
	}
	p.name(r.Name)
	if k == Aggregate {
		p.aggregateArgs(&AggregateArgs{Star: r.Star, Params: r.Params[:r.Direct], Ordered: r.Params[r.Direct:]})
		return
	}
	if !r.Bare {
		p.w("(")
		p.list(len(r.Params), func(i int) { p.routineParam(&r.Params[i]) })
		p.w(")")
	}
}

func (p *printer) routineOptions(list []RoutineOption) {
	for i := range list {
		p.w(" ")
		p.routineOption(&list[i])
	}
}

func (p *printer) routineOption(o *RoutineOption) {
	switch o.Name {
	case "as":
		p.w("AS ")
		p.str(o.Text)
		if o.Text2 != "" {
			p.w(", ")
			p.str(o.Text2)
		}
	case "language":
		p.w("LANGUAGE ")
		p.str(o.Text)
	case "strict":
		p.w([...]string{"CALLED ON NULL INPUT", "STRICT"}[btoi(o.On)])
	case "leakproof":
		p.w([...]string{"NOT LEAKPROOF", "LEAKPROOF"}[btoi(o.On)])
	case "volatility":
		p.w(o.Text)
	case "security":
		p.w("SECURITY ", o.Text)
	case "cost", "rows":
		p.w(o.Name, " ")
		p.expr(o.Value)
	case "parallel":
		p.w("PARALLEL ")
		p.ident(o.Text)
	case "set":
		p.stmt(o.Set)
	case "window":
		p.w("WINDOW")
	}
}
