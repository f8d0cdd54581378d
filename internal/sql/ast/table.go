package ast

// Persistence is how durable a relation is.
type Persistence uint8

// The persistences.
const (
	Permanent Persistence = iota
	Temporary
	Unlogged
)

// OnCommit is what happens to a temporary table's rows at commit.
type OnCommit uint8

// The ON COMMIT choices.
const (
	OnCommitDefault OnCommit = iota
	OnCommitPreserve
	OnCommitDelete
	OnCommitDrop
)

// StorageParam is name [= value] in WITH (...). Namespace is the part before a
// dot ("toast"). Value is nil when not written; words come as *StrLit.
type StorageParam struct {
	Loc
	Namespace Name
	Name      Name
	Value     Expr
}

// CreateTable is CREATE TABLE.
type CreateTable struct {
	Loc
	Persistence Persistence
	IfNotExists bool
	Name        TableName
	// OfType is the composite type of CREATE TABLE t OF type.
	OfType []Name
	// PartitionOf is the parent of CREATE TABLE t PARTITION OF parent.
	PartitionOf *TableName
	Bound       *PartitionBound
	// Defs are the columns, constraints, LIKE clauses and inline indexes in
	// the order written.
	Defs        []TableDef
	Inherits    []TableName
	PartitionBy *PartitionBy
	Using       Name // access method
	With        []StorageParam
	OnCommit    OnCommit
	Tablespace  Name
	// SplitInto is n of the dialect's SPLIT INTO n TABLETS, SplitAt the points
	// of SPLIT AT VALUES (...).
	SplitInto Expr
	SplitAt   [][]Expr
	// Locality and other trailing dialect clauses are not modelled.
}

// TableDef is an element of CREATE TABLE's list: *ColumnDef, *Constraint,
// *LikeClause, *InlineIndex or *FamilyDef.
type TableDef interface {
	Node
	tableDefNode()
}

// ColumnDef is a column of CREATE TABLE or ADD COLUMN.
type ColumnDef struct {
	Loc
	Name Name
	// Type is nil in typed tables and partitions (OF, PARTITION OF).
	Type        *TypeName
	Collate     []Name
	CollateAt   Loc
	Compression Name
	// NotVisible is the dialect's NOT VISIBLE: the column is not part of *.
	NotVisible bool
	// Constraints are those of the column, in order. A DEFAULT, NOT NULL,
	// GENERATED and REFERENCES is one too.
	Constraints []*Constraint
	// Options is the list of OPTIONS (...) of foreign tables.
	Options []Option
	// Family is the dialect's clause, nil if there is none.
	Family *ColumnFamily
}

// ColumnFamily is the dialect's [CREATE [IF NOT EXISTS]] FAMILY name of a column; CREATE
// FAMILY goes without a name too.
type ColumnFamily struct {
	Loc
	Create      bool
	IfNotExists bool
	Name        Name
}

// ConstraintKind is the kind of a Constraint.
type ConstraintKind uint8

// The kinds of constraint; those from ConstrNull to ConstrGenerated exist for
// columns only.
const (
	ConstrNull ConstraintKind = iota
	ConstrNotNull
	ConstrDefault
	ConstrOnUpdate  // ON UPDATE X; dialect
	ConstrIdentity  // GENERATED ALWAYS|BY DEFAULT AS IDENTITY (options)
	ConstrGenerated // GENERATED ALWAYS AS (X) STORED|VIRTUAL
	ConstrCheck
	ConstrPrimaryKey
	ConstrUnique
	ConstrForeignKey // and REFERENCES of a column
	ConstrExclude
)

// RefAction is what a foreign key does on update or delete.
type RefAction uint8

// The referential actions.
const (
	RefNoAction RefAction = iota // also when not written
	RefRestrict
	RefCascade
	RefSetNull
	RefSetDefault
)

// RefMatch is the MATCH of a foreign key.
type RefMatch uint8

// The match types.
const (
	MatchSimple RefMatch = iota // also when not written
	MatchFull
)

// Constraint is a column or table constraint.
type Constraint struct {
	Loc
	Name Name // "" when not named
	Kind ConstraintKind

	X Expr // DEFAULT, CHECK, GENERATED

	// Key columns of PRIMARY KEY, UNIQUE and EXCLUDE; empty when the
	// constraint belongs to one column.
	Keys             []IndexElem
	NullsNotDistinct bool
	Include          []Name
	With             []StorageParam
	Tablespace       Name
	// UsingIndex is that of ADD CONSTRAINT ... UNIQUE USING INDEX name.
	UsingIndex Name
	// Sharded is the dialect's USING HASH, with its bucket count or nil.
	Sharded bool
	Buckets Expr
	// Split parts of the dialect: PRIMARY KEY (...) SPLIT INTO n TABLETS.
	SplitInto Expr

	// FOREIGN KEY and REFERENCES.
	Cols       []Name // referencing columns; empty for a column constraint
	RefTable   TableName
	RefCols    []Name
	Match      RefMatch
	OnDelete   RefAction
	OnUpdate   RefAction
	DeleteCols []Name // ON DELETE SET NULL|DEFAULT (cols)

	// EXCLUDE: the method, and the operator for each of Keys.
	Method     Name
	ExcludeOps []Operator
	Where      Expr

	// Virtual is the dialect's VIRTUAL instead of STORED.
	Virtual bool

	// IDENTITY.
	Always  bool // GENERATED ALWAYS
	Options []SequenceOption

	NoInherit  bool
	NotValid   bool
	Deferrable bool
	// NotDeferrable says NOT DEFERRABLE was written.
	NotDeferrable     bool
	InitiallyDeferred bool
	// InitiallyImmediate says INITIALLY IMMEDIATE was written.
	InitiallyImmediate bool
}

// LikeOption is a bit set of what LIKE copies.
type LikeOption uint16

// The options of LIKE.
const (
	LikeComments LikeOption = 1 << iota
	LikeCompression
	LikeConstraints
	LikeDefaults
	LikeGenerated
	LikeIdentity
	LikeIndexes
	LikeStatistics
	LikeStorage
	LikeAll LikeOption = 1<<9 - 1
)

// LikeClause is LIKE table [INCLUDING|EXCLUDING ...].
type LikeClause struct {
	Loc
	Table   TableName
	Options LikeOption
}

// InlineIndex is the dialect's [UNIQUE] [INVERTED] INDEX [name] (cols) in
// CREATE TABLE.
type InlineIndex struct {
	Loc
	Name     Name
	Unique   bool
	Inverted bool
	Method   Name
	Keys     []IndexElem
	Sharded  bool
	Buckets  Expr
	Storing  []Name
	// NullsNotDistinct is written as in CREATE INDEX.
	NullsNotDistinct bool
	With             []StorageParam
	Where            Expr
}

// FamilyDef is the dialect's FAMILY [name] (cols).
type FamilyDef struct {
	Loc
	Name Name
	Cols []Name
}

// PartitionBy is PARTITION BY RANGE|LIST|HASH (keys).
type PartitionBy struct {
	Loc
	Strategy Name // "range", "list" or "hash"
	Keys     []IndexElem
}

// PartitionBound is FOR VALUES ... or DEFAULT.
type PartitionBound struct {
	Loc
	Default   bool
	In        []Expr // FOR VALUES IN (...)
	From, To  []Expr // FOR VALUES FROM (...) TO (...)
	Hash      bool   // FOR VALUES WITH (MODULUS m, REMAINDER r)
	Modulus   int
	Remainder int
}

// CreateTableAs is CREATE TABLE name AS query, or with View CREATE
// MATERIALIZED VIEW.
type CreateTableAs struct {
	Loc
	Materialized bool // CREATE MATERIALIZED VIEW
	Persistence  Persistence
	IfNotExists  bool
	Name         TableName
	Cols         []Name
	Using        Name
	With         []StorageParam
	OnCommit     OnCommit
	Tablespace   Name
	// Query is a *Select, or an *Execute.
	Query    Statement
	WithData bool // false for WITH NO DATA
}

// CreateIndex is CREATE INDEX.
type CreateIndex struct {
	Loc
	Unique       bool
	Inverted     bool // dialect
	Concurrently bool
	IfNotExists  bool
	Name         Name // "" to let the system choose
	Table        TableRef
	Method       Name // "" for the default
	Keys         []IndexElem
	// Include holds INCLUDE, STORING and COVERING columns, which the grammar
	// takes for keys.
	Include          []IndexElem
	NullsNotDistinct bool
	Sharded          bool // dialect: USING HASH after the columns
	Buckets          Expr
	With             []StorageParam
	Tablespace       Name
	Where            Expr
	SplitInto        Expr     // dialect
	SplitAt          [][]Expr // dialect
}

// IndexElem is a key of an index, constraint or conflict target: a column or an
// expression.
type IndexElem struct {
	Loc
	Column  Name // "" when X is set
	X       Expr
	Collate []Name
	OpClass []Name
	OpArgs  []StorageParam
	Dir     Direction
	Nulls   NullsOrder
	// Hash says the dialect's "k HASH" marked a hash-distributed key. Group is
	// > 0 for the columns of a leading ((a, b) HASH) list.
	Hash  bool
	Group int
}

func (*ColumnDef) tableDefNode()   {}
func (*Constraint) tableDefNode()  {}
func (*LikeClause) tableDefNode()  {}
func (*InlineIndex) tableDefNode() {}
func (*FamilyDef) tableDefNode()   {}

func (*CreateTable) stmtNode()   {}
func (*CreateTableAs) stmtNode() {}
func (*CreateIndex) stmtNode()   {}
