package call

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Session is what functions ask of the session that runs them. Implementations
// return pgerr errors.
type Session interface {
	CurrentUser() (string, error)
	SessionUser() (string, error)
	CurrentDatabase() string
	// SearchPath lists the schemas of the search path that exist, with the
	// implicit ones (pg_catalog, temporary) when implicit is set.
	SearchPath(implicit bool) []string
	BackendPID() int32
	// ClientAddr is the client's address and port, if it has one.
	ClientAddr() string
	// TempSchema returns the oid of the session's temporary schema, 0 if there is none;
	// OtherTempSchema whether an oid is that of another session's.
	TempSchema() uint32
	OtherTempSchema(oid uint32) bool
	// CurrentQuery is the text the client sent.
	CurrentQuery() string
	// Version is what version() returns; it begins with "PostgreSQL 15".
	Version() string
	// StartTime is when the node started, microseconds since 2000-01-01 UTC.
	StartTime() int64
	// ExportSnapshot returns the name by which other transactions read what this one sees.
	ExportSnapshot() string
	// TransactionID returns a number for the current transaction.
	TransactionID() int64
	// UniqueID returns a number that no call has returned before on any node; see
	// unique_rowid.
	UniqueID() int64
	// Setting returns the value SHOW would; ok is false for unknown names.
	Setting(name string) (value string, ok bool)
	// SetSetting is SET or, with local, SET LOCAL; it returns the new value.
	SetSetting(name, value string, local bool) (string, error)

	// NextVal, CurrVal, SetVal and LastVal act on sequences by relation oid.
	NextVal(seq uint32) (int64, error)
	CurrVal(seq uint32) (int64, error)
	SetVal(seq uint32, value int64, called bool) error
	LastVal() (int64, error)

	// CursorKey returns the primary key of the row of a table that a cursor is on.
	CursorKey(cursor string, table uint32) ([]types.Datum, error)

	// Query runs the text of a query, hands over the types of its columns, which may refuse them, then
	// each row.
	Query(text string, columns func([]*types.T) error, row func([]types.Datum) error) error

	// CancelBackend cancels the statement of another session, or with
	// terminate closes the session; it reports whether there is one.
	CancelBackend(pid int32, terminate bool) (bool, error)
	// AdvisoryLock takes (or with try, tries to take) an advisory lock.
	AdvisoryLock(req AdvisoryLockRequest) (bool, error)
	// AdvisoryUnlock releases a session-level advisory lock, or all of them.
	AdvisoryUnlock(req AdvisoryLockRequest, all bool) (bool, error)
	// Notify is NOTIFY, Listening lists the channels that the session listens to, and NotificationQueueUsage says
	// how full the queue is, between 0 and 1.
	Notify(channel, payload string) error
	Listening() []string
	NotificationQueueUsage() float64

	Catalog
}

// AdvisoryLockRequest names an advisory lock: one 64-bit key, or two 32-bit
// keys (high, low) when Pair is set.
type AdvisoryLockRequest struct {
	Key         int64
	Pair        bool
	Shared      bool
	Try         bool
	Transaction bool // released at the end of the transaction
}

// Catalog is what functions ask of the catalog. Lookups that find nothing
// return ok=false, which the functions turn into NULL.
type Catalog interface {
	// LookupReg resolves the text of a reg* value ("public.t" as regclass).
	LookupReg(typ *types.T, name string) (oid uint32, ok bool, err error)
	// ObjectVisible reports whether the object is found by its bare name; kind
	// is "table", "type", "function", "operator", ...
	ObjectVisible(kind string, oid uint32) (visible, ok bool, err error)
	// TypeByOid finds types that are not built in.
	TypeByOid(oid uint32) (*types.T, bool)
	UserByOid(oid uint32) (name string, ok bool)
	// Description is the comment on an object; catalog is the name of its
	// catalog table ("pg_class"), sub a column number or 0.
	Description(oid uint32, catalog string, sub int32) (string, bool, error)
	// ViewDef, IndexDef, ConstraintDef, TriggerDef and ExprDef print definitions. column is
	// 0 for the whole index.
	ViewDef(oid uint32, pretty bool, wrap int) (string, bool, error)
	IndexDef(oid uint32, column int32, pretty bool) (string, bool, error)
	ConstraintDef(oid uint32, pretty bool) (string, bool, error)
	ExprDef(expr string, relation uint32, pretty bool) (string, bool, error)
	TriggerDef(oid uint32, pretty bool) (string, bool, error)
	// StatisticsDef prints a statistics object that CREATE STATISTICS has made, or its columns; false if there is none.
	StatisticsDef(oid uint32, columns bool) (string, bool)
	FunctionDef(oid uint32, part FunctionPart) (string, bool, error)
	// SerialSequence names the sequence behind a serial column.
	SerialSequence(table, column string) (string, bool, error)
	// RelationSize estimates the bytes of a relation's rows as they are now, per part.
	RelationSize(oid uint32, part SizePart) (int64, bool, error)
	// DatabaseSize does so for a database.
	DatabaseSize(oid uint32) (int64, bool, error)
	// TablespaceSize does so for a tablespace, by oid or, if that is 0, by
	// name.
	TablespaceSize(oid uint32, name string) (int64, bool, error)
	// LookupDatabase finds a database by name.
	LookupDatabase(name string) (uint32, bool, error)
	// DescribeObject names an object, by the oid of its catalog table, its own and a column
	// number or 0.
	DescribeObject(class, oid uint32, sub int32) (ObjectName, bool, error)
	// ObjectAddress names an object for ObjectByAddress, which finds it, in the form of
	// pg_identify_object_as_address.
	ObjectAddress(class, oid uint32, sub int32) (ObjectAddress, bool, error)
	ObjectByAddress(a ObjectAddress) (class, oid uint32, sub int32, err error)
	// RelationRows returns the rows of a relation of pg_catalog.
	RelationRows(relation string) (columns []string, rows [][]types.Datum, err error)
	// SequenceLastValue returns the last value that was taken, ok is false if there is none.
	SequenceLastValue(oid uint32) (value int64, ok bool, err error)
	// SequenceParameters returns the row of pg_sequence_parameters.
	SequenceParameters(oid uint32) ([]types.Datum, error)
	// IndexKeys returns the access method of an index, the order of its key columns and
	// the number of the others.
	IndexKeys(oid uint32) (method uint32, keys []KeyOrder, included int, ok bool)
	// RelationUpdatable says what can be done with rows of a relation: INSERT, UPDATE and
	// DELETE are bits as in pg_relation_is_updatable; ColumnUpdatable is about a column.
	RelationUpdatable(oid uint32) (int, error)
	ColumnUpdatable(oid uint32, attnum int16) (bool, error)
	// HasPrivilege answers the has_*_privilege functions.
	HasPrivilege(req PrivilegeCheck) (has, ok bool, err error)
	// StatementStatistics returns what statements have cost on all nodes. StatementsKept returns how often the least used of them gave
	// way to others since all were forgotten, and when that was, or the last node began to count. ForgetStatements forgets those of a
	// user, a database and an id, where 0 stands for any.
	StatementStatistics() ([]StatementStatistics, error)
	StatementsKept() (rounds int64, since types.Datum, err error)
	ForgetStatements(user, database uint32, id int64) error
	// RowSecurityActive reports whether policies say which rows of a relation the user sees: of the one named, or if the name
	// is "" of the one with an oid, which ok says is one.
	RowSecurityActive(name string, oid uint32) (active, ok bool, err error)
}

// StatementStatistics is what the statements of a fingerprint have cost. Times are in milliseconds.
type StatementStatistics struct {
	User, Database uint32 // 0 for what there is no more
	Visible        bool   // the user may see ID and Query
	ID             int64
	Query          string
	Calls, Rows    int64
	Total, Squares float64 // the sums of the times and of their squares
	Min, Max       float64
}

// FunctionPart selects what FunctionDef prints.
type FunctionPart uint8

// The parts of a function's definition.
const (
	FunctionWhole FunctionPart = iota
	FunctionArguments
	FunctionIdentityArguments
	FunctionResult
)

// SizePart selects what RelationSize counts.
type SizePart uint8

// The parts of a relation's size.
const (
	SizeMain SizePart = iota
	SizeTable
	SizeIndexes
	SizeTotal
)

// PrivilegeCheck is one question of the has_*_privilege family. Users and
// objects are given by name or, where the name is empty, by oid.
type PrivilegeCheck struct {
	Kind      string // "table", "column", "schema", "database", "sequence", "function", "type", "any_column", "tablespace", "language", "role"
	User      string // "" with UserOid 0: the current user
	UserOid   uint32
	Object    string
	ObjectOid uint32
	Column    string
	ColumnNum int16
	Privilege string // as given: "SELECT, INSERT WITH GRANT OPTION"
}

// NeedSession returns the session or an error where there is none.
func (c *Context) NeedSession() (Session, error) {
	if c.Session == nil {
		return nil, pgerr.Unsupported("session functions are not available here")
	}
	return c.Session, nil
}

// ObjectName is what an object of the catalog is called.
type ObjectName struct {
	Kind     string // "table", "table column", …
	Schema   string // "" if it is in none
	Name     string // "" if that and the schema don't tell it from others
	Identity string // names it alone
	Text     string // for people
}

// ObjectAddress names an object by its kind and by lists of names; see pg_get_object_address.
type ObjectAddress struct {
	Kind        string
	Names, Args []string
}

// KeyOrder is how a key column of an index is ordered.
type KeyOrder struct{ Desc, NullsFirst bool }

// SessionFunc makes a function that asks the session.
func SessionFunc(f func(s Session, a []types.Datum) (types.Datum, error)) EvalFunc {
	return func(c *Context, a []types.Datum) (types.Datum, error) {
		s, err := c.NeedSession()
		if err != nil {
			return types.Null, err
		}
		return f(s, a)
	}
}
