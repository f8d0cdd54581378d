package ast

import "strings"

// session prints the statements about transactions, settings and maintenance.
func (p *printer) session(s Statement) {
	switch s := s.(type) {
	case *Begin:
		p.w([...]string{"BEGIN", "START TRANSACTION"}[btoi(s.Start)])
		p.txnModes(s.Modes)
	case *Commit:
		p.w("COMMIT")
		p.opt(s.Chain, " AND CHAIN")
	case *Rollback:
		p.w("ROLLBACK")
		p.opt(s.Chain, " AND CHAIN")
	case *Savepoint:
		p.optIdent("SAVEPOINT ", s.Name)
	case *Release:
		p.optIdent("RELEASE SAVEPOINT ", s.Name)
	case *RollbackTo:
		p.optIdent("ROLLBACK TO SAVEPOINT ", s.Name)
	case *PrepareTxn:
		p.w(s.Tag(), " ")
		p.str(s.ID)
	case *SetVar:
		p.setVar(s)
	case *SetTransaction:
		p.setTransaction(s)
	case *SetConstraints:
		p.w("SET CONSTRAINTS ")
		p.opt(s.All, "ALL")
		p.names(s.Names)
		p.w([...]string{" IMMEDIATE", " DEFERRED"}[btoi(s.Deferred)])
	case *SetClusterSetting:
		p.w("SET CLUSTER SETTING ")
		p.settingName(s.Name)
		if s.Value == nil {
			p.w(" = DEFAULT")
		}
		p.clause(" = ", s.Value)
	case *Show:
		p.w("SHOW ")
		if s.Name == "all" {
			p.w("ALL")
			return
		}
		p.quotedSetting(s.Name)
	case *ShowObjects:
		p.showObjects(s)
	case *Use:
		p.optIdent("USE ", s.Database)
	case *Cancel:
		p.cancel(s)
	case *Discard:
		p.w("DISCARD ", s.Kind.String())
	case *Listen:
		p.optIdent("LISTEN ", s.Channel)
	case *Unlisten:
		p.allOr("UNLISTEN ", s.All, "*", s.Channel)
	case *Notify:
		p.optIdent("NOTIFY ", s.Channel)
		if s.Payload != "" {
			p.w(", ")
			p.str(s.Payload)
		}
	default:
		p.utility(s)
	}
}

func (p *printer) txnModes(m TxnModes) {
	sep := " "
	add := func(s string) {
		if s != "" {
			p.w(sep, s)
			sep = ", "
		}
	}
	if m.Isolation != IsolationDefault {
		add("ISOLATION LEVEL " + m.Isolation.String())
	}
	add([...]string{"", "READ ONLY", "READ WRITE"}[m.ReadOnly])
	add([...]string{"", "DEFERRABLE", "NOT DEFERRABLE"}[m.Deferrable])
	if m.Priority != "" {
		add("PRIORITY " + m.Priority)
	}
	p.clause(sep+"AS OF SYSTEM TIME ", m.AsOf)
}

func (p *printer) setTransaction(s *SetTransaction) {
	switch {
	case s.Session:
		p.w("SET SESSION CHARACTERISTICS AS TRANSACTION")
	case s.Local:
		p.w("SET LOCAL TRANSACTION")
	default:
		p.w("SET TRANSACTION")
	}
	if s.Modes == (TxnModes{}) {
		p.w(" SNAPSHOT ")
		p.str(s.Snapshot)
		return
	}
	p.txnModes(s.Modes)
}

// settingName prints a setting's name part by part; one that a quoted
// identifier with dots gave may have empty parts and is printed whole.
func (p *printer) settingName(name string) {
	parts := strings.Split(name, ".")
	for _, s := range parts {
		if s == "" {
			p.ident(name)
			return
		}
	}
	p.dotted(parts...)
}

// quotedSetting prints a setting's name so that none of the dialects' lists is
// meant. The dots of a name are not part of an identifier.
func (p *printer) quotedSetting(name string) {
	switch name {
	case "databases", "schemas", "tables", "sequences", "types", "users", "roles", "sessions", "queries",
		"statements", "jobs", "transactions", "functions", "columns", "indexes", "index", "keys",
		"constraints", "ranges", "range", "grants", "savepoint", "trace", "syntax", "backup", "cluster",
		"statistics", "zone", "enums", "regions", "schedules", "survival":
		p.w(`"`, name, `"`)
	default:
		p.settingName(name)
	}
}

func (p *printer) setVar(s *SetVar) {
	if s.Reset {
		p.w("RESET ")
		if s.Name == "" {
			p.w("ALL")
			return
		}
		p.settingName(s.Name)
		return
	}
	p.w("SET ")
	p.opt(s.Scope == ScopeLocal, "LOCAL ")
	if len(s.Values) == 1 {
		if _, ok := s.Values[0].(*Cast); ok {
			p.clause("TIME ZONE ", s.Values[0])
			return
		}
	}
	p.settingName(s.Name)
	switch {
	case s.Current:
		p.w(" FROM CURRENT")
	case s.Default:
		p.w(" = DEFAULT")
	default:
		p.w(" = ")
		p.exprs(s.Values)
	}
}

func (p *printer) showObjects(s *ShowObjects) {
	p.w("SHOW ")
	switch s.Kind {
	case ShowClusterSetting:
		p.w("CLUSTER SETTING ")
		p.settingName(s.Setting)
		return
	case ShowCreate:
		p.showCreate(s)
		return
	case ShowClusterSettings:
		p.w([...]string{"CLUSTER SETTINGS", "CLUSTER SETTING ALL"}[btoi(s.All)])
		return
	}
	p.opt(s.All, "ALL ")
	p.w(s.Kind.String())
	if s.Name != nil {
		switch s.Kind {
		case ShowStatistics:
			p.w(" FOR TABLE ")
		case ShowGrants:
			p.w(" ON ", s.Object.String(), " ")
		default:
			p.w(" FROM ", s.Object.String(), " ")
		}
		p.name(*s.Name)
	}
	switch {
	case s.WithComment && s.WithDetails:
		p.w(" WITH comment, details")
	case s.WithComment:
		p.w(" WITH comment")
	case s.WithDetails:
		p.w(" WITH details")
	}
	if s.Grantees != nil {
		p.w(" FOR ")
		p.roles(s.Grantees)
	}
}

func (p *printer) showCreate(s *ShowObjects) {
	p.w("CREATE ")
	if s.All {
		p.w("ALL ", s.Object.String(), "S")
		return
	}
	p.w(s.Object.String(), " ")
	p.name(*s.Name)
}

func (p *printer) cancel(s *Cancel) {
	p.w(s.Verb, " ")
	words := [...]string{"QUERY", "SESSION", "JOB"}
	if s.Query != nil {
		words = [...]string{"QUERIES", "SESSIONS", "JOBS"}
	}
	p.w(words[s.Kind], " ")
	p.ifExists(s.IfExists)
	if s.Query != nil {
		p.query(s.Query)
		return
	}
	p.exprs(s.IDs)
}

// utility prints the statements about maintenance and procedures.
func (p *printer) utility(s Statement) {
	switch s := s.(type) {
	case *Vacuum:
		p.w([...]string{"VACUUM", "ANALYZE"}[btoi(s.AnalyzeOnly)])
		p.optOptions(s.Options)
		p.list(len(s.Tables), func(i int) {
			p.opt(i == 0, " ")
			p.name(s.Tables[i].Name)
			p.parenIdents(" ", s.Tables[i].Cols)
		})
	case *Reindex:
		p.w("REINDEX")
		p.optOptions(s.Options)
		word := s.Kind.String()
		if s.System {
			word = "SYSTEM"
		}
		p.w(" ", word, " ")
		p.opt(s.Concurrently, "CONCURRENTLY ")
		p.name(s.Name)
	case *Cluster:
		p.w("CLUSTER")
		if s.Table == nil {
			p.opt(s.Options != nil, " VERBOSE") // the one option of this form
			return
		}
		p.optOptions(s.Options)
		if s.Table != nil {
			p.w(" ")
			p.name(*s.Table)
		}
		p.optIdent(" USING ", s.Index)
	case *Checkpoint:
		p.w("CHECKPOINT")
	case *LockTable:
		p.w("LOCK TABLE ")
		p.tableRefs(s.Tables)
		p.w(" IN ", s.Mode.String(), " MODE")
		p.opt(s.NoWait, " NOWAIT")
	case *Do:
		p.w("DO ")
		if s.Language != "" {
			p.w("LANGUAGE ")
			p.str(s.Language)
			p.w(" ")
		}
		p.str(s.Code)
	case *Call:
		p.w("CALL ")
		p.expr(s.Func)
	case *CreateRoutine, *CreateAggregate, *CreateOperator, *AlterRoutine, *DropRoutine:
		p.routineStmt(s)
	case *CreatePolicy, *AlterPolicy, *DropPolicy:
		p.policyStmt(s)
	case *CreateEventTrigger, *AlterEventTrigger:
		p.eventTriggerStmt(s)
	case *CreateTrigger, *DropTrigger, *AlterTriggerStmt:
		p.triggerStmt(s)
	default:
		p.rangesStatement(s)
	}
}

// optOptions prints " (options)" if there are any.
func (p *printer) optOptions(list []Option) {
	if list != nil {
		p.w(" ")
		p.options(list)
	}
}
