package plan

import "slices"

func (e *Const) copy() Expr {
	c := *e
	return &c
}

func (e *ColRef) copy() Expr {
	c := *e
	return &c
}

func (e *Param) copy() Expr {
	c := *e
	return &c
}

func (e *Call) copy() Expr {
	c := *e
	c.Args = slices.Clone(e.Args)
	return &c
}

func (e *Cast) copy() Expr {
	c := *e
	return &c
}

func (e *And) copy() Expr {
	c := *e
	c.Args = slices.Clone(e.Args)
	return &c
}

func (e *Or) copy() Expr {
	c := *e
	c.Args = slices.Clone(e.Args)
	return &c
}

func (e *Not) copy() Expr {
	c := *e
	return &c
}

func (e *Is) copy() Expr {
	c := *e
	return &c
}

func (e *IsDistinct) copy() Expr {
	c := *e
	return &c
}

func (e *Case) copy() Expr {
	c := *e
	c.Whens = slices.Clone(e.Whens)
	return &c
}

func (e *AllElements) copy() Expr {
	c := *e
	return &c
}

func (e *CaseOperand) copy() Expr {
	c := *e
	return &c
}

func (e *Coalesce) copy() Expr {
	c := *e
	c.Args = slices.Clone(e.Args)
	return &c
}

func (e *NullIf) copy() Expr {
	c := *e
	return &c
}

func (e *MinMax) copy() Expr {
	c := *e
	c.Args = slices.Clone(e.Args)
	return &c
}

func (e *InList) copy() Expr {
	c := *e
	c.List = slices.Clone(e.List)
	return &c
}

func (e *AnyAll) copy() Expr {
	c := *e
	return &c
}

func (e *ArrayCtor) copy() Expr {
	c := *e
	c.Elems = slices.Clone(e.Elems)
	return &c
}

func (e *RowCtor) copy() Expr {
	c := *e
	c.Fields = slices.Clone(e.Fields)
	return &c
}

func (e *RowCompare) copy() Expr {
	c := *e
	c.Left, c.Right = slices.Clone(e.Left), slices.Clone(e.Right)
	return &c
}

func (e *Subscript) copy() Expr {
	c := *e
	c.Lower, c.Upper = slices.Clone(e.Lower), slices.Clone(e.Upper)
	return &c
}

func (e *FieldSelect) copy() Expr {
	c := *e
	return &c
}

func (e *SessionValue) copy() Expr {
	c := *e
	return &c
}

func (e *Subquery) copy() Expr {
	c := *e
	c.Left = slices.Clone(e.Left)
	return &c
}
