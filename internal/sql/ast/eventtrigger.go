package ast

import "strings"

// CreateEventTrigger is CREATE EVENT TRIGGER.
type CreateEventTrigger struct {
	Loc
	Name    Name
	Event   Name
	Filters []EventFilter
	Func    TableName
}

// EventFilter is name IN (values), of WHEN.
type EventFilter struct {
	Name   Name
	Values []string
}

// AlterEventTrigger is ALTER EVENT TRIGGER: one of the forms.
type AlterEventTrigger struct {
	Loc
	Name Name
	// Enabled is a value of pg_event_trigger.evtenabled, 0 for another form.
	Enabled byte
	NewName Name
	Owner   *RoleSpec
}

func (*CreateEventTrigger) stmtNode() {}
func (*AlterEventTrigger) stmtNode()  {}

// Tag implements Statement.
func (s *CreateEventTrigger) Tag() string { return "CREATE EVENT TRIGGER" }

// Tag implements Statement.
func (s *AlterEventTrigger) Tag() string { return "ALTER EVENT TRIGGER" }

// eventTriggerStmt prints the statements about event triggers.
func (p *printer) eventTriggerStmt(s Statement) {
	switch s := s.(type) {
	case *CreateEventTrigger:
		p.w("CREATE EVENT TRIGGER ")
		p.ident(s.Name)
		p.w(" ON ")
		p.ident(s.Event)
		for i, f := range s.Filters {
			p.w([...]string{" WHEN ", " AND "}[btoi(i > 0)])
			p.ident(f.Name)
			quoted := make([]string, len(f.Values))
			for j, v := range f.Values {
				quoted[j] = QuoteLiteral(v)
			}
			p.w(" IN (", strings.Join(quoted, ", "), ")")
		}
		p.w(" EXECUTE FUNCTION ")
		p.name(s.Func)
		p.w("()")
	case *AlterEventTrigger:
		p.w("ALTER EVENT TRIGGER ")
		p.ident(s.Name)
		switch s.Enabled {
		case 'O':
			p.w(" ENABLE")
		case 'D':
			p.w(" DISABLE")
		case 'R':
			p.w(" ENABLE REPLICA")
		case 'A':
			p.w(" ENABLE ALWAYS")
		}
		p.optIdent(" RENAME TO ", s.NewName)
		if s.Owner != nil {
			p.w(" OWNER TO ")
			p.role(*s.Owner)
		}
	}
}
