package builtin

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// fakeSession is a Session with one sequence and one table.
type fakeSession struct {
	seq      int64
	settings map[string]string
	locks    []call.AdvisoryLockRequest
}

func newFakeSession() *fakeSession {
	return &fakeSession{settings: map[string]string{"application_name": "test"}}
}

func (s *fakeSession) CurrentUser() (string, error) { return "root", nil }
func (s *fakeSession) SessionUser() (string, error) { return "root", nil }
func (s *fakeSession) CurrentDatabase() string      { return "defaultdb" }
func (s *fakeSession) SearchPath(implicit bool) []string {
	if implicit {
		return []string{"pg_catalog", "public"}
	}
	return []string{"public"}
}
func (s *fakeSession) BackendPID() int32           { return 7 }
func (s *fakeSession) ClientAddr() string          { return "127.0.0.1:5" }
func (s *fakeSession) ExportSnapshot() string      { return "1-1-1" }
func (s *fakeSession) TempSchema() uint32          { return 0 }
func (s *fakeSession) OtherTempSchema(uint32) bool { return false }
func (s *fakeSession) CurrentQuery() string        { return "SELECT 1" }
func (s *fakeSession) Version() string             { return "PostgreSQL 15.0" }
func (s *fakeSession) StartTime() int64            { return 1 }
func (s *fakeSession) TransactionID() int64        { return 9 }
func (s *fakeSession) UniqueID() int64             { return 5<<15 | 3 }
func (s *fakeSession) Setting(name string) (string, bool) {
	v, ok := s.settings[name]
	return v, ok
}
func (s *fakeSession) SetSetting(name, value string, _ bool) (string, error) {
	s.settings[name] = value
	return value, nil
}
func (s *fakeSession) NextVal(uint32) (int64, error) { s.seq++; return s.seq, nil }
func (s *fakeSession) CurrVal(uint32) (int64, error) { return s.seq, nil }
func (s *fakeSession) SetVal(_ uint32, v int64, called bool) error {
	if s.seq = v; !called {
		s.seq--
	}
	return nil
}
func (s *fakeSession) LastVal() (int64, error) {
	if s.seq == 0 {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "lastval is not yet defined in this session")
	}
	return s.seq, nil
}
func (s *fakeSession) CursorKey(string, uint32) ([]types.Datum, error) { return nil, nil }
func (s *fakeSession) CancelBackend(pid int32, _ bool) (bool, error)   { return pid == 7, nil }
func (s *fakeSession) AdvisoryLock(r call.AdvisoryLockRequest) (bool, error) {
	s.locks = append(s.locks, r)
	return true, nil
}
func (s *fakeSession) Notify(string, string) error                                 { return nil }
func (s *fakeSession) Listening() []string                                         { return nil }
func (s *fakeSession) NotificationQueueUsage() float64                             { return 0 }
func (s *fakeSession) AdvisoryUnlock(call.AdvisoryLockRequest, bool) (bool, error) { return true, nil }

func (s *fakeSession) LookupReg(_ *types.T, name string) (uint32, bool, error) {
	return 100, name == "t", nil
}
func (s *fakeSession) ObjectVisible(_ string, oid uint32) (visible, ok bool, err error) {
	return true, oid == 100, nil
}
func (s *fakeSession) TypeByOid(uint32) (*types.T, bool) { return nil, false }
func (s *fakeSession) UserByOid(oid uint32) (string, bool) {
	return "root", oid == 10
}
func (s *fakeSession) Description(oid uint32, _ string, sub int32) (string, bool, error) {
	return "a comment", oid == 100 && sub == 0, nil
}
func (s *fakeSession) ViewDef(oid uint32, _ bool, _ int) (string, bool, error) {
	return "SELECT 1", oid == 100, nil
}
func (s *fakeSession) IndexDef(oid uint32, column int32, _ bool) (string, bool, error) {
	if column > 0 {
		return "a", true, nil
	}
	return "CREATE INDEX i ON t USING btree (a)", oid == 100, nil
}
func (s *fakeSession) ConstraintDef(oid uint32, _ bool) (string, bool, error) {
	return "PRIMARY KEY (a)", oid == 100, nil
}
func (s *fakeSession) ExprDef(expr string, _ uint32, _ bool) (string, bool, error) {
	return expr, true, nil
}
func (s *fakeSession) StatisticsDef(uint32, bool) (string, bool)     { return "", false }
func (s *fakeSession) TriggerDef(uint32, bool) (string, bool, error) { return "", false, nil }
func (s *fakeSession) FunctionDef(uint32, call.FunctionPart) (string, bool, error) {
	return "", false, nil
}
func (s *fakeSession) SerialSequence(table, column string) (string, bool, error) {
	return "public.t_a_seq", table == "t" && column == "a", nil
}
func (s *fakeSession) RelationSize(oid uint32, part call.SizePart) (int64, bool, error) {
	return 1000 * int64(part+1), oid == 100, nil
}
func (s *fakeSession) TablespaceSize(oid uint32, _ string) (int64, bool, error) {
	return 6, oid == 1, nil
}
func (s *fakeSession) DatabaseSize(oid uint32) (int64, bool, error) { return 5, oid == 1, nil }
func (s *fakeSession) DescribeObject(uint32, uint32, int32) (call.ObjectName, bool, error) {
	return call.ObjectName{}, false, nil
}

func (s *fakeSession) ObjectAddress(uint32, uint32, int32) (call.ObjectAddress, bool, error) {
	return call.ObjectAddress{}, false, nil
}

func (s *fakeSession) ObjectByAddress(call.ObjectAddress) (class, oid uint32, sub int32, err error) {
	return 0, 0, 0, nil
}

func (s *fakeSession) StatementStatistics() ([]call.StatementStatistics, error) { return nil, nil }
func (s *fakeSession) StatementsKept() (int64, types.Datum, error)              { return 0, types.Null, nil }
func (s *fakeSession) ForgetStatements(uint32, uint32, int64) error             { return nil }

func (s *fakeSession) RelationRows(string) (columns []string, rows [][]types.Datum, err error) {
	return nil, nil, nil
}

func (s *fakeSession) SequenceLastValue(uint32) (value int64, ok bool, err error) {
	return 0, false, nil
}

func (s *fakeSession) Query(string, func([]*types.T) error, func([]types.Datum) error) error {
	return nil
}
func (s *fakeSession) RelationUpdatable(uint32) (int, error)       { return 0, nil }
func (s *fakeSession) ColumnUpdatable(uint32, int16) (bool, error) { return false, nil }
func (s *fakeSession) SequenceParameters(uint32) ([]types.Datum, error) {
	return make([]types.Datum, 7), nil
}

func (s *fakeSession) IndexKeys(uint32) (uint32, []call.KeyOrder, int, bool) { return 0, nil, 0, false }

func (s *fakeSession) LookupDatabase(name string) (uint32, bool, error) {
	return 1, name == "defaultdb", nil
}
func (s *fakeSession) HasPrivilege(r call.PrivilegeCheck) (has, ok bool, err error) {
	return r.User == "" || r.User == "root", r.Object == "t" || r.ObjectOid == 100, nil
}

func (s *fakeSession) RowSecurityActive(string, uint32) (active, ok bool, err error) {
	return false, true, nil
}

var _ call.Session = (*fakeSession)(nil)
