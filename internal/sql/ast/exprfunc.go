package ast

// FuncSyntax says which special grammar a function call was written in. The
// call's name and arguments are those of the function that does it, so only
// printing needs this.
type FuncSyntax uint8

// The special grammars. The comment gives the resulting call.
const (
	SyntaxPlain            FuncSyntax = iota
	SyntaxExtract                     // EXTRACT(f FROM x): extract('f', x)
	SyntaxOverlay                     // OVERLAY(a PLACING b FROM c [FOR d]): overlay(a, b, c[, d])
	SyntaxPosition                    // POSITION(a IN b): position(b, a)
	SyntaxSubstring                   // SUBSTRING(a FROM b [FOR c]): substring(a, b[, c])
	SyntaxSubstringSimilar            // SUBSTRING(a SIMILAR b ESCAPE c): substring(a, b, c)
	SyntaxTrimBoth                    // TRIM([BOTH] [a FROM] b): btrim(b[, a])
	SyntaxTrimLeading                 // TRIM(LEADING [a FROM] b): ltrim(b[, a])
	SyntaxTrimTrailing                // TRIM(TRAILING [a FROM] b): rtrim(b[, a])
	SyntaxNormalize                   // NORMALIZE(a[, NFC]): normalize(a[, 'NFC'])
	SyntaxIsNormalized                // a IS [NFC] NORMALIZED: is_normalized(a[, 'NFC'])
	SyntaxCollationFor                // COLLATION FOR (a): pg_collation_for(a)
	SyntaxAtTimeZone                  // x AT TIME ZONE z: timezone(z, x)
	SyntaxOverlaps                    // (a, b) OVERLAPS (c, d): overlaps(a, b, c, d)
)

// FuncCall is a call of a function, aggregate or window function.
type FuncCall struct {
	Loc
	Name   FuncName
	Syntax FuncSyntax
	Args   []Expr // a *NamedArg for name => value
	// Star is count(*): no arguments.
	Star     bool
	Distinct bool
	// Variadic says VARIADIC stood before the last argument.
	Variadic bool
	// OrderBy is the aggregate's ORDER BY, or that of WITHIN GROUP.
	OrderBy     []OrderItem
	WithinGroup bool
	Filter      Expr // FILTER (WHERE ...), nil when not written
	Over        *WindowSpec
}

// NamedArg is name => X (or name := X) in a call.
type NamedArg struct {
	Loc
	Name Name
	X    Expr
}

// Grouping is GROUPING(args).
type Grouping struct {
	Loc
	Args []Expr
}

// GroupingSetKind is the kind of an item of GROUP BY.
type GroupingSetKind uint8

// The kinds of grouping set.
const (
	GroupingEmpty  GroupingSetKind = iota // ()
	GroupingRollup                        // ROLLUP (...)
	GroupingCube                          // CUBE (...)
	GroupingSets                          // GROUPING SETS (...)
)

// GroupingSet is an item of GROUP BY that is more than an expression. Items
// may nest; a parenthesised group is a *Row.
type GroupingSet struct {
	Loc
	Kind  GroupingSetKind
	Items []Expr
}

// SQLValueKind names a parameterless function with its own grammar.
type SQLValueKind uint8

// The functions that are called without parentheses.
const (
	CurrentDate SQLValueKind = iota
	CurrentTime
	CurrentTimestamp
	LocalTime
	LocalTimestamp
	CurrentRole
	CurrentUser
	User
	SessionUser
	CurrentCatalog
	CurrentSchema
)

// sqlValueNames is indexed by SQLValueKind.
var sqlValueNames = [...]string{
	"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP",
	"CURRENT_ROLE", "CURRENT_USER", "USER", "SESSION_USER", "CURRENT_CATALOG", "CURRENT_SCHEMA",
}

// String returns the SQL word.
func (k SQLValueKind) String() string { return sqlValueNames[k] }

// SQLValue is CURRENT_DATE, CURRENT_TIMESTAMP(3), CURRENT_USER and their kin.
type SQLValue struct {
	Loc
	Kind SQLValueKind
	// Precision is that of CURRENT_TIME(n) and its kin; -1 when not written.
	Precision int
}

// FrameUnit is ROWS, RANGE or GROUPS.
type FrameUnit uint8

// The frame units.
const (
	FrameRange FrameUnit = iota
	FrameRows
	FrameGroups
)

// BoundKind is the kind of a window frame's end.
type BoundKind uint8

// The frame bounds.
const (
	UnboundedPreceding BoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// FrameBound is one end of a window frame.
type FrameBound struct {
	Kind   BoundKind
	Offset Expr // for the Offset kinds
}

// FrameExclusion is the EXCLUDE clause of a frame.
type FrameExclusion uint8

// The frame exclusions.
const (
	ExcludeNoOthers FrameExclusion = iota // also when not written
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

// Frame is a window's frame clause. Without BETWEEN (Short), End is CURRENT ROW.
type Frame struct {
	Loc
	Short     bool
	Unit      FrameUnit
	Start     FrameBound
	End       FrameBound
	Exclusion FrameExclusion
}

// WindowSpec is what follows OVER, or a definition of the WINDOW clause.
type WindowSpec struct {
	Loc
	// Name is that of OVER name, or the name defined in WINDOW; the other
	// fields but Ref then stand for OVER (...) and the definition.
	Name Name
	// Ref is the window that the parenthesised definition starts from.
	Ref         Name
	PartitionBy []Expr
	OrderBy     []OrderItem
	Frame       *Frame // nil for the default
}

func (*FuncCall) exprNode()    {}
func (*NamedArg) exprNode()    {}
func (*Grouping) exprNode()    {}
func (*GroupingSet) exprNode() {}
func (*SQLValue) exprNode()    {}
