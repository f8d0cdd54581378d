package ast

import (
	"strconv"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// LiteralText returns the text of a literal or a name: a value of SET or of an option; 42601 for
// any other expression.
func LiteralText(x Expr) (string, error) {
	switch v := x.(type) {
	case *StrLit:
		return v.Val, nil
	case *IntLit:
		return strconv.FormatInt(v.Val, 10), nil
	case *NumLit:
		return v.Text, nil
	case *BoolLit:
		if v.Val {
			return "on", nil
		}
		return "off", nil
	case *UnaryOp:
		text, err := LiteralText(v.X)
		return v.Op.Name + text, err
	case *Cast:
		return LiteralText(v.X)
	case *ColumnRef:
		return Format(v), nil
	}
	return "", pgerr.New(pgerr.SyntaxError, "SET takes literals only").At(x.Position())
}
