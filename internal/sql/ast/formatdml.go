package ast

func (p *printer) insert(s *Insert) {
	p.with(s.With)
	p.w([...]string{"INSERT", "UPSERT"}[btoi(s.Upsert)], " INTO ")
	p.tableRef(s.Table)
	if s.Cols != nil {
		p.w(" (")
		p.targets(s.Cols)
		p.w(")")
	}
	p.w([...]string{"", " OVERRIDING USER VALUE", " OVERRIDING SYSTEM VALUE"}[s.Overriding])
	if s.Source == nil {
		p.w(" DEFAULT VALUES")
	} else {
		p.w(" ")
		p.query(s.Source)
	}
	if s.OnConflict != nil {
		p.onConflict(s.OnConflict)
	}
	p.returning(s.Returning)
}

func (p *printer) targets(list []Target) {
	p.list(len(list), func(i int) {
		p.ident(list[i].Column)
		for _, step := range list[i].Path {
			if step.Index != nil {
				p.index(*step.Index)
				continue
			}
			p.w(".")
			p.ident(step.Field)
		}
	})
}

func (p *printer) onConflict(c *OnConflict) {
	p.w(" ON CONFLICT")
	if c.Target != nil {
		p.w(" ")
		p.indexElems(c.Target)
		p.clause(" WHERE ", c.TargetWhere)
	}
	p.optIdent(" ON CONSTRAINT ", c.Constraint)
	if c.DoNothing {
		p.w(" DO NOTHING")
		return
	}
	p.w(" DO UPDATE SET ")
	p.setClauses(c.Set)
	p.clause(" WHERE ", c.Where)
}

func (p *printer) returning(items []SelectItem) {
	if items != nil {
		p.w(" RETURNING ")
		p.items(items)
	}
}

func (p *printer) setClauses(list []SetClause) {
	p.list(len(list), func(i int) {
		c := list[i]
		p.opt(c.Multi, "(")
		p.targets(c.Targets)
		p.opt(c.Multi, ")")
		p.w(" = ")
		p.expr(c.X)
	})
}

func (p *printer) update(s *Update) {
	p.with(s.With)
	p.w("UPDATE ")
	p.tableRef(s.Table)
	p.w(" SET ")
	p.setClauses(s.Set)
	if s.From != nil {
		p.w(" FROM ")
		p.tableExprs(s.From)
	}
	p.clause(" WHERE ", s.Where)
	p.orderBy(s.OrderBy)
	p.clause(" LIMIT ", s.Limit)
	p.returning(s.Returning)
}

func (p *printer) delete(s *Delete) {
	p.with(s.With)
	p.w("DELETE FROM ")
	p.tableRef(s.Table)
	if s.Using != nil {
		p.w(" USING ")
		p.tableExprs(s.Using)
	}
	p.clause(" WHERE ", s.Where)
	p.orderBy(s.OrderBy)
	p.clause(" LIMIT ", s.Limit)
	p.returning(s.Returning)
}

func (p *printer) truncate(s *Truncate) {
	p.w("TRUNCATE TABLE ")
	p.tableRefs(s.Tables)
	p.opt(s.RestartIdentity, " RESTART IDENTITY")
	p.cascade(s.Cascade)
}

func (p *printer) tableRefs(list []TableRef) {
	p.list(len(list), func(i int) { p.tableRef(&list[i]) })
}
