package ast

// ObjectKind is a kind of database object, as DROP, COMMENT ON, GRANT and ALTER
// name it.
type ObjectKind uint8

// The object kinds.
const (
	ObjTable ObjectKind = iota
	ObjView
	ObjMaterializedView
	ObjIndex
	ObjSequence
	ObjSchema
	ObjDatabase
	ObjType
	ObjDomain
	ObjExtension
	ObjCollation
	ObjFunction
	ObjProcedure
	ObjRoutine
	ObjAggregate
	ObjOperator
	ObjCast
	ObjRole
	ObjColumn
	ObjConstraint
	ObjDomainConstraint
	ObjTrigger
	ObjRule
	ObjPolicy
	ObjLanguage
	ObjTablespace
	ObjForeignTable
	ObjForeignServer
	ObjForeignDataWrapper
	ObjStatistics
	ObjPublication
	ObjSubscription
	ObjEventTrigger
	ObjConversion
	ObjAccessMethod
	ObjLargeObject
	ObjParameter
	ObjTextSearchParser
	ObjTextSearchDictionary
	ObjTextSearchTemplate
	ObjTextSearchConfiguration
)

// objectKindNames is indexed by ObjectKind.
var objectKindNames = [...]string{
	"TABLE", "VIEW", "MATERIALIZED VIEW", "INDEX", "SEQUENCE", "SCHEMA", "DATABASE", "TYPE",
	"DOMAIN", "EXTENSION", "COLLATION", "FUNCTION", "PROCEDURE", "ROUTINE", "AGGREGATE", "OPERATOR", "CAST", "ROLE",
	"COLUMN", "CONSTRAINT", "CONSTRAINT", "TRIGGER", "RULE", "POLICY", "LANGUAGE", "TABLESPACE",
	"FOREIGN TABLE", "SERVER", "FOREIGN DATA WRAPPER", "STATISTICS", "PUBLICATION",
	"SUBSCRIPTION", "EVENT TRIGGER", "CONVERSION", "ACCESS METHOD", "LARGE OBJECT", "PARAMETER",
	"TEXT SEARCH PARSER", "TEXT SEARCH DICTIONARY", "TEXT SEARCH TEMPLATE",
	"TEXT SEARCH CONFIGURATION",
}

// String returns the SQL words.
func (k ObjectKind) String() string { return objectKindNames[k] }

// Option is name [value] in the option lists of several statements (EXPLAIN,
// COPY, CREATE DATABASE, VACUUM). Value is nil when none was written; bare
// words come as *StrLit; a parenthesised or comma list comes as *Row.
type Option struct {
	Loc
	Name  Name
	Value Expr
}

// CreateDatabase is CREATE DATABASE. Options keep their names in lower case:
// owner, template, encoding, lc_collate, connection_limit, ...
type CreateDatabase struct {
	Loc
	IfNotExists bool // dialect
	Name        Name
	Options     []Option
}

// DropDatabase is DROP DATABASE. Cascade and Restrict are dialect extras.
type DropDatabase struct {
	Loc
	IfExists bool
	Name     Name
	Force    bool
	Cascade  bool
	Restrict bool
}

// AlterDatabaseKind is the kind of an AlterDatabase.
type AlterDatabaseKind uint8

// The commands of ALTER DATABASE.
const (
	AlterDatabaseOptions AlterDatabaseKind = iota
	AlterDatabaseRename
	AlterDatabaseOwner
	AlterDatabaseSet   // and RESET
	AlterDatabaseSpace // SET TABLESPACE
	AlterDatabaseRefresh
)

// AlterDatabase is ALTER DATABASE.
type AlterDatabase struct {
	Loc
	Name    Name
	Kind    AlterDatabaseKind
	Options []Option
	NewName Name
	Owner   RoleSpec
	Set     *SetVar
}

// CreateTablespace is CREATE TABLESPACE; without HasLocation it is YugabyteDB's form,
// where With says where replicas live.
type CreateTablespace struct {
	Loc
	Name        Name
	Owner       *RoleSpec
	HasLocation bool
	Location    string
	With        []StorageParam
}

// DropTablespace is DROP TABLESPACE.
type DropTablespace struct {
	Loc
	IfExists bool
	Name     Name
}

// CreateSchema is CREATE SCHEMA. Name may be "" when Owner gives it.
type CreateSchema struct {
	Loc
	IfNotExists bool
	Name        Name
	Owner       *RoleSpec
	Elements    []Statement
}

// AlterObject renames an object, moves it to another schema or gives it to
// another owner; tables, views, indexes and sequences come as AlterTable.
type AlterObject struct {
	Loc
	Kind      ObjectKind
	Name      []Name
	NewName   Name // RENAME TO
	NewSchema Name // SET SCHEMA
	Owner     *RoleSpec
	Refresh   bool // REFRESH VERSION of a collation
}

// Drop drops objects of one kind.
type Drop struct {
	Loc
	Kind         ObjectKind
	IfExists     bool
	Concurrently bool
	// Names are the objects. A schema, type or extension is a TableName too;
	// its own name is Table. For a dialect DROP INDEX t@i, Tables[i] holds t.
	Names   []TableName
	Tables  []TableName
	Cascade bool
	// Restrict says RESTRICT was written; it is the default.
	Restrict bool
}

// CreateSequence is CREATE SEQUENCE.
type CreateSequence struct {
	Loc
	Persistence Persistence
	IfNotExists bool
	Name        TableName
	Options     []SequenceOption
}

// AlterSequence is ALTER SEQUENCE with options; RENAME, OWNER and SET SCHEMA
// come as AlterTable.
type AlterSequence struct {
	Loc
	IfExists bool
	Name     TableName
	Options  []SequenceOption
}

// SequenceOptionKind is the kind of a SequenceOption.
type SequenceOptionKind uint8

// The options of sequences; those without a value say "NO" by Kind.
const (
	SeqAs SequenceOptionKind = iota // Type
	SeqIncrement
	SeqMinValue
	SeqNoMinValue
	SeqMaxValue
	SeqNoMaxValue
	SeqStart
	SeqRestart // Value nil for a bare RESTART
	SeqCache
	SeqCycle
	SeqNoCycle
	SeqOwnedBy // Owner: column, or empty for NONE
	SeqName    // SEQUENCE NAME name: Owner holds the name
)

// SequenceOption is one option of a sequence.
type SequenceOption struct {
	Loc
	Kind  SequenceOptionKind
	Value Expr // *IntLit or *NumLit
	Type  *TypeName
	Owner []Name
}

// CheckOption is WITH CHECK OPTION of a view.
type CheckOption uint8

// The check options.
const (
	CheckNone CheckOption = iota
	CheckLocal
	CheckCascaded
)

// CreateView is CREATE VIEW; a materialized view comes as CreateTableAs.
type CreateView struct {
	Loc
	OrReplace   bool
	IfNotExists bool // dialect
	Persistence Persistence
	Name        TableName
	Cols        []Name
	With        []StorageParam
	Query       *Select
	Check       CheckOption
}

// RefreshView is REFRESH MATERIALIZED VIEW.
type RefreshView struct {
	Loc
	Concurrently bool
	Name         TableName
	WithData     bool
}

// CreateEnum is CREATE TYPE name AS ENUM (labels).
type CreateEnum struct {
	Loc
	IfNotExists bool // dialect
	Name        TableName
	Labels      []string
}

// CreateComposite is CREATE TYPE name AS (fields).
type CreateComposite struct {
	Loc
	Name   TableName
	Fields []ColumnDecl
}

// CreateRange is CREATE TYPE name AS RANGE (parameters).
type CreateRange struct {
	Loc
	Name   TableName
	Params []Option
}

// CreateCast is CREATE CAST (source AS target): through text, by a function, or without one.
type CreateCast struct {
	Loc
	From, To *TypeName
	// Function is the one that converts. Without one, values of the source are values of the target (Binary), or are converted
	// through text.
	Function *RoutineRef
	Binary   bool
	// Context is 'e', 'a' or 'i': explicit, AS ASSIGNMENT, AS IMPLICIT.
	Context byte
}

// DropCast is DROP CAST.
type DropCast struct {
	Loc
	From, To          *TypeName
	IfExists          bool
	Cascade, Restrict bool
}

// CreateCollation is CREATE COLLATION: by attributes, or a copy of another one.
type CreateCollation struct {
	Loc
	IfNotExists bool
	Name        TableName
	Params      []Option
	From        []Name
}

// AttributeKind says what ALTER TYPE does to an attribute.
type AttributeKind uint8

// The changes.
const (
	AttributeAdd AttributeKind = iota
	AttributeDrop
	AttributeAlter
	AttributeRename
)

// AttributeCmd is one change of an attribute of a composite type.
type AttributeCmd struct {
	Loc
	Kind     AttributeKind
	IfExists bool
	Name     Name
	NewName  Name
	Type     *TypeName
	Collate  []Name
	Cascade  bool
	Restrict bool
}

// AlterComposite is ALTER TYPE name with changes of attributes.
type AlterComposite struct {
	Loc
	Name TableName
	Cmds []AttributeCmd
}

// CreateDomain is CREATE DOMAIN.
type CreateDomain struct {
	Loc
	Name        TableName
	Type        *TypeName
	Collate     []Name
	Constraints []*Constraint
}

// AlterDomainKind says what ALTER DOMAIN changes.
type AlterDomainKind uint8

// The changes.
const (
	AlterDomainDefault AlterDomainKind = iota // SET DEFAULT X, DROP DEFAULT without X
	AlterDomainSetNotNull
	AlterDomainDropNotNull
	AlterDomainAdd
	AlterDomainDrop
	AlterDomainRename // a constraint
	AlterDomainValidate
)

// AlterDomain is ALTER DOMAIN, as far as it is not common to all types.
type AlterDomain struct {
	Loc
	Name       TableName
	Kind       AlterDomainKind
	X          Expr        // the default
	Constraint *Constraint // added
	Con        Name        // dropped, renamed or validated
	NewName    Name
	IfExists   bool
	Cascade    bool
}

// AlterEnum is ALTER TYPE name ADD VALUE or RENAME VALUE.
type AlterEnum struct {
	Loc
	Name        TableName
	IfNotExists bool
	Label       string // added, or renamed
	NewLabel    string // RENAME VALUE Label TO NewLabel
	Rename      bool
	// Neighbor is the label that the new one goes before or after.
	Neighbor string
	Before   bool
	After    bool
}

// UpdateExtension is ALTER EXTENSION UPDATE.
type UpdateExtension struct {
	Loc
	Name    Name
	Version string
}

// CreateExtension is CREATE EXTENSION.
type CreateExtension struct {
	Loc
	IfNotExists bool
	Name        Name
	Schema      Name
	Version     string
	Cascade     bool
}

// Comment is COMMENT ON.
type Comment struct {
	Loc
	Kind ObjectKind
	// Name is the object's qualified name; for a column the last part is the
	// column, for a constraint or trigger Name is its own and On the relation.
	Name []Name
	On   []Name
	// Args are the argument types of a function, or the operands of an operator, which without Prefix has a left one.
	Args   []*TypeName
	Prefix bool
	// Text is the comment; Null says IS NULL.
	Text string
	Null bool
}

func (*CreateDatabase) stmtNode()   {}
func (*DropDatabase) stmtNode()     {}
func (*CreateTablespace) stmtNode() {}
func (*DropTablespace) stmtNode()   {}
func (*AlterDatabase) stmtNode()    {}
func (*CreateSchema) stmtNode()     {}
func (*AlterObject) stmtNode()      {}
func (*Drop) stmtNode()             {}
func (*CreateSequence) stmtNode()   {}
func (*AlterSequence) stmtNode()    {}
func (*CreateView) stmtNode()       {}
func (*RefreshView) stmtNode()      {}
func (*CreateEnum) stmtNode()       {}
func (*CreateComposite) stmtNode()  {}
func (*CreateDomain) stmtNode()     {}
func (*AlterDomain) stmtNode()      {}
func (*AlterEnum) stmtNode()        {}
func (*AlterComposite) stmtNode()   {}
func (*CreateRange) stmtNode()      {}
func (*CreateCast) stmtNode()       {}
func (*DropCast) stmtNode()         {}
func (*CreateCollation) stmtNode()  {}
func (*CreateExtension) stmtNode()  {}
func (*UpdateExtension) stmtNode()  {}
func (*Comment) stmtNode()          {}
