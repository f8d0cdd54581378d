package ast

// TypeName is a type as written, unresolved. The types with a grammar of their
// own (INT, VARCHAR(3), TIMESTAMP WITH TIME ZONE) come as {"pg_catalog", "int4"}
// and so on; every other name, STRING and SERIAL among them, comes as written.
type TypeName struct {
	Loc
	Names []Name
	// Typmods are the modifiers in parentheses, usually integer literals.
	Typmods []Expr
	// Fields restricts an interval: INTERVAL DAY TO SECOND.
	Fields IntervalFields
	// DefaultInt says the type was written INT or INTEGER, which
	// default_int_size may widen.
	DefaultInt bool
	// Stored says that the text is the server's own, where INT is INT4.
	Stored bool
	Setof  bool
	// ArrayDims has one entry per array dimension: the size written, or -1.
	ArrayDims []int
	// PctType says the name is table.column%TYPE.
	PctType bool
}

// IntervalFields is the field restriction of an interval type.
type IntervalFields uint8

// The field restrictions; IntervalAll is none.
const (
	IntervalAll IntervalFields = iota
	IntervalYear
	IntervalMonth
	IntervalDay
	IntervalHour
	IntervalMinute
	IntervalSecond
	IntervalYearToMonth
	IntervalDayToHour
	IntervalDayToMinute
	IntervalDayToSecond
	IntervalHourToMinute
	IntervalHourToSecond
	IntervalMinuteToSecond
)

// intervalFieldNames is indexed by IntervalFields.
var intervalFieldNames = [...]string{
	"", "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "YEAR TO MONTH",
	"DAY TO HOUR", "DAY TO MINUTE", "DAY TO SECOND", "HOUR TO MINUTE",
	"HOUR TO SECOND", "MINUTE TO SECOND",
}

// String returns the SQL words, "" for IntervalAll.
func (f IntervalFields) String() string { return intervalFieldNames[f] }
