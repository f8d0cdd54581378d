package ast

// The position of an expression whose own mark (Loc.Pos: an operator, a subscript) follows an
// operand is where the operand begins: that is where errors about the whole point.

// Position implements Node.
func (e *BinaryOp) Position() int { return e.L.Position() }

// Position implements Node.
func (e *And) Position() int { return e.Args[0].Position() }

// Position implements Node.
func (e *Or) Position() int { return e.Args[0].Position() }

// Position implements Node.
func (e *IsNull) Position() int { return e.X.Position() }

// Position implements Node.
func (e *IsTruth) Position() int { return e.X.Position() }

// Position implements Node.
func (e *IsDistinct) Position() int { return e.L.Position() }

// Position implements Node.
func (e *Between) Position() int { return e.X.Position() }

// Position implements Node.
func (e *In) Position() int { return e.X.Position() }

// Position implements Node.
func (e *Like) Position() int { return e.X.Position() }

// Position implements Node.
func (e *Quantified) Position() int { return e.L.Position() }

// Position implements Node.
func (e *Subscript) Position() int { return e.X.Position() }

// Position implements Node.
func (e *FieldSelect) Position() int { return e.X.Position() }

// Position implements Node.
func (e *Collate) Position() int { return e.X.Position() }

// Position implements Node. A constant has its own, however its type is written.
func (e *Cast) Position() int {
	x := e.X.Position()
	if _, ok := e.X.(*StrLit); ok {
		return x
	}
	return min(e.Pos, x)
}
