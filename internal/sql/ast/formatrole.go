package ast

import "strings"

// roleKindWords is indexed by RoleKind.
var roleKindWords = [...]string{"ROLE ", "USER ", "GROUP "}

// roleStmt prints the statements about roles and privileges.
func (p *printer) roleStmt(s Statement) {
	switch s := s.(type) {
	case *CreateRole:
		p.w("CREATE ", roleKindWords[s.Kind])
		p.ifNotExists(s.IfNotExists)
		p.role(s.Name)
		p.roleOptions(s.Options)
	case *AlterRole:
		p.alterRole(s)
	case *DropRole:
		p.w("DROP ", roleKindWords[s.Kind])
		p.ifExists(s.IfExists)
		p.roles(s.Names)
	case *ReassignOwned:
		p.w([...]string{"REASSIGN OWNED BY ", "DROP OWNED BY "}[btoi(s.Drop)])
		p.roles(s.Roles)
		if !s.Drop {
			p.w(" TO ")
			p.role(s.To)
		}
		p.cascade(s.Cascade)
	case *Grant:
		p.grant(s)
	case *AlterDefaultPrivileges:
		p.w("ALTER DEFAULT PRIVILEGES")
		if s.ForRoles != nil {
			p.w(" FOR ROLE ")
			p.roles(s.ForRoles)
		}
		if s.Schemas != nil {
			p.w(" IN SCHEMA ")
			p.idents(s.Schemas)
		}
		p.w(" ")
		p.grantDefaults(s.Grant)
	default:
		p.session(s)
	}
}

func (p *printer) roleOptions(list []Option) {
	for _, o := range list {
		p.w(" ")
		switch v := o.Value.(type) {
		case *BoolLit:
			p.w([...]string{"NO", ""}[btoi(v.Val)], strings.ToUpper(o.Name))
		case *Row:
			if o.Name == "role" {
				p.w("USER ") // which ALTER ROLE takes as well
			} else {
				p.w(strings.ToUpper(strings.ReplaceAll(o.Name, "_", " ")), " ")
			}
			p.list(len(v.Elems), func(i int) {
				if s, ok := v.Elems[i].(*StrLit); ok {
					p.ident(s.Val)
				}
			})
		default:
			p.w(strings.ToUpper(strings.ReplaceAll(o.Name, "_", " ")))
			p.clause(" ", o.Value)
		}
	}
}

func (p *printer) alterRole(s *AlterRole) {
	p.w("ALTER ", roleKindWords[s.Kind])
	p.ifExists(s.IfExists)
	if s.All {
		p.w("ALL")
	} else {
		p.role(s.Name)
	}
	p.optIdent(" RENAME TO ", s.NewName)
	p.optIdent(" IN DATABASE ", s.Database)
	if s.Set != nil {
		p.w(" ")
		p.setVar(s.Set)
	}
	p.roleOptions(s.Options)
}

// grantHead prints GRANT or REVOKE with the privileges.
func (p *printer) grantHead(s *Grant) {
	p.w([...]string{"GRANT ", "REVOKE "}[btoi(s.Revoke)])
	if s.Revoke && s.WithGrant {
		p.w([...]string{"GRANT", "ADMIN"}[btoi(s.OnRoles)], " OPTION FOR ")
	}
	p.list(len(s.Privileges), func(i int) {
		v := s.Privileges[i]
		switch v.Name {
		case "select", "references", "create", "alter system":
			p.w(v.Name)
		case "all":
			if len(s.Privileges) == 1 {
				p.w("ALL")
				break
			}
			p.ident(v.Name)
		default:
			p.ident(v.Name)
		}
		p.parenIdents(" ", v.Cols)
	})
}

func (p *printer) grant(s *Grant) {
	p.grantHead(s)
	switch {
	case s.OnRoles:
	case s.AllInSchema:
		p.w(" ON ALL ", s.Kind.String(), "S IN SCHEMA ")
		p.names(s.Names)
	default:
		p.w(" ON ", grantKindWord(s.Kind), " ")
		p.list(len(s.Names), func(i int) {
			if s.Kind == ObjParameter {
				for j, part := range strings.Split(s.Names[i].Table, ".") {
					if j > 0 {
						p.w(".")
					}
					p.ident(part)
				}
				return
			}
			p.name(s.Names[i])
			if s.FuncArgs != nil && s.FuncArgs[i] != nil {
				p.types(s.FuncArgs[i])
			}
		})
	}
	p.grantTail(s)
}

// grantKindWord returns the words for a kind of object in GRANT.
func grantKindWord(k ObjectKind) string {
	if k == ObjForeignServer {
		return "FOREIGN SERVER"
	}
	return k.String()
}

// grantDefaults prints the grant of ALTER DEFAULT PRIVILEGES.
func (p *printer) grantDefaults(s *Grant) {
	p.grantHead(s)
	p.w(" ON ", s.Kind.String(), "S")
	p.grantTail(s)
}

func (p *printer) grantTail(s *Grant) {
	p.w([...]string{" TO ", " FROM "}[btoi(s.Revoke)])
	p.roles(s.Roles)
	if s.WithGrant && !s.Revoke {
		p.w(" WITH ", [...]string{"GRANT", "ADMIN"}[btoi(s.OnRoles)], " OPTION")
	}
	if s.GrantedBy != nil {
		p.w(" GRANTED BY ")
		p.role(*s.GrantedBy)
	}
	p.cascade(s.Cascade)
}
