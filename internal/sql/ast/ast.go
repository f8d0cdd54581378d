package ast

// Loc is embedded in every node that an error can point at.
type Loc struct {
	// Pos is the 1-based character position in the text given to the parser;
	// 0 when unknown. It can be handed to pgerr.Error.At as it is.
	Pos int
}

// Position returns Pos.
func (l Loc) Position() int { return l.Pos }

// Node is any part of the tree that carries a position.
type Node interface {
	Position() int
}

// Statement is one SQL statement.
type Statement interface {
	Node
	// Tag is the command tag without counts, such as "SELECT" or
	// "CREATE TABLE".
	Tag() string
	stmtNode()
}

// Expr is a scalar expression.
type Expr interface {
	Node
	exprNode()
}

// TableExpr is an item of a FROM clause.
type TableExpr interface {
	Node
	tableExprNode()
}

// Unsupported stands for a statement that PostgreSQL has and Lichen does not
// model. Its syntax was checked.
type Unsupported struct {
	Loc
	// Feature names what is missing, e.g. "CREATE TRIGGER".
	Feature string
	// IfExists is what a DROP ... IF EXISTS names, as written.
	IfExists string
}

// ReturnsRows reports whether a statement sends a row description and rows.
// EXECUTE and FETCH depend on what they name: they report true, and the caller
// looks at the prepared statement or the cursor.
func ReturnsRows(s Statement) bool {
	switch s := s.(type) {
	case *Select:
		return s.Into == nil
	case *Insert:
		return len(s.Returning) > 0
	case *Update:
		return len(s.Returning) > 0
	case *Delete:
		return len(s.Returning) > 0
	case *Show, *ShowObjects, *Explain, *Execute, *Split, *Scatter, *Inspect, *ShowRanges, *ShowZone:
		return true
	case *Fetch:
		return !s.Move
	default:
		return false
	}
}
