package pgcatalog

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/types"
)

// pgSettings lists the configuration parameters.
func pgSettings(s *snapshot, w *writer) error {
	for _, p := range settings.All() {
		value := p.Default
		if s.c.h.Setting != nil {
			if v, ok := s.c.h.Setting(p.Name); ok {
				value = v
			}
		}
		doc := p.Doc
		if p.NoEffect {
			doc = strings.TrimSuffix("no effect: "+p.Why, ": ")
		}
		w.str("name", p.Name)
		w.str("setting", value)
		w.str("category", "Settings")
		w.str("short_desc", doc)
		w.str("context", map[bool]string{true: "internal", false: "user"}[p.ReadOnly])
		w.str("vartype", "string")
		w.str("source", map[bool]string{true: "default", false: "session"}[value == p.Default])
		w.str("boot_val", p.Default)
		w.str("reset_val", p.Default)
		w.flag("pending_restart", false)
		w.done()
	}
	return nil
}

// pgStatActivity lists the sessions of the node.
func pgStatActivity(s *snapshot, w *writer) error {
	if s.c.h.Activities == nil {
		return nil
	}
	dbs := map[string]uint32{}
	for _, d := range s.databases {
		dbs[d.Name] = d.Oid
	}
	for _, a := range s.c.h.Activities() {
		w.oid("datid", dbs[a.Database])
		w.str("datname", a.Database)
		w.num("pid", int64(a.PID))
		w.oid("usesysid", oidRoot)
		w.str("usename", a.User)
		w.str("application_name", a.Application)
		if host, port, ok := strings.Cut(a.Remote, ":"); ok && host != "" {
			w.str("client_addr", host)
			if d, err := types.ParseText(types.Int4, port, nil); err == nil {
				w.set("client_port", d)
			}
		}
		w.time("backend_start", a.Started)
		w.time("xact_start", a.XactStart)
		if a.State == "active" {
			w.time("query_start", a.Since)
		}
		w.time("state_change", a.Since)
		w.str("state", a.State)
		w.str("query", a.Query)
		w.str("backend_type", "client backend")
		w.done()
	}
	return nil
}

// pgStatUserTables lists the user's tables; activity is not counted.
func pgStatUserTables(s *snapshot, w *writer) error {
	for _, t := range s.tables {
		if t.Kind == catalog.KindTable {
			w.oid("relid", t.Oid)
			w.str("schemaname", s.schemaName(t))
			w.str("relname", t.Name)
			w.done()
		}
	}
	return nil
}

// pgStatUserIndexes lists the user's indexes; activity is not counted.
func pgStatUserIndexes(s *snapshot, w *writer) error {
	for _, t := range s.tables {
		for _, ix := range visibleIndexes(t) {
			w.oid("relid", t.Oid)
			w.oid("indexrelid", ix.Oid)
			w.str("schemaname", s.schemaName(t))
			w.str("relname", t.Name)
			w.str("indexrelname", ix.Name)
			w.done()
		}
	}
	return nil
}

// pgLocks lists the locks on relations: those that transactions hold on what
// they use, and those of DDL.
func pgLocks(s *snapshot, w *writer) error {
	for _, l := range s.c.h.Coll.Store().Locks() {
		t := s.tableBy[l.ID]
		if t == nil {
			continue
		}
		w.str("locktype", "relation")
		w.oid("database", s.db.Oid)
		w.oid("relation", t.Oid)
		w.str("virtualtransaction", l.Txn)
		w.str("mode", map[bool]string{true: "AccessExclusiveLock", false: "AccessShareLock"}[l.Exclusive])
		w.flag("granted", l.Granted)
		w.flag("fastpath", !l.Exclusive)
		w.done()
	}
	return nil
}
