package ast

// typeStmt prints statements about types.
func (p *printer) typeStmt(s Statement) {
	switch s := s.(type) {
	case *CreateComposite:
		p.w("CREATE TYPE ")
		p.name(s.Name)
		p.w(" AS (")
		p.list(len(s.Fields), func(i int) {
			p.ident(s.Fields[i].Name)
			p.w(" ")
			p.typeName(s.Fields[i].Type, false)
			if s.Fields[i].Collate != nil {
				p.w(" COLLATE ")
				p.dotted(s.Fields[i].Collate...)
			}
		})
		p.w(")")
	case *CreateDomain:
		p.w("CREATE DOMAIN ")
		p.name(s.Name)
		p.w(" AS ")
		p.typeName(s.Type, false)
		if s.Collate != nil {
			p.w(" COLLATE ")
			p.dotted(s.Collate...)
		}
		for _, c := range s.Constraints {
			p.w(" ")
			p.constraint(c)
		}
	case *AlterEnum:
		p.w("ALTER TYPE ")
		p.name(s.Name)
		if s.Rename {
			p.w(" RENAME VALUE ")
			p.str(s.Label)
			p.w(" TO ")
			p.str(s.NewLabel)
			return
		}
		p.w(" ADD VALUE ")
		p.ifNotExists(s.IfNotExists)
		p.str(s.Label)
		if s.Before || s.After {
			p.w(map[bool]string{true: " BEFORE ", false: " AFTER "}[s.Before])
			p.str(s.Neighbor)
		}
	}
}
