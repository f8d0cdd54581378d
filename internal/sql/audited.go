package sql

import (
	"context"
	"strings"
	"time"

	rules "github.com/lichendb/lichen/internal/config/audit"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/audit"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/trace"
)

// auditing is what an execution keeps for the audit log.
type auditing struct {
	on      bool
	planned *plan.Prepared
	// changed are the relations that it has changed in the catalog.
	changed []*catalog.Table
	answer  string // command tag
}

// auditRulesSetting is the cluster setting that holds the rules of the audit log.
const auditRulesSetting = "sql.log.user_audit"

// run executes the statement, tells the audit log of it, and notes what it came to for the statistics.
func (x *execution) run(ctx context.Context) error {
	told, before, waited := x.audit(), x.s.entriesRead(), trace.WaitedOf(ctx)
	waitedBefore := waited.Total()
	ctx = x.beginTrace(ctx)
	err := x.execute(ctx)
	x.traced.end(err)
	told.tell(x, err)
	x.note(err, x.s.entriesRead()-before, waited.Total()-waitedBefore)
	return err
}

// toldOf is what the audit log says of an execution if the rules let it.
type toldOf struct {
	on    bool
	rules rules.Rules
	began time.Time
}

// audit begins to note what the statement does, if rules may tell it.
func (x *execution) audit() (t toldOf) {
	if x.s.internal {
		return t
	}
	rs := x.s.srv.audit.Rules()
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
	st := x.s.audited(ownText(x.prepared), t.began)
	st.Strings.Escapes = stmt.Escapes
	st.Answer, st.OfRules, st.Within = x.auditing.answer, changesAuditRules(stmt.AST), x.within != nil
	if x.auditing.planned != nil {
		st.Accesses = x.accesses()
	}
	if err != nil {
		st.Answer, st.Code = "", string(pgerr.From(err).Code)
	}
	if denied {
		st.Accesses = append(st.Accesses, x.s.denied(err))
	}
	x.s.srv.audit.Tell(t.rules, &st)
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
func (s *Session) denied(err error) audit.Access {
	a := audit.Access{Actions: rules.Denied}
	if t, ok := s.coll.Known(catalog.ID(pgerr.From(err).Denied)).(*catalog.Table); ok {
		a.On = audit.Name(s.coll, t)
	}
	return a
}

// tellUnplanned tells the audit log of a statement that was refused, for want of privileges, when its client had it
// prepared: it is not executed then.
func (s *Session) tellUnplanned(p *prepared.Statement, err error) {
	if s.internal || pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
		return
	}
	rs := s.srv.audit.Rules()
	if rs == nil {
		return
	}
	st := s.audited(ownText(p), time.Now())
	st.Strings.Escapes, st.Code = p.Stmt.Escapes, string(pgerr.InsufficientPrivilege)
	st.Accesses = []audit.Access{s.denied(err)}
	s.srv.audit.Tell(rs, &st)
}

// tellQuery tells the audit log of a query that begins: of a cursor, or of a function. text returns the query's.
func (s *Session) tellQuery(prep *plan.Prepared, within bool, text func() string) {
	rs := s.srv.audit.Rules()
	if rs == nil || s.internal {
		return
	}
	st := s.audited(text(), time.Now())
	st.Accesses, st.Within = used(s.coll, prep.Uses), within
	s.srv.audit.Tell(rs, &st)
}

// audited is what the audit log says of any statement of the session.
func (s *Session) audited(text string, began time.Time) audit.Statement {
	user := s.nameOf(s.sessionRole())
	return audit.Statement{
		User: rules.User{Name: user, MemberOf: func(role string) bool { return s.srv.MemberOf(user, role) }},
		Role: s.currentUser(), Login: s.nameOf(s.auth.login), Database: s.db.Name, Application: s.vals.Fast.ApplicationName,
		Client: s.remote, Session: s.sessionID(), Began: began,
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
	out := used(x.s.coll, p.Uses)
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
		out = append(out, audit.Access{On: audit.Name(x.s.coll, t), Actions: a})
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
