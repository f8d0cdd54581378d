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
			p.collate(s.Fields[i].Collate)
		})
		p.w(")")
	case *CreateDomain:
		p.w("CREATE DOMAIN ")
		p.name(s.Name)
		p.w(" AS ")
		p.typeName(s.Type, false)
		p.collate(s.Collate)
		for _, c := range s.Constraints {
			p.w(" ")
			p.constraint(c)
		}
	case *CreateRange:
		p.w("CREATE TYPE ")
		p.name(s.Name)
		p.w(" AS RANGE ")
		p.definition(s.Params)
	case *CreateCast:
		p.w("CREATE CAST ")
		p.castTypes(s.From, s.To)
		switch {
		case s.Function != nil:
			p.w(" WITH FUNCTION ")
			p.routineRef(s.Function, Function)
		case s.Binary:
			p.w(" WITHOUT FUNCTION")
		default:
			p.w(" WITH INOUT")
		}
		p.opt(s.Context == 'a', " AS ASSIGNMENT")
		p.opt(s.Context == 'i', " AS IMPLICIT")
	case *DropCast:
		p.w("DROP CAST ")
		p.opt(s.IfExists, "IF EXISTS ")
		p.castTypes(s.From, s.To)
		p.opt(s.Cascade, " CASCADE")
		p.opt(s.Restrict, " RESTRICT")
	case *CreateCollation:
		p.w("CREATE COLLATION ")
		p.ifNotExists(s.IfNotExists)
		p.name(s.Name)
		if len(s.From) > 0 {
			p.w(" FROM ")
			p.dotted(s.From...)
			break
		}
		p.w(" ")
		p.definition(s.Params)
	case *AlterDomain:
		p.alterDomain(s)
	case *AlterComposite:
		p.w("ALTER TYPE ")
		p.name(s.Name)
		p.list(len(s.Cmds), func(i int) { p.attributeCmd(&s.Cmds[i]) })
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

func (p *printer) attributeCmd(c *AttributeCmd) {
	p.w([...]string{" ADD", " DROP", " ALTER", " RENAME"}[c.Kind])
	p.w(" ATTRIBUTE ")
	p.ifExists(c.IfExists)
	p.ident(c.Name)
	switch c.Kind {
	case AttributeRename:
		p.w(" TO ")
		p.ident(c.NewName)
	case AttributeAlter:
		p.w(" TYPE")
		fallthrough
	case AttributeAdd:
		p.w(" ")
		p.typeName(c.Type, false)
		p.collate(c.Collate)
	}
	p.opt(c.Cascade, " CASCADE")
	p.opt(c.Restrict, " RESTRICT")
}

func (p *printer) alterDomain(s *AlterDomain) {
	p.w("ALTER DOMAIN ")
	p.name(s.Name)
	switch s.Kind {
	case AlterDomainDefault:
		if s.X == nil {
			p.w(" DROP DEFAULT")
			return
		}
		p.w(" SET DEFAULT ")
		p.expr(s.X)
	case AlterDomainSetNotNull:
		p.w(" SET NOT NULL")
	case AlterDomainDropNotNull:
		p.w(" DROP NOT NULL")
	case AlterDomainAdd:
		p.w(" ADD ")
		p.constraint(s.Constraint)
	case AlterDomainDrop:
		p.w(" DROP CONSTRAINT ")
		p.ifExists(s.IfExists)
		p.ident(s.Con)
		p.opt(s.Cascade, " CASCADE")
	case AlterDomainRename:
		p.w(" RENAME CONSTRAINT ")
		p.ident(s.Con)
		p.w(" TO ")
		p.ident(s.NewName)
	case AlterDomainValidate:
		p.w(" VALIDATE CONSTRAINT ")
		p.ident(s.Con)
	}
}

// definition writes (name = value, ...), where values are optional.
func (p *printer) definition(list []Option) {
	p.w("(")
	p.list(len(list), func(i int) {
		p.ident(list[i].Name)
		if list[i].Value != nil {
			p.w(" = ")
			p.expr(list[i].Value)
		}
	})
	p.w(")")
}

func (p *printer) castTypes(from, to *TypeName) {
	p.w("(")
	p.typeName(from, false)
	p.w(" AS ")
	p.typeName(to, false)
	p.w(")")
}
