package builtin

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/jsonpath"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Context is what a call may need at run time. One belongs to a session (or to
// one goroutine of a statement); the session sets the times per statement.
// A zero Context serves constant folding of immutable functions.
type Context struct {
	// Ctx is cancelled when the statement is; nil means it cannot be.
	Ctx context.Context
	// Format holds the session settings that text forms depend on: time zone,
	// date style, interval style, extra_float_digits. Nil means the defaults.
	Format *types.FormatContext
	// StmtTime and TxnTime are statement_timestamp() and now(), in microseconds
	// since 2000-01-01 UTC.
	StmtTime int64
	TxnTime  int64
	// Now reads the wall clock; nil means time.Now.
	Now func() time.Time
	// Session serves functions about the session and the catalog; nil makes
	// them fail with 0A000.
	Session Session

	// Values accounts for large values that calls make; nil means without limit.
	Values *quota.Values
	// Bulky is set by calls that take or return large values.
	Bulky bool

	rng     *rand.Rand
	regexps regexpCache
	paths   map[string]*jsonpath.Path
	steps   int   // since the last look at Ctx
	stopped error // what Step returns from now on
	ended   bool  // between statements
	folding bool  // see Overload.Fold
	folded  int   // looks while folding
	claimed int64 // from Values, by the running call
}

// Folding returns a context to compute constants with while a statement is planned: see Overload.Fold.
func Folding() *Context { return &Context{folding: true} }

// Apart returns a context with the same settings and times that asks no session: to
// compute what does not depend on one.
func (c *Context) Apart() *Context {
	a := &Context{Ctx: c.Ctx, Format: types.NewFormatContext(), StmtTime: c.StmtTime, TxnTime: c.TxnTime, Now: c.Now, Values: c.Values}
	if c.Format != nil {
		*a.Format = *c.Format
	}
	a.Format.Step = a.Step
	return a
}

// Session is what functions ask of the session that runs them. Implementations
// return pgerr errors.
type Session interface {
	CurrentUser() string
	SessionUser() string
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

	// CancelBackend cancels the statement of another session, or with
	// terminate closes the session; it reports whether there is one.
	CancelBackend(pid int32, terminate bool) (bool, error)
	// AdvisoryLock takes (or with try, tries to take) an advisory lock.
	AdvisoryLock(req AdvisoryLockRequest) (bool, error)
	// AdvisoryUnlock releases a session-level advisory lock, or all of them.
	AdvisoryUnlock(req AdvisoryLockRequest, all bool) (bool, error)

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
	// ViewDef, IndexDef, ConstraintDef and ExprDef print definitions. column is
	// 0 for the whole index.
	ViewDef(oid uint32, pretty bool, wrap int) (string, bool, error)
	IndexDef(oid uint32, column int32, pretty bool) (string, bool, error)
	ConstraintDef(oid uint32, pretty bool) (string, bool, error)
	ExprDef(expr string, relation uint32, pretty bool) (string, bool, error)
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

// session returns the session or an error where there is none.
func (c *Context) session() (Session, error) {
	if c.Session == nil {
		return nil, pgerr.Unsupported("session functions are not available here")
	}
	return c.Session, nil
}

// ctx returns the statement's context.
func (c *Context) ctx() context.Context {
	if c.Ctx == nil {
		return context.Background()
	}
	return c.Ctx
}

// checkCancel returns 57014 once the statement is cancelled; loops that may
// run long call it.
func (c *Context) checkCancel() error {
	if c.Ctx == nil || c.Ctx.Err() == nil {
		return nil
	}
	return c.cancelCause()
}

// cancelCause returns why the statement's context ended: what the session says
// (a request, statement_timeout, a shutdown), else 57014.
func (c *Context) cancelCause() error {
	var pe *pgerr.Error
	if errors.As(context.Cause(c.ctx()), &pe) {
		return pe
	}
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}

func (c *Context) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// pgEpochSeconds is 2000-01-01 in Unix time, where timestamps count from.
const pgEpochSeconds = 946684800

// clockMicros returns the wall clock in microseconds since 2000-01-01 UTC.
func (c *Context) clockMicros() int64 { return c.now().UnixMicro() - pgEpochSeconds*1_000_000 }

// random returns the session's generator, seeding it on first use.
func (c *Context) random() *rand.Rand {
	if c.rng == nil {
		c.rng = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return c.rng
}

// SeedRandom is setseed(): the same seed gives the same sequence.
func (c *Context) SeedRandom(seed float64) {
	c.rng = rand.New(rand.NewPCG(uint64(int64(seed*(1<<62))), 0x9e3779b97f4a7c15))
}
