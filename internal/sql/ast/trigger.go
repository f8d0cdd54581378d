package ast

// TriggerTiming says when a trigger fires.
type TriggerTiming uint8

// The timings.
const (
	TriggerBefore TriggerTiming = iota
	TriggerAfter
	TriggerInstead
)

var triggerTimingNames = [...]string{"BEFORE", "AFTER", "INSTEAD OF"}

// String returns the SQL words.
func (t TriggerTiming) String() string { return triggerTimingNames[t] }

// TriggerEvents are what a trigger fires for.
type TriggerEvents uint8

// The events, in the order in which they are printed.
const (
	OnInsert TriggerEvents = 1 << iota
	OnDelete
	OnUpdate
	OnTruncate
)

// TriggerEventNames are the words of the events by their bits.
var TriggerEventNames = [...]string{"INSERT", "DELETE", "UPDATE", "TRUNCATE"}

// Transition is a transition table that a trigger names: REFERENCING.
type Transition struct {
	Loc
	New  bool // NEW, else OLD
	Row  bool // ROW, which is refused, else TABLE
	Name Name
}

// CreateTrigger is CREATE TRIGGER and CREATE CONSTRAINT TRIGGER.
type CreateTrigger struct {
	Loc
	OrReplace  bool
	Constraint bool
	Name       Name
	Timing     TriggerTiming
	Events     TriggerEvents
	// Of are the columns of UPDATE OF.
	Of    []Name
	Table TableName
	// From is the other table of a constraint trigger; nil for none.
	From *TableName
	// Attrs has the deferral of a constraint trigger.
	Attrs       Constraint
	Transitions []Transition
	Row         bool // FOR EACH ROW
	When        Expr // nil for none
	Func        TableName
	Args        []string
}

// DropTrigger is DROP TRIGGER.
type DropTrigger struct {
	Loc
	IfExists bool
	Name     Name
	Table    TableName
	Cascade  bool
	Restrict bool
}

// AlterTriggerStmt is ALTER TRIGGER: one of the forms.
type AlterTriggerStmt struct {
	Loc
	Name    Name
	Table   TableName
	NewName Name
	// Extension is [NO] DEPENDS ON EXTENSION.
	No        bool
	Extension Name
}

func (*CreateTrigger) stmtNode()    {}
func (*DropTrigger) stmtNode()      {}
func (*AlterTriggerStmt) stmtNode() {}

// Tag implements Statement.
func (*CreateTrigger) Tag() string { return "CREATE TRIGGER" }

// Tag implements Statement.
func (*DropTrigger) Tag() string { return "DROP TRIGGER" }

// Tag implements Statement.
func (*AlterTriggerStmt) Tag() string { return "ALTER TRIGGER" }
