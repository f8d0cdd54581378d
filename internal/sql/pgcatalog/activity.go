package pgcatalog

import (
	"net/netip"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// pgSettings lists the configuration parameters.
func pgSettings(s *snapshot, w *writer) error {
	for _, p := range settings.All() {
		if p.Unlisted() {
			continue
		}
		value, reset, source := p.Default, p.Default, "default"
		if v := s.c.h.Values; v != nil {
			reset, source = v.Default(p.Name), v.Source(p.Name)
		}
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
		k := p.Kind()
		w.str("setting", p.Plain(value))
		w.text("unit", k.Unit)
		context, category := p.About()
		w.str("category", category)
		w.str("short_desc", doc)
		w.str("context", context)
		w.str("vartype", k.Type)
		w.text("min_val", k.Min)
		w.text("max_val", k.Max)
		if k.Enum != nil {
			w.set("enumvals", texts(k.Enum))
		}
		w.str("source", source)
		w.str("boot_val", p.Plain(p.Default))
		w.str("reset_val", p.Plain(reset))
		w.flag("pending_restart", false)
		w.done()
	}
	return nil
}

// pgStatActivity lists the sessions of the cluster.
func pgStatActivity(s *snapshot, w *writer) error {
	r, err := s.report(ReportRequest{Sessions: true})
	if err != nil {
		return err
	}
	dbs := map[string]uint32{}
	for _, d := range s.databases() {
		dbs[d.Name] = d.Oid
	}
	waits := r.waitOf()
	for i := range r.Sessions {
		a := &r.Sessions[i]
		w.oid("datid", dbs[a.Database])
		w.str("datname", a.Database)
		w.num("pid", int64(a.PID))
		if u := s.c.h.Coll.RoleByName(a.User); u != nil {
			w.oid("usesysid", uint32(u.Oid))
		}
		w.str("usename", a.User)
		if !s.maySee(a) {
			w.str("query", "<insufficient privilege>")
			w.str("backend_type", "client backend")
			w.done()
			continue
		}
		w.str("application_name", a.Application)
		w.client(a.Remote)
		w.time("backend_start", a.Started)
		w.time("xact_start", a.XactStart)
		w.time("query_start", a.QueryStart)
		w.time("state_change", a.Since)
		if _, waiting := a.wait(waits); waiting {
			w.str("wait_event_type", "Lock")
			w.str("wait_event", "tuple")
		} else if a.QueryID == "" {
			w.str("wait_event_type", "Client")
			w.str("wait_event", "ClientRead")
		}
		w.str("state", a.State)
		w.str("query", a.Query)
		w.str("backend_type", "client backend")
		w.done()
	}
	return nil
}

// pgStatSSL says how the connections of the cluster's sessions are encrypted.
func pgStatSSL(s *snapshot, w *writer) error {
	r, err := s.report(ReportRequest{Sessions: true})
	if err != nil {
		return err
	}
	for i := range r.Sessions {
		a := &r.Sessions[i]
		w.num("pid", int64(a.PID))
		e := a.Encryption
		w.flag("ssl", e != nil)
		if e != nil {
			w.str("version", e.Version)
			w.str("cipher", e.Cipher)
			w.num("bits", int64(e.Bits))
			w.text("client_dn", e.ClientDN)
			w.text("issuer_dn", e.IssuerDN)
			if d, err := typeio.ParseText(types.Numeric, e.Serial, nil); err == nil {
				w.set("client_serial", d)
			}
		}
		w.done()
	}
	return nil
}

// pgStatGSS says of the cluster's sessions that GSSAPI protects none of them.
func pgStatGSS(s *snapshot, w *writer) error {
	r, err := s.report(ReportRequest{Sessions: true})
	if err != nil {
		return err
	}
	for i := range r.Sessions {
		w.num("pid", int64(r.Sessions[i].PID))
		w.flag("gss_authenticated", false)
		w.flag("encrypted", false)
		w.done()
	}
	return nil
}

// pgStatUserIndexes lists the user's indexes; activity is not counted.
func pgStatUserIndexes(s *snapshot, w *writer) error {
	uses, err := s.indexUses(w)
	if err != nil {
		return err
	}
	for _, t := range s.tables() {
		for _, ix := range visibleIndexes(t) {
			w.oid("relid", t.Oid)
			w.oid("indexrelid", ix.Oid)
			w.str("schemaname", s.schemaName(t))
			w.str("relname", t.Name)
			w.str("indexrelname", ix.Name)
			u := uses[stmtstats.IndexKey{Table: uint64(t.ID), Index: uint64(ix.ID)}]
			w.num("idx_scan", u.Keyed+u.Full)
			w.done()
		}
	}
	return nil
}

// pgLocks lists the locks on relations that transactions of this node hold on what they
// use, and those of DDL; row locks and advisory locks of the whole cluster.
func pgLocks(s *snapshot, w *writer) error {
	r, err := s.report(ReportRequest{Sessions: true, Locks: true})
	if err != nil {
		return err
	}
	pids := map[string]int32{}
	for i := range r.Sessions {
		if a := &r.Sessions[i]; !a.XactStart.IsZero() {
			pids[catalogTxn(a.Txn)] = a.PID
		}
	}
	for _, l := range s.c.h.Coll.Store().Locks() {
		t := s.tableByID(l.ID)
		if t == nil {
			continue
		}
		w.str("locktype", "relation")
		w.oid("database", s.db.Oid)
		w.oid("relation", t.Oid)
		w.str("virtualtransaction", l.Txn)
		if pid, ok := pids[l.Txn]; ok {
			w.num("pid", int64(pid))
		}
		w.str("mode", map[bool]string{true: "AccessExclusiveLock", false: "AccessShareLock"}[l.Exclusive])
		w.flag("granted", l.Granted)
		w.flag("fastpath", !l.Exclusive)
		w.done()
	}
	s.keyLocks(r, w)
	return nil
}

// tupleModes are the locks on tuples that PostgreSQL has for its row locks.
var tupleModes = map[lock.Strength]string{
	lock.KeyShare: "AccessShareLock", lock.Share: "RowShareLock",
	lock.NoKeyUpdate: "ExclusiveLock", lock.Update: "AccessExclusiveLock",
}

// keyLocks lists the locks on rows of the current database, and advisory locks.
func (s *snapshot) keyLocks(r *Report, w *writer) {
	sessions, waits := r.byTxn(), r.waitOf()
	for i := range r.Locks {
		l := &r.Locks[i]
		if db, pair, n, ok := keys.DecodeAdvisoryLock(l.Key); ok {
			s.advisoryLock(w, catalog.ID(db), pair, n, l.Strength)
		} else {
			db, table, _, _, ok := keys.DecodeIndexPrefix(l.Key)
			t := s.tableByID(catalog.ID(table))
			if !ok || t == nil || t.Database != catalog.ID(db) {
				continue
			}
			w.str("locktype", "tuple")
			w.oid("database", s.db.Oid)
			w.oid("relation", t.Oid)
			w.str("mode", tupleModes[l.Strength])
		}
		w.str("virtualtransaction", catalogTxn(l.Txn))
		if a := sessions[l.Txn]; a != nil {
			w.num("pid", int64(a.PID))
		}
		w.flag("granted", !l.Waiting)
		w.flag("fastpath", false)
		if x := waits[l.Txn]; l.Waiting && x != nil {
			w.time("waitstart", x.Since)
		}
		w.done()
	}
}

// advisoryLock sets the columns by which PostgreSQL shows an advisory lock: the two
// halves of its number, and 1 for one 64-bit number or 2 for two 32-bit ones.
func (s *snapshot) advisoryLock(w *writer, db catalog.ID, pair bool, n int64, strength lock.Strength) {
	w.str("locktype", "advisory")
	for _, d := range s.databases() {
		if d.ID == db {
			w.oid("database", d.Oid)
		}
	}
	w.oid("classid", uint32(n>>32))
	w.oid("objid", uint32(n))
	w.num("objsubid", map[bool]int64{false: 1, true: 2}[pair])
	w.str("mode", map[bool]string{true: "ExclusiveLock", false: "ShareLock"}[strength == lock.Update])
}

// Cursor is a row of pg_cursors.
type Cursor struct {
	Name, Statement          string
	Hold, Binary, Scrollable bool
	Created                  time.Time
}

// pgCursors lists the session's cursors.
func pgCursors(s *snapshot, w *writer) error {
	if s.c.h.Cursors == nil {
		return nil
	}
	for _, c := range s.c.h.Cursors() {
		w.str("name", c.Name)
		w.str("statement", c.Statement)
		w.flag("is_holdable", c.Hold)
		w.flag("is_binary", c.Binary)
		w.flag("is_scrollable", c.Scrollable)
		w.time("creation_time", c.Created)
		w.done()
	}
	return nil
}

// PreparedStatement is a row of pg_prepared_statements.
type PreparedStatement struct {
	Name, Statement string
	Prepared        time.Time
	Params          []uint32
	FromSQL         bool
}

// pgPreparedStatements lists the session's prepared statements. Plans are not counted.
func pgPreparedStatements(s *snapshot, w *writer) error {
	if s.c.h.Prepared == nil {
		return nil
	}
	for _, p := range s.c.h.Prepared() {
		w.str("name", p.Name)
		w.str("statement", p.Statement)
		w.time("prepare_time", p.Prepared)
		w.set("parameter_types", oids(p.Params))
		w.flag("from_sql", p.FromSQL)
		w.done()
	}
	return nil
}

// client sets the columns of a client's address; a client of a Unix socket has port -1, as in
// PostgreSQL.
func (w *writer) client(remote string) {
	if remote == "" {
		return
	}
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		w.num("client_port", -1)
		return
	}
	if d, err := typeio.ParseText(types.Inet, at.Addr().Unmap().WithZone("").String(), nil); err == nil {
		w.set("client_addr", d)
	}
	w.num("client_port", int64(at.Port()))
}
