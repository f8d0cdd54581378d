package ast

// RangeSource names the keys that a statement about ranges is for: a table (its
// primary index), an index, a database.
type RangeSource struct {
	// Kind is ObjTable, ObjIndex or ObjDatabase. A bare index name, ALTER INDEX i,
	// has Kind ObjIndex and no Index.
	Kind  ObjectKind
	Name  TableName
	Index Name // of t@i
}

// Split is the dialect's ALTER TABLE|INDEX ... SPLIT AT, or with Into SPLIT INTO n
// TABLETS, as a statement; with Unsplit it is UNSPLIT.
type Split struct {
	Loc
	Source  RangeSource
	Unsplit bool
	All     bool // UNSPLIT ALL
	Into    Expr
	Rows    *Select
	Expires Expr // WITH EXPIRATION
}

// Scatter is the dialect's ALTER TABLE|INDEX ... SCATTER [FROM (...) TO (...)].
type Scatter struct {
	Loc
	Source   RangeSource
	From, To []Expr
}

// ZoneTarget names what a zone configuration is for: Range, as in RANGE default,
// or an object.
type ZoneTarget struct {
	Range  Name
	Source RangeSource
}

// ZoneSetting is one variable of CONFIGURE ZONE USING. Copy says COPY FROM PARENT.
type ZoneSetting struct {
	Loc
	Name  string // with dots
	Value Expr
	Copy  bool
}

// ConfigureZone is the dialect's ALTER ... CONFIGURE ZONE USING, or with Discard
// CONFIGURE ZONE DISCARD.
type ConfigureZone struct {
	Loc
	Target   ZoneTarget
	IfExists bool
	Settings []ZoneSetting
	Discard  bool
}

// ShowZone is the dialect's SHOW ZONE CONFIGURATION FROM.
type ShowZone struct {
	Loc
	Target ZoneTarget
}

// ShowRanges is the dialect's SHOW RANGES [FROM source] and, with Row, SHOW RANGE
// FROM source FOR ROW (values). With Survival it is SHOW SURVIVAL [FROM source].
type ShowRanges struct {
	Loc
	Survival bool
	Source   *RangeSource // nil: the current database, or everything with Cluster
	Cluster  bool         // SHOW CLUSTER RANGES
	Row      []Expr
	Details  bool // WITH DETAILS
}

// Inspect is the dialect's INSPECT TABLE|INDEX|DATABASE: it compares indexes with their tables.
type Inspect struct {
	Loc
	Source RangeSource
}

func (*Inspect) stmtNode()       {}
func (*Split) stmtNode()         {}
func (*Scatter) stmtNode()       {}
func (*ConfigureZone) stmtNode() {}
func (*ShowZone) stmtNode()      {}
func (*ShowRanges) stmtNode()    {}

// Tag implements Statement.
func (s *Split) Tag() string {
	if s.Unsplit {
		return "UNSPLIT"
	}
	return "SPLIT"
}

// Tag implements Statement.
func (*Inspect) Tag() string { return "INSPECT" }

// Tag implements Statement.
func (*Scatter) Tag() string { return "SCATTER" }

// Tag implements Statement.
func (*ConfigureZone) Tag() string { return "CONFIGURE ZONE" }

// Tag implements Statement.
func (*ShowZone) Tag() string { return "SHOW" }

// Tag implements Statement.
func (*ShowRanges) Tag() string { return "SHOW" }
