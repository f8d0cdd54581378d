package sql

import (
	"strings"
	"time"

	rules "github.com/lichendb/lichen/internal/config/audit"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/audit"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/identity"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/settings"
)

// auditing is what an execution keeps for the audit log.
type auditing struct {
	on      bool
	planned *plan.Prepared
	// changed are the relations that it has changed in the catalog.
	changed []*catalog.Table
	answer  string // command tag
}

// auditor tells the audit log what a session does.
type auditor struct {
	srv  *Server
	conn *connection
	who  *identity.Session
	coll *catalog.Collection
	vals *settings.Values
}

// auditRulesSetting is the cluster setting that holds the rules of the audit log.
const auditRulesSetting = "sql.log.user_audit"

// toldOf is what the audit log says of an execution if the rules let it.
type toldOf struct {
	on    bool
	rules rules.Rules
	began time.Time
}

// audit begins to note what the statement does, if rules may tell it.
func (x *execution) audit() (t toldOf) {
	if x.ex.who.Internal() {
		return t
	}
	rs := x.ex.srv.audit.Rules()
	if rs == nil && !changesAuditRules(x.prepared.Stmt.AST) {
		return t
	}
	x.auditing = auditing{on: true}
	return toldOf{on: true, rules: rs, began: time.Now()}
}

// changesAuditRules reports whether a statement changes the rules of the audit log.
func changesAuditRules(stmt ast.Statement) bool {
	st, ok := stmt.(*ast.SetClusterSetting)
	return ok && (st.Name == auditRulesSetting || st.Name == auditRulesSetting+".constants")
}

// tell tells the audit log what the statement has done that ended with err.
func (t *toldOf) tell(x *execution, err error) {
	denied := err != nil && pgerr.CodeOf(err) == pgerr.InsufficientPrivilege
	if !t.on || x.auditing.planned == nil && !denied { // nothing was done
		return
	}
	stmt := &x.prepared.Stmt
	st := x.ex.auditor.statement(ownText(x.prepared), t.began)
	st.Strings.Escapes = stmt.Escapes
	st.Answer, st.OfRules, st.Within = x.auditing.answer, changesAuditRules(stmt.AST), x.within != nil
	if x.auditing.planned != nil {
		st.Accesses = x.accesses()
	}
	if err != nil {
		st.Answer, st.Code = "", string(pgerr.From(err).Code)
	}
	if denied {
		st.Accesses = append(st.Accesses, x.ex.auditor.denied(err))
	}
	x.ex.srv.audit.Tell(t.rules, &st)
}

// TellRefused tells the audit log of a login that came to nothing. The role need not exist.
func (s *Server) TellRefused(user, database, client string, err error) {
	e := pgerr.From(err)
	s.audit.TellLogin(&audit.Login{
		User:     rules.User{Name: user, MemberOf: func(role string) bool { return s.MemberOf(user, role) }},
		Database: database, Client: client, Code: string(e.Code), Error: e.Message,
	})
}

// denied is what the audit log says of an attempt for which a privilege is missing.
func (a *auditor) denied(err error) audit.Access {
	out := audit.Access{Actions: rules.Denied}
	if t, ok := a.coll.Known(catalog.ID(pgerr.From(err).Denied)).(*catalog.Table); ok {
		out.On = audit.Name(a.coll, t)
	}
	return out
}

// tellUnplanned tells the audit log of a statement that was refused, for want of privileges, when its client had it
// prepared: it is not executed then.
func (a *auditor) tellUnplanned(p *prepared.Statement, err error) {
	if a.who.Internal() || pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
		return
	}
	rs := a.srv.audit.Rules()
	if rs == nil {
		return
	}
	st := a.statement(ownText(p), time.Now())
	st.Strings.Escapes, st.Code = p.Stmt.Escapes, string(pgerr.InsufficientPrivilege)
	st.Accesses = []audit.Access{a.denied(err)}
	a.srv.audit.Tell(rs, &st)
}

// tellQuery tells the audit log of a query that begins: of a cursor, or of a function. text returns the query's.
func (a *auditor) tellQuery(prep *plan.Prepared, within bool, text func() string) {
	rs := a.srv.audit.Rules()
	if rs == nil || a.who.Internal() {
		return
	}
	st := a.statement(text(), time.Now())
	st.Accesses, st.Within = used(a.coll, prep.Uses), within
	a.srv.audit.Tell(rs, &st)
}

// statement is what the audit log says of any statement of the session.
func (a *auditor) statement(text string, began time.Time) audit.Statement {
	user := a.who.NameOf(a.who.SessionRole())
	return audit.Statement{
		User: rules.User{Name: user, MemberOf: func(role string) bool { return a.srv.MemberOf(user, role) }},
		Role: a.who.CurrentUser(), Login: a.who.NameOf(a.who.Login()), Database: a.conn.db.Name, Application: a.vals.Fast.ApplicationName,
		Client: a.conn.remote, Session: a.conn.id(a.srv), Began: began,
		Text: text[strings.LastIndexByte(text, 0)+1:], // behind what tells the statements of bodies from others
	}
}

// used returns what a plan does with which relations.
func used(c *catalog.Collection, uses []*access.Use) (out []audit.Access) {
	for _, u := range uses {
		if a := audit.Of(u); a != rules.None {
			out = append(out, audit.Access{On: audit.Name(c, u.Table), Actions: a})
		}
	}
	return out
}

// accesses returns what the statement has done with which relations.
func (x *execution) accesses() []audit.Access {
	p := x.auditing.planned
	out := used(x.ex.coll, p.Uses)
	var a rules.Actions
	switch root := p.Root.(type) {
	case *plan.DDL:
		a = audit.Changes(root.Stmt)
	case *plan.Utility:
		if _, ok := root.Stmt.(*ast.SetClusterSetting); ok || ddl.Handles(root.Stmt) {
			a = audit.Changes(root.Stmt)
		}
	}
	if a == rules.None {
		return out
	}
	for _, t := range x.auditing.changed {
		out = append(out, audit.Access{On: audit.Name(x.ex.coll, t), Actions: a})
	}
	if len(x.auditing.changed) == 0 {
		out = append(out, audit.Access{Actions: a})
	}
	return out
}

// answer ends the answer to the statement with its command tag.
func (x *execution) answer(tag string) error {
	x.auditing.answer = tag
	return x.res.Complete(tag)
}
