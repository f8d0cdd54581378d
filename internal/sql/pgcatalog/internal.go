package pgcatalog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The relations of lichen_internal come in pairs: cluster_x asks all nodes, node_x the
// one that the client is connected to.

// sessionReport is the report for a relation about sessions.
func sessionReport(s *snapshot, w *writer, locks bool) (*Report, error) {
	here := strings.HasPrefix(w.t.Name, "node_")
	return s.report(ReportRequest{Here: here, Sessions: true, Locks: locks})
}

func (w *writer) duration(column string, since, now time.Time) {
	if !since.IsZero() {
		micros := max(now.Sub(since).Microseconds(), 0)
		w.set(column, types.NewInterval(types.IntervalValue{Micros: micros}))
	}
}

func (w *writer) who(a *Activity) {
	w.num("node_id", int64(a.Node))
	w.str("session_id", a.Session)
	w.num("pid", int64(a.PID))
	w.str("user_name", a.User)
	w.str("database_name", a.Database)
	w.str("application_name", a.Application)
}

func (w *writer) txn(column string, id kvpb.TxnID) {
	if !id.IsZero() {
		w.str(column, id.String())
	}
}

// internalSessions lists sessions.
func internalSessions(s *snapshot, w *writer) error {
	r, err := sessionReport(s, w, false)
	if err != nil {
		return err
	}
	for i := range r.Sessions {
		a := &r.Sessions[i]
		if !s.maySee(a) {
			continue
		}
		w.who(a)
		w.text("client_address", a.Remote)
		w.str("state", a.State)
		w.text("query_id", a.QueryID)
		w.text("query", a.Query)
		w.time("session_start", a.Started)
		w.time("query_start", a.QueryStart)
		w.time("state_change", a.Since)
		w.txn("txn_id", a.Txn)
		w.time("txn_start", a.XactStart)
		w.done()
	}
	return nil
}

// internalQueries lists the statements that run.
func internalQueries(s *snapshot, w *writer) error {
	r, err := sessionReport(s, w, false)
	if err != nil {
		return err
	}
	now, waits := time.Now(), r.waitOf()
	for i := range r.Sessions {
		a := &r.Sessions[i]
		if !s.maySee(a) {
			continue
		}
		if a.QueryID == "" {
			continue
		}
		w.who(a)
		w.str("query_id", a.QueryID)
		w.str("query", a.Query)
		w.time("query_start", a.QueryStart)
		w.duration("duration", a.QueryStart, now)
		w.txn("txn_id", a.Txn)
		_, waiting := a.wait(waits)
		w.flag("waiting", waiting)
		w.done()
	}
	return nil
}

// wait finds what the session waits for.
func (a *Activity) wait(waits map[kvpb.TxnID]*Wait) (*Wait, bool) {
	for _, id := range []kvpb.TxnID{a.Txn, a.Advisory} {
		if w := waits[id]; w != nil && a.QueryID != "" && !id.IsZero() {
			return w, true
		}
	}
	return nil, false
}

// internalTransactions lists the open transactions of sessions.
func internalTransactions(s *snapshot, w *writer) error {
	r, err := sessionReport(s, w, false)
	if err != nil {
		return err
	}
	now := time.Now()
	for i := range r.Sessions {
		a := &r.Sessions[i]
		if !s.maySee(a) {
			continue
		}
		if a.XactStart.IsZero() {
			continue
		}
		w.who(a)
		w.str("txn_id", a.Txn.String())
		w.str("state", a.State)
		w.time("txn_start", a.XactStart)
		w.duration("duration", a.XactStart, now)
		w.text("query", a.Query)
		w.done()
	}
	return nil
}

// lockPlace says what a locked key belongs to.
func (s *snapshot) lockPlace(w *writer, key []byte) {
	if db, pair, n, ok := keys.DecodeAdvisoryLock(key); ok {
		w.str("lock_type", "advisory")
		s.databaseName(w, catalog.ID(db))
		if pair {
			w.str("object", fmt.Sprintf("%d, %d", int32(n>>32), int32(n)))
		} else {
			w.str("object", strconv.FormatInt(n, 10))
		}
		return
	}
	w.str("lock_type", "key")
	db, table, index, _, ok := keys.DecodeIndexPrefix(key)
	if !ok {
		return
	}
	s.databaseName(w, catalog.ID(db))
	t := s.tableByID(catalog.ID(table))
	if t == nil || t.Database != catalog.ID(db) {
		return
	}
	w.str("lock_type", "row")
	w.str("schema_name", s.schemaName(t))
	w.str("table_name", t.Name)
	for i := range t.Indexes {
		if uint64(t.Indexes[i].ID) == index {
			w.str("index_name", t.Indexes[i].Name)
		}
	}
}

func (s *snapshot) databaseName(w *writer, id catalog.ID) {
	for _, d := range s.databases() {
		if d.ID == id {
			w.str("database_name", d.Name)
		}
	}
}

// lockKey sets the columns of a key that is locked, unless its values are not for the user to see: those of rows are for who may
// read the table, others for who sees what all sessions do.
func (s *snapshot) lockKey(w *writer, key []byte) {
	me := s.c.h.Coll.Me()
	sees := me.Super || me.Grants(catalog.ReadAllStatsOid)
	if _, _, _, advisory := keys.DecodeAdvisoryLock(key); advisory {
		sees = true
	}
	if _, id, ok := keys.DecodeTableIDs(key); ok && !sees {
		t := s.tableByID(catalog.ID(id))
		sees = t != nil && access.SeesKeys(s.c.h.Coll, t)
	}
	shown := "<hidden>"
	if sees {
		shown = keys.Pretty(key)
	} else {
		key = nil
	}
	if w.t.Name == "cluster_locks" || w.t.Name == "node_locks" {
		w.set("lock_key", types.NewBytes(string(key)))
	}
	w.str("lock_key_pretty", shown)
}

// internalLocks lists locks on keys.
func internalLocks(s *snapshot, w *writer) error {
	r, err := sessionReport(s, w, true)
	if err != nil {
		return err
	}
	now, sessions, waits := time.Now(), r.byTxn(), r.waitOf()
	for i := range r.Locks {
		l := &r.Locks[i]
		w.num("node_id", int64(l.Node))
		w.num("range_id", int64(l.Range))
		s.lockPlace(w, l.Key)
		s.lockKey(w, l.Key)
		w.str("txn_id", l.Txn.String())
		if a := sessions[l.Txn]; a != nil {
			w.str("session_id", a.Session)
			w.num("pid", int64(a.PID))
			w.time("txn_start", a.XactStart)
		}
		w.str("strength", l.Strength.String())
		w.flag("granted", !l.Waiting)
		if x := waits[l.Txn]; l.Waiting && x != nil {
			w.time("wait_start", x.Since)
			w.duration("wait_duration", x.Since, now)
		}
		w.done()
	}
	return nil
}

// internalWaits lists who waits for whom.
func internalWaits(s *snapshot, w *writer) error {
	r, err := sessionReport(s, w, true)
	if err != nil {
		return err
	}
	now, sessions := time.Now(), r.byTxn()
	wanted := map[kvpb.TxnID]*Lock{}
	for i := range r.Locks {
		if r.Locks[i].Waiting {
			wanted[r.Locks[i].Txn] = &r.Locks[i]
		}
	}
	for i := range r.Waits {
		x := &r.Waits[i]
		w.num("node_id", int64(x.Node))
		w.str("txn_id", x.Txn.String())
		if a := sessions[x.Txn]; a != nil {
			w.str("session_id", a.Session)
			w.num("pid", int64(a.PID))
		}
		var ids, who []types.Datum
		for _, b := range x.Blockers {
			ids = append(ids, types.NewString(b.String()))
			if a := sessions[b]; a != nil {
				who = append(who, types.NewInt(int64(a.PID)))
			}
		}
		w.set("blocking_txn_ids", types.NewArray(ids))
		w.set("blocking_pids", types.NewArray(who))
		if l := wanted[x.Txn]; l != nil {
			s.lockPlace(w, l.Key)
			s.lockKey(w, l.Key)
			w.str("strength", l.Strength.String())
		}
		w.time("wait_start", x.Since)
		w.duration("duration", x.Since, now)
		w.done()
	}
	return nil
}

// Job is a long statement that changes a table, or the removal of what is no longer used.
type Job struct {
	ID                          int64
	Kind, Description           string
	User, Database              string // "" for removals, as is what follows but for Created
	Node                        kvpb.NodeID
	State                       string
	Rows                        int64
	Error                       string
	Created, Modified, Finished time.Time
}

// internalJobs lists the jobs of the cluster that the user may see.
func internalJobs(s *snapshot, w *writer) error {
	if s.c.h.Jobs == nil {
		return nil
	}
	list, err := s.c.h.Jobs(s.c.ctx())
	if err != nil {
		return err
	}
	for i := range list {
		j := &list[i]
		if !s.maySee(&Activity{User: j.User}) {
			continue
		}
		w.num("job_id", j.ID)
		w.str("job_type", j.Kind)
		w.str("description", j.Description)
		w.text("user_name", j.User)
		w.text("database_name", j.Database)
		w.str("status", j.State)
		w.text("error", j.Error)
		w.time("created", j.Created)
		w.time("modified", j.Modified)
		w.time("finished", j.Finished)
		if j.Node != 0 {
			w.num("node_id", int64(j.Node))
			w.num("rows_read", j.Rows)
		}
		w.done()
	}
	return nil
}

// internalFamilies lists the column families of tables that have several, or one with a
// name of its own.
func internalFamilies(s *snapshot, w *writer) error {
	for _, t := range s.tables() {
		for i := range t.Families {
			f := &t.Families[i]
			if f.ID != 0 && len(f.Columns) == 0 {
				continue
			}
			names := make([]types.Datum, len(f.Columns))
			for j, id := range f.Columns {
				names[j] = types.NewString(t.Columns[t.ColumnByID(id)].Name)
			}
			w.str("table_schema", s.schemaName(t))
			w.str("table_name", t.Name)
			w.num("family_id", int64(f.ID))
			w.str("family_name", f.Name)
			w.set("column_names", types.NewArray(names))
			w.done()
		}
	}
	return nil
}
