package ast

import "github.com/lichendb/lichen/internal/lock"

// parenQuery prints a query in parentheses.
func (p *printer) parenQuery(s *Select) {
	p.w("(")
	p.query(s)
	p.w(")")
}

// query prints a query with everything that belongs to it.
func (p *printer) query(s *Select) {
	p.with(s.With)
	switch {
	case s.Op != SetNone:
		p.setOperand(s.L)
		p.w([...]string{"", " UNION ", " INTERSECT ", " EXCEPT "}[s.Op])
		p.opt(s.All, "ALL ")
		p.setOperand(s.R)
	case s.Values != nil:
		p.w("VALUES ")
		p.list(len(s.Values), func(i int) { p.parenExprs(s.Values[i]) })
	default:
		p.simpleSelect(s)
	}
	p.orderBy(s.OrderBy)
	if s.WithTies {
		p.w(" FETCH FIRST (")
		p.expr(s.Limit)
		p.w(") ROWS WITH TIES")
	} else {
		p.clause(" LIMIT ", s.Limit)
	}
	p.clause(" OFFSET ", s.Offset)
	for _, l := range s.Locking {
		p.locking(l)
	}
}

// setOperand prints an operand of a set operation, in parentheses unless it is
// a plain SELECT or VALUES.
func (p *printer) setOperand(s *Select) {
	if s.With != nil || s.Op != SetNone || s.OrderBy != nil || s.Limit != nil || s.Offset != nil || s.Locking != nil {
		p.parenQuery(s)
		return
	}
	p.query(s)
}

func (p *printer) simpleSelect(s *Select) {
	p.w("SELECT")
	p.opt(s.Distinct, " DISTINCT")
	if s.DistinctOn != nil {
		p.w(" ON ")
		p.parenExprs(s.DistinctOn)
	}
	if len(s.Items) > 0 {
		p.w(" ")
		p.items(s.Items)
	}
	if s.Into != nil {
		p.w(" INTO ", persistenceWords[s.Into.Persistence], "TABLE ")
		p.name(s.Into.Name)
	}
	if s.From != nil {
		p.w(" FROM ")
		p.tableExprs(s.From)
	}
	p.clause(" AS OF SYSTEM TIME ", s.AsOf)
	p.clause(" WHERE ", s.Where)
	if s.GroupBy != nil {
		p.w(" GROUP BY ")
		p.opt(s.GroupDistinct, "DISTINCT ")
		p.exprs(s.GroupBy)
	}
	p.clause(" HAVING ", s.Having)
	for i, w := range s.Windows {
		p.w([...]string{" WINDOW ", ", "}[btoi(i > 0)])
		p.ident(w.Name)
		p.w(" AS ")
		p.windowSpec(w)
	}
}

func (p *printer) items(items []SelectItem) {
	p.list(len(items), func(i int) {
		p.expr(items[i].X)
		p.optIdent(" AS ", items[i].Alias)
	})
}

// orderBy prints " ORDER BY ..." if there are items.
func (p *printer) orderBy(items []OrderItem) {
	if items != nil {
		p.w(" ")
		p.orderItems(items)
	}
}

func (p *printer) orderItems(items []OrderItem) {
	p.w("ORDER BY ")
	p.list(len(items), func(i int) {
		it := items[i]
		p.expr(it.X)
		if it.Using.Name != "" {
			p.w(" USING ")
			p.operator(it.Using)
		}
		p.direction(it.Dir, it.Nulls)
	})
}

func (p *printer) direction(d Direction, n NullsOrder) {
	p.w([...]string{"", " ASC", " DESC"}[d], [...]string{"", " NULLS FIRST", " NULLS LAST"}[n])
}

func (p *printer) locking(l LockingClause) {
	p.w(" ", l.String())
	if l.Of != nil {
		p.w(" OF ")
		p.names(l.Of)
	}
	p.w([...]string{lock.WaitBlock: "", lock.WaitError: " NOWAIT", lock.WaitSkip: " SKIP LOCKED"}[l.Wait])
}

func (p *printer) with(w *With) {
	if w == nil {
		return
	}
	p.w("WITH ")
	p.opt(w.Recursive, "RECURSIVE ")
	p.list(len(w.CTEs), func(i int) { p.cte(w.CTEs[i]) })
	p.w(" ")
}

func (p *printer) cte(c *CTE) {
	p.ident(c.Name)
	p.parenIdents(" ", c.Cols)
	p.w(" AS ", [...]string{"", "MATERIALIZED ", "NOT MATERIALIZED "}[c.Materialize], "(")
	p.stmt(c.Stmt)
	p.w(")")
	if s := c.Search; s != nil {
		p.w(" SEARCH ", [...]string{"DEPTH", "BREADTH"}[btoi(s.Breadth)], " FIRST BY ")
		p.idents(s.By)
		p.optIdent(" SET ", s.Set)
	}
	if y := c.Cycle; y != nil {
		p.w(" CYCLE ")
		p.idents(y.Cols)
		p.optIdent(" SET ", y.Mark)
		if y.Value != nil {
			p.w(" TO ")
			p.operand(y.Value)
			p.w(" DEFAULT ")
			p.operand(y.Default)
		}
		p.optIdent(" USING ", y.Path)
	}
}

func (p *printer) tableExprs(list []TableExpr) {
	p.list(len(list), func(i int) { p.tableExpr(list[i]) })
}

// tableExpr prints an item of FROM.
func (p *printer) tableExpr(t TableExpr) {
	switch t := t.(type) {
	case *TableRef:
		p.tableRef(t)
	case *SubqueryRef:
		p.opt(t.Lateral, "LATERAL ")
		p.parenQuery(t.Query)
		p.alias(t.Alias)
	case *FuncRef:
		p.funcRef(t)
	case *Join:
		p.join(t)
	case *StatementRef:
		p.w("[")
		p.stmt(t.Stmt)
		p.w("]")
		p.alias(t.Alias)
	}
}

func (p *printer) alias(a Alias) {
	if a.Name != "" {
		p.optIdent(" AS ", a.Name)
		p.parenIdents(" ", a.Cols)
	}
}

func (p *printer) tableRef(t *TableRef) {
	p.opt(t.Only, "ONLY ")
	p.name(t.Name)
	p.optIdent("@", t.IndexHint)
	p.alias(t.Alias)
	if s := t.Sample; s != nil {
		p.w(" TABLESAMPLE ")
		p.funcName(s.Method)
		p.parenExprs(s.Args)
		if s.Repeatable != nil {
			p.clause(" REPEATABLE (", s.Repeatable)
			p.w(")")
		}
	}
}

func (p *printer) funcRef(f *FuncRef) {
	p.opt(f.Lateral, "LATERAL ")
	if f.RowsFrom {
		p.w("ROWS FROM (")
	}
	p.list(len(f.Funcs), func(i int) {
		p.expr(f.Funcs[i].Call)
		if f.Funcs[i].Cols != nil {
			p.w(" AS ")
			p.columnDecls(f.Funcs[i].Cols)
		}
	})
	p.opt(f.RowsFrom, ")")
	p.opt(f.Ordinality, " WITH ORDINALITY")
	p.alias(f.Alias)
	if f.Cols != nil {
		p.opt(f.Alias.Name == "", " AS")
		p.w(" ")
		p.columnDecls(f.Cols)
	}
}

func (p *printer) columnDecls(list []ColumnDecl) {
	p.w("(")
	p.list(len(list), func(i int) {
		p.ident(list[i].Name)
		p.w(" ")
		p.typeName(list[i].Type, false)
		p.collate(list[i].Collate)
	})
	p.w(")")
}

func (p *printer) join(j *Join) {
	p.opt(j.Alias.Name != "", "(")
	p.tableExpr(j.L)
	p.opt(j.Natural, " NATURAL")
	p.w([...]string{" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " CROSS JOIN "}[j.Kind])
	if r, ok := j.R.(*Join); ok && r.Alias.Name == "" {
		p.w("(")
		p.join(r)
		p.w(")")
	} else {
		p.tableExpr(j.R)
	}
	p.clause(" ON ", j.On)
	p.parenIdents(" USING ", j.Using)
	p.optIdent(" AS ", j.UsingAlias)
	if j.Alias.Name != "" {
		p.w(")")
		p.alias(j.Alias)
	}
}
