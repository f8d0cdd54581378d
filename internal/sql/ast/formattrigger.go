package ast

// triggerStmt prints the statements about triggers.
func (p *printer) triggerStmt(s Statement) {
	switch s := s.(type) {
	case *CreateTrigger:
		p.createTrigger(s)
	case *DropTrigger:
		p.w("DROP TRIGGER ")
		p.ifExists(s.IfExists)
		p.onTable(s.Name, s.Table)
		p.cascade(s.Cascade)
		p.opt(s.Restrict, " RESTRICT")
	case *AlterTriggerStmt:
		p.w("ALTER TRIGGER ")
		p.onTable(s.Name, s.Table)
		p.optIdent(" RENAME TO ", s.NewName)
		p.opt(s.No, " NO")
		p.optIdent(" DEPENDS ON EXTENSION ", s.Extension)
	}
}

func (p *printer) createTrigger(s *CreateTrigger) {
	p.w("CREATE ")
	p.opt(s.OrReplace, "OR REPLACE ")
	p.opt(s.Constraint, "CONSTRAINT ")
	p.w("TRIGGER ")
	p.ident(s.Name)
	p.w(" ", s.Timing.String(), " ")
	p.triggerEvents(s)
	p.w(" ON ")
	p.name(s.Table)
	if s.From != nil {
		p.w(" FROM ")
		p.name(*s.From)
	}
	p.opt(s.Attrs.NotDeferrable, " NOT DEFERRABLE")
	p.opt(s.Attrs.Deferrable, " DEFERRABLE")
	p.opt(s.Attrs.InitiallyDeferred, " INITIALLY DEFERRED")
	p.opt(s.Attrs.InitiallyImmediate, " INITIALLY IMMEDIATE")
	for i := range s.Transitions {
		t := &s.Transitions[i]
		p.opt(i == 0, " REFERENCING")
		p.w([...]string{" OLD ", " NEW "}[btoi(t.New)], [...]string{"TABLE AS ", "ROW AS "}[btoi(t.Row)])
		p.ident(t.Name)
	}
	p.w(" FOR EACH ", [...]string{"STATEMENT", "ROW"}[btoi(s.Row)])
	if s.When != nil {
		p.w(" WHEN (")
		p.expr(s.When)
		p.w(")")
	}
	p.w(" EXECUTE FUNCTION ")
	p.name(s.Func)
	p.w("(")
	p.list(len(s.Args), func(i int) { p.str(s.Args[i]) })
	p.w(")")
}

func (p *printer) triggerEvents(s *CreateTrigger) {
	first := true
	for i, name := range TriggerEventNames {
		e := TriggerEvents(1) << i
		if s.Events&e == 0 {
			continue
		}
		p.opt(!first, " OR ")
		p.w(name)
		if first = false; e == OnUpdate && s.Of != nil {
			p.w(" OF ")
			p.idents(s.Of)
		}
	}
}
