package ast

// MergeAction is what a WHEN clause of MERGE does.
type MergeAction uint8

// The actions.
const (
	MergeNothing MergeAction = iota
	MergeUpdate
	MergeDelete
	MergeInsert
)

// MergeWhen is WHEN [NOT] MATCHED [AND Cond] THEN action.
type MergeWhen struct {
	Loc
	Matched bool
	Cond    Expr
	Action  MergeAction
	Set     []SetClause // MergeUpdate
	// MergeInsert: no Values means DEFAULT VALUES.
	Cols       []Target
	Overriding Overriding
	Values     []Expr
}

// Merge is MERGE.
type Merge struct {
	Loc
	With  *With
	Table *TableRef
	Using TableExpr
	On    Expr
	When  []MergeWhen
}

func (*Merge) stmtNode() {}

// Tag implements Statement.
func (*Merge) Tag() string { return "MERGE" }

func (p *printer) merge(s *Merge) {
	p.with(s.With)
	p.w("MERGE INTO ")
	p.tableRef(s.Table)
	p.w(" USING ")
	p.tableExprs([]TableExpr{s.Using})
	p.clause(" ON ", s.On)
	for i := range s.When {
		p.mergeWhen(&s.When[i])
	}
}

func (p *printer) mergeWhen(w *MergeWhen) {
	p.w([...]string{" WHEN NOT MATCHED", " WHEN MATCHED"}[btoi(w.Matched)])
	p.clause(" AND ", w.Cond)
	switch w.Action {
	case MergeNothing:
		p.w(" THEN DO NOTHING")
	case MergeDelete:
		p.w(" THEN DELETE")
	case MergeUpdate:
		p.w(" THEN UPDATE SET ")
		p.setClauses(w.Set)
	case MergeInsert:
		p.w(" THEN INSERT")
		if w.Cols != nil {
			p.w(" (")
			p.targets(w.Cols)
			p.w(")")
		}
		p.w([...]string{"", " OVERRIDING USER VALUE", " OVERRIDING SYSTEM VALUE"}[w.Overriding])
		if w.Values == nil {
			p.w(" DEFAULT VALUES")
			return
		}
		p.w(" VALUES (")
		p.exprs(w.Values)
		p.w(")")
	}
}
