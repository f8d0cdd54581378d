package sql

import (
	"time"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// pgEpoch is 2000-01-01 UTC in microseconds of Unix time, where SQL's
// timestamps count from.
const pgEpoch = 946684800_000_000

func pgMicros(t time.Time) int64 { return t.UnixMicro() - pgEpoch }

// Input calls read to decode a value of type t from what a client has sent, whose memory is reserved already. The
// memory of the value is reserved too; 53200 if there is none.
func (s *Session) Input(t *types.T, sent string, read func() (types.Datum, error)) (types.Datum, error) {
	c := call.Context{Values: quota.NewValues(s.ex.srv.cfg.Mem)}
	from := types.NewString(sent)
	if t.Family != types.StringFamily { // a text is part of what was sent
		if err := c.BeginCast(from, t); err != nil {
			return types.Null, err
		}
	}
	d, err := read()
	return c.Made(d, err, []types.Datum{from})
}

// sessionFuncs answers what SQL functions ask of the session; Catalog answers
// what they ask of the catalog.
type sessionFuncs struct {
	ex *executor
	call.Catalog
}

var _ call.Session = (*sessionFuncs)(nil)

// CurrentUser implements call.Session.
func (f *sessionFuncs) CurrentUser() (string, error) { return f.ex.who.UserName(f.ex.who.Role()) }

// SessionUser implements call.Session.
func (f *sessionFuncs) SessionUser() (string, error) {
	return f.ex.who.UserName(f.ex.who.SessionRole())
}

// CurrentDatabase implements call.Session.
func (f *sessionFuncs) CurrentDatabase() string { return f.ex.conn.db.Name }

// SearchPath implements call.Session.
func (f *sessionFuncs) SearchPath(implicit bool) []string {
	var out []string
	for _, name := range f.ex.coll.PeekSearchPath(f.ex.eval.functions.Ctx) {
		if name == "pg_catalog" && !implicit && !f.pathNames("pg_catalog") {
			continue
		}
		if name == f.ex.coll.TempSchemaName() && !implicit && !f.pathNames("pg_temp") {
			continue
		}
		out = append(out, name)
	}
	return out
}

func (f *sessionFuncs) pathNames(schema string) bool {
	for _, p := range f.ex.vals.Fast.SearchPath {
		if p == schema {
			return true
		}
	}
	return false
}

// BackendPID implements call.Session.
func (f *sessionFuncs) BackendPID() int32 { return f.ex.conn.pid }

// ClientAddr implements call.Session.
func (f *sessionFuncs) ClientAddr() string { return f.ex.conn.remote }

// ExportSnapshot implements call.Session.
func (f *sessionFuncs) ExportSnapshot() string { return f.ex.txn.ExportSnapshot() }

// TempSchema implements call.Session.
func (f *sessionFuncs) TempSchema() uint32 {
	for _, d := range f.tempSchemas() {
		if f.ex.coll.OwnTemp(d) {
			return d.Oid
		}
	}
	return 0
}

// OtherTempSchema implements call.Session.
func (f *sessionFuncs) OtherTempSchema(oid uint32) bool {
	for _, d := range f.tempSchemas() {
		if d.Oid == oid {
			return !f.ex.coll.OwnTemp(d)
		}
	}
	return false
}

// tempSchemas lists the temporary schemas that the transaction sees.
func (f *sessionFuncs) tempSchemas() []*catalog.Schema {
	all, err := f.ex.coll.Descriptors(f.ex.eval.functions.Ctx)
	if err != nil {
		return nil
	}
	var out []*catalog.Schema
	for _, d := range all {
		if s, ok := d.(*catalog.Schema); ok && s.Temp != nil {
			out = append(out, s)
		}
	}
	return out
}

// CurrentQuery implements call.Session.
func (f *sessionFuncs) CurrentQuery() string { return f.ex.current.Query() }

// Version implements call.Session.
func (f *sessionFuncs) Version() string { return f.ex.srv.VersionString() }

// StartTime implements call.Session.
func (f *sessionFuncs) StartTime() int64 { return pgMicros(f.ex.srv.started) }

// Setting implements call.Session.
func (f *sessionFuncs) Setting(name string) (string, bool) { return f.ex.vars.Show(name) }

// SetSetting implements call.Session.
func (f *sessionFuncs) SetSetting(name, value string, local bool) (string, error) {
	return f.ex.vars.SetText(f.ex.eval.functions.Ctx, name, value, local, nil)
}

// sequenceState is what a session remembers of sequences.
type sequenceState struct {
	last    uint32 // oid of the sequence that nextval was last called on, or 0
	current map[uint32]int64
}

func (q *sequenceState) reset() { *q = sequenceState{} }

func (f *sessionFuncs) sequence(oid uint32) (*catalog.Table, error) {
	t, err := f.ex.coll.TableByOid(f.ex.eval.functions.Ctx, oid)
	if err != nil {
		return nil, err
	}
	if t.Kind != catalog.KindSequence {
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", t.Name)
	}
	return t, nil
}

// NextVal implements call.Session.
func (f *sessionFuncs) NextVal(oid uint32) (int64, error) {
	t, err := f.sequence(oid)
	if err != nil {
		return 0, err
	}
	if err := f.ex.who.MayUseSequence(t, privilege.Usage|privilege.Update); err != nil {
		return 0, err
	}
	if err := f.ex.eval.writes(t, "nextval()"); err != nil {
		return 0, err
	}
	n, err := f.ex.srv.cfg.Catalog.NextVal(f.ex.eval.functions.Ctx, t)
	if err != nil || t.Sequence.OfRowIDs() {
		return n, err
	}
	q := &f.ex.sequences
	if q.current == nil {
		q.current = map[uint32]int64{}
	}
	q.last, q.current[oid] = oid, n
	return n, nil
}

// CurrVal implements call.Session.
func (f *sessionFuncs) CurrVal(oid uint32) (int64, error) {
	t, err := f.sequence(oid)
	if err != nil {
		return 0, err
	}
	if err := f.ex.who.MayUseSequence(t, privilege.Usage|privilege.Select); err != nil {
		return 0, err
	}
	n, ok := f.ex.sequences.current[oid]
	if !ok {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "currval of sequence \"%s\" is not yet defined in this session", t.Name)
	}
	return n, nil
}

// SetVal implements call.Session.
func (f *sessionFuncs) SetVal(oid uint32, value int64, called bool) error {
	t, err := f.sequence(oid)
	if err != nil {
		return err
	}
	if err := f.ex.who.MayUseSequence(t, privilege.Update); err != nil {
		return err
	}
	if err := f.ex.eval.writes(t, "setval()"); err != nil {
		return err
	}
	if err := f.ex.srv.cfg.Catalog.SetVal(f.ex.eval.functions.Ctx, t, value, called); err != nil {
		return err
	}
	if called {
		if f.ex.sequences.current == nil {
			f.ex.sequences.current = map[uint32]int64{}
		}
		f.ex.sequences.current[oid] = value
	}
	return nil
}

// LastVal implements call.Session.
func (f *sessionFuncs) LastVal() (int64, error) {
	q := &f.ex.sequences
	if q.last == 0 || f.ex.coll.PeekByOid(f.ex.eval.functions.Ctx, q.last) == nil { // or it was dropped
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "lastval is not yet defined in this session")
	}
	t, err := f.sequence(q.last)
	if err != nil {
		return 0, err
	}
	return q.current[q.last], f.ex.who.MayUseSequence(t, privilege.Usage|privilege.Select)
}
