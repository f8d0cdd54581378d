package ast

// Isolation is a transaction isolation level.
type Isolation uint8

// The isolation levels; IsolationDefault means none was written.
const (
	IsolationDefault Isolation = iota
	ReadUncommitted
	ReadCommitted
	RepeatableRead
	Serializable
)

// isolationNames is indexed by Isolation.
var isolationNames = [...]string{"", "READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}

// String returns the SQL words.
func (i Isolation) String() string { return isolationNames[i] }

// Tristate is a choice that may be left open.
type Tristate uint8

// The tristates.
const (
	Unset Tristate = iota
	Yes
	No
)

// TxnModes are the modes of BEGIN and SET TRANSACTION.
type TxnModes struct {
	Isolation  Isolation
	ReadOnly   Tristate // No is READ WRITE
	Deferrable Tristate
	AsOf       Expr // dialect: AS OF SYSTEM TIME
	// Priority is the dialect's PRIORITY low|normal|high, "" when not written.
	Priority string
}

// Begin is BEGIN or, with Start, START TRANSACTION.
type Begin struct {
	Loc
	Start bool
	Modes TxnModes
}

// Commit is COMMIT or END.
type Commit struct {
	Loc
	Chain bool
}

// Rollback is ROLLBACK or ABORT.
type Rollback struct {
	Loc
	Chain bool
}

// Savepoint is SAVEPOINT name.
type Savepoint struct {
	Loc
	Name Name
}

// Release is RELEASE SAVEPOINT name.
type Release struct {
	Loc
	Name Name
}

// RollbackTo is ROLLBACK TO SAVEPOINT name.
type RollbackTo struct {
	Loc
	Name Name
}

// PrepareTxnKind tells the two-phase commit statements apart.
type PrepareTxnKind uint8

// The two-phase commit statements.
const (
	PrepareTransaction PrepareTxnKind = iota
	CommitPrepared
	RollbackPrepared
)

// PrepareTxn is PREPARE TRANSACTION, COMMIT PREPARED or ROLLBACK PREPARED.
type PrepareTxn struct {
	Loc
	Kind PrepareTxnKind
	ID   string
}

// SetScope is SESSION or LOCAL.
type SetScope uint8

// The scopes of SET; not written means session.
const (
	ScopeSession SetScope = iota
	ScopeLocal
)

// SetVar is SET name = values, SET name TO DEFAULT (Default) and RESET (Reset;
// Name "" is RESET ALL). SET TIME ZONE comes as name "timezone", NAMES as
// "client_encoding", SCHEMA as "search_path", ROLE as "role", SESSION
// AUTHORIZATION as "session_authorization". FROM CURRENT sets Current.
type SetVar struct {
	Loc
	Scope   SetScope
	Name    string // lower case, with dots
	Values  []Expr // literals; bare words come as *StrLit; an interval as *Cast
	Default bool
	Reset   bool
	Current bool
}

// SetTransaction is SET TRANSACTION, or with Session SET SESSION
// CHARACTERISTICS AS TRANSACTION. Snapshot is that of SET TRANSACTION SNAPSHOT.
type SetTransaction struct {
	Loc
	Session  bool
	Local    bool
	Modes    TxnModes
	Snapshot string
}

// SetConstraints is SET CONSTRAINTS ALL|names DEFERRED|IMMEDIATE.
type SetConstraints struct {
	Loc
	All      bool
	Names    []TableName
	Deferred bool
}

// SetClusterSetting is the dialect's SET CLUSTER SETTING name = value; Value
// nil is DEFAULT.
type SetClusterSetting struct {
	Loc
	Name  string
	Value Expr
}

// Use is the dialect's USE database.
type Use struct {
	Loc
	Database Name
}

// CancelKind is what CANCEL ends.
type CancelKind uint8

// The targets of CANCEL.
const (
	CancelQueries CancelKind = iota
	CancelSessions
	CancelJobs
)

// Cancel is the dialect's CANCEL QUERY|SESSION|JOB, and PAUSE and RESUME JOB.
type Cancel struct {
	Loc
	Verb     string // "CANCEL", "PAUSE" or "RESUME"
	Kind     CancelKind
	IfExists bool
	IDs      []Expr
	Query    *Select
}

// DiscardKind is what DISCARD forgets.
type DiscardKind uint8

// The targets of DISCARD.
const (
	DiscardAll DiscardKind = iota
	DiscardPlans
	DiscardSequences
	DiscardTemp
)

// Discard is DISCARD.
type Discard struct {
	Loc
	Kind DiscardKind
}

// Listen is LISTEN channel.
type Listen struct {
	Loc
	Channel Name
}

// Unlisten is UNLISTEN; Channel "" with All is UNLISTEN *.
type Unlisten struct {
	Loc
	Channel Name
	All     bool
}

// Notify is NOTIFY channel [, payload].
type Notify struct {
	Loc
	Channel Name
	Payload string
}

func (*Begin) stmtNode()             {}
func (*Commit) stmtNode()            {}
func (*Rollback) stmtNode()          {}
func (*Savepoint) stmtNode()         {}
func (*Release) stmtNode()           {}
func (*RollbackTo) stmtNode()        {}
func (*PrepareTxn) stmtNode()        {}
func (*SetVar) stmtNode()            {}
func (*SetTransaction) stmtNode()    {}
func (*SetConstraints) stmtNode()    {}
func (*SetClusterSetting) stmtNode() {}
func (*Use) stmtNode()               {}
func (*Cancel) stmtNode()            {}
func (*Discard) stmtNode()           {}
func (*Listen) stmtNode()            {}
func (*Unlisten) stmtNode()          {}
func (*Notify) stmtNode()            {}
