package planner

import (
	"fmt"
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// columnRef resolves a column reference, which may also be a whole row.
func (b *builder) columnRef(e *ast.ColumnRef, s *scope) (plan.Expr, error) {
	if s.isDomainValue(e) {
		return s.domainValue, nil
	}
	if b.env.Variables != nil {
		return b.nameRef(e, s)
	}
	return b.column(e, s)
}

// column resolves a name that is a column's, or a row's.
func (b *builder) column(e *ast.ColumnRef, s *scope) (plan.Expr, error) {
	if e.Table == "" {
		return b.bareColumn(e, s)
	}
	it, err := b.findItem(e, s)
	if err != nil {
		return nil, err
	}
	c, err := columnNamed(it.it.cols, e.Column, e.Pos)
	if err != nil {
		return nil, err
	}
	if c != nil {
		b.env.Notes.noteColumn(e, c)
		return b.useColumn(c, it.level, s, e.Pos), nil
	}
	if x, err := b.systemColumn(e.Column, it.it, it.level, s, e.Pos); x != nil || err != nil {
		return x, err
	}
	return nil, noColumn(fmt.Sprintf("column %s.%s does not exist", e.Table, e.Column), e.Table, e.Column, s).At(e.Pos)
}

// columnNamed finds the one column of a name, nil if there is none. Two are an error.
func columnNamed(cols []scopeCol, name ast.Name, pos int) (*scopeCol, error) {
	var hit *scopeCol
	for i := range cols {
		if cols[i].name != name {
			continue
		}
		if hit != nil {
			return nil, ambiguousColumn(name, pos)
		}
		hit = &cols[i]
	}
	return hit, nil
}

func ambiguousColumn(name ast.Name, pos int) error {
	return pgerr.New(pgerr.AmbiguousColumn, "column reference \"%s\" is ambiguous", name).At(pos)
}

// starRef plans t.* where a single value is wanted: the whole row.
func (b *builder) starRef(e *ast.ColumnRef, s *scope) (plan.Expr, error) {
	if e.Table == "" {
		return nil, pgerr.New(pgerr.SyntaxError, "row expansion via \"*\" is not supported here").At(e.Pos)
	}
	f, err := b.findItem(e, s)
	if err != nil {
		return nil, err
	}
	b.env.Notes.noteRow(e, f.it)
	return b.wholeRow(f.it, f.level, s, e.Pos), nil
}

// found is an item and the scope level it was found at.
type found struct {
	it    *item
	level *scope
}

func (b *builder) bareColumn(e *ast.ColumnRef, s *scope) (plan.Expr, error) {
	for lv := s; lv != nil; lv = lv.parent {
		var hit *scopeCol
		for _, it := range lv.items {
			if !it.colsVisible {
				continue
			}
			c, err := columnNamed(it.cols, e.Column, e.Pos)
			if err != nil {
				return nil, err
			}
			if c != nil && hit != nil {
				return nil, ambiguousColumn(e.Column, e.Pos)
			}
			if c != nil {
				if err := it.open(e.Pos); err != nil {
					return nil, err
				}
				hit = c
			}
		}
		if hit != nil {
			b.env.Notes.noteBare(e, hit, s)
			return b.useColumn(hit, lv, s, e.Pos), nil
		}
	}
	for lv := s; lv != nil; lv = lv.parent { // a whole row
		for _, it := range lv.items {
			if it.relVisible && it.alias == e.Column {
				if err := it.open(e.Pos); err != nil {
					return nil, err
				}
				b.env.Notes.noteRow(e, it)
				return b.wholeRow(it, lv, s, e.Pos), nil
			}
		}
	}
	if x, err := b.bareSystemColumn(e, s); x != nil || err != nil {
		return x, err
	}
	return nil, noColumn(fmt.Sprintf("column \"%s\" does not exist", e.Column), "", e.Column, s).At(e.Pos)
}

// findItem finds the relation that qualifies a column.
func (b *builder) findItem(e *ast.ColumnRef, s *scope) (found, error) {
	var rel *catalog.Table
	if e.Schema != "" {
		t, err := b.env.Catalog.ResolveTable(b.ctx, e.Catalog, e.Schema, e.Table)
		if err != nil {
			return found{}, b.missingItem(e, s)
		}
		rel = t
	}
	for lv := s; lv != nil; lv = lv.parent {
		var hit *item
		for _, it := range lv.items {
			if !it.relVisible || it.alias != e.Table || rel != nil && (it.plain == nil || it.plain.ID != rel.ID) {
				continue
			}
			if hit != nil {
				return found{}, pgerr.New(pgerr.AmbiguousAlias, "table reference \"%s\" is ambiguous", e.Table).At(e.Pos)
			}
			hit = it
		}
		if hit != nil {
			return found{hit, lv}, hit.open(e.Pos)
		}
	}
	return found{}, b.missingItem(e, s)
}

// open returns the error of a reference to a relation that may not be referred to from where it is found.
func (it *item) open(pos int) error {
	if !it.closed {
		return nil
	}
	return hiddenEntry(pgerr.InvalidColumnReference, it.alias, pos)
}

func hiddenEntry(code pgerr.Code, alias ast.Name, pos int) *pgerr.Error {
	return pgerr.New(code, "invalid reference to FROM-clause entry for table \"%s\"", alias).
		WithHint("There is an entry for table \"%s\", but it cannot be referenced from this part of the query.", alias).At(pos)
}

// missingItem is 42P01 for a qualifier that means nothing here.
func (b *builder) missingItem(e *ast.ColumnRef, s *scope) *pgerr.Error {
	rel, err := b.env.Catalog.ResolveTable(b.ctx, e.Catalog, e.Schema, e.Table)
	for lv := s; lv != nil; lv = lv.parent {
		if lv.hides(e.Table) {
			return hiddenEntry(pgerr.UndefinedTable, e.Table, e.Pos)
		}
		for _, it := range lv.items {
			same := it.table != nil && err == nil && it.table.ID == rel.ID
			if same && it.closed {
				return hiddenEntry(pgerr.InvalidColumnReference, it.alias, e.Pos)
			}
			if same && it.alias != e.Table {
				return pgerr.New(pgerr.UndefinedTable, "invalid reference to FROM-clause entry for table \"%s\"", e.Table).
					WithHint("Perhaps you meant to reference the table alias \"%s\".", it.alias).At(e.Pos)
			}
		}
	}
	return pgerr.New(pgerr.UndefinedTable, "missing FROM-clause entry for table \"%s\"", e.Table).At(e.Pos)
}

// hides reports whether the query has an entry of FROM with the name, which
// cannot be referred to from here.
func (s *scope) hides(alias ast.Name) bool {
	var named func(it *item) bool
	named = func(it *item) bool { return it.alias == alias || slices.ContainsFunc(it.behind, named) }
	return slices.ContainsFunc(s.beside, named) || slices.ContainsFunc(s.items, named)
}

// useColumn makes the reference and records it at every query it leaves.
func (b *builder) useColumn(c *scopeCol, level, from *scope, pos int) plan.Expr {
	x := c.ref(pos)
	if from != level {
		plan.WalkExpr(x, func(x plan.Expr) bool {
			if r, ok := x.(*plan.ColRef); ok {
				from.useOuter(r, level)
			}
			return true
		})
	}
	return x
}

// aboveGroups reports whether the clause is evaluated after GROUP BY.
func (s *scope) aboveGroups() bool {
	switch s.clause {
	case clauseSelect, clauseHaving, clauseOrderBy, clauseDistinctOn, clauseWindow:
		return true
	}
	return false
}

// wholeRow makes a record of all columns of it.
func (b *builder) wholeRow(it *item, level, from *scope, pos int) plan.Expr {
	if it.scalarFunc && len(it.cols) > 0 {
		return b.useColumn(&it.cols[0], level, from, pos)
	}
	row := &plan.RowCtor{}
	for i := range it.cols {
		c := &it.cols[i]
		if !c.inRow() || c.later && it.rowsOf() == nil {
			continue
		}
		name := c.name
		if c.later && !slices.Contains(row.Names, c.col.Name) { // else an alias has the name
			name = c.col.Name
		}
		row.Fields = append(row.Fields, b.useColumn(c, level, from, pos))
		row.Names = append(row.Names, name)
	}
	if c := neverNull(it); c != nil && it.nullable && !plant.On(plant.RowOfNulls) {
		row.NullRow = b.useColumn(c, level, from, pos)
	}
	if t := it.rowsOf(); t != nil {
		row.T = catalog.RowType(t)
	}
	if it.rowType != nil {
		return &plan.Cast{Arg: row, T: it.rowType, Mode: plan.CastImplicit}
	}
	return row
}

// rowsOf is the table or view whose rows those of it are, nil if they are of no relation.
func (it *item) rowsOf() *catalog.Table {
	if it.view != nil {
		return it.view
	}
	return it.table
}

// neverNull returns a column of it that is NULL only where an outer join found no row; nil
// if there is none.
func neverNull(it *item) *scopeCol {
	if it.present != nil || it.table == nil {
		return it.present
	}
	if len(it.table.Indexes) > 0 {
		if key := it.table.Primary().Columns; len(key) > 0 {
			return &it.cols[it.table.ColumnByID(key[0].Column)]
		}
	}
	for i := range it.table.Columns {
		if it.table.Columns[i].NotNull {
			return &it.cols[i]
		}
	}
	return nil
}

// bareSystemColumn is the system column of the one table of the innermost query that has
// any.
func (b *builder) bareSystemColumn(e *ast.ColumnRef, s *scope) (hit plan.Expr, err error) {
	for lv := s; lv != nil && hit == nil; lv = lv.parent {
		for _, it := range lv.items {
			x, err := b.systemColumn(e.Column, it, lv, s, e.Pos)
			if err != nil {
				return nil, err
			}
			if x != nil && hit != nil {
				return nil, ambiguousColumn(e.Column, e.Pos)
			}
			if x != nil {
				hit = x
			}
		}
	}
	return hit, nil
}

// systemColumn answers for the columns every table of PostgreSQL has.
func (b *builder) systemColumn(name string, it *item, level, from *scope, pos int) (plan.Expr, error) {
	if it.table == nil || !it.relVisible {
		return nil, nil
	}
	switch name {
	case "tableoid":
		oid := plan.NewConst(types.Oid, types.NewInt(int64(it.table.Oid)))
		if !it.nullable {
			return oid, nil
		}
		key := neverNull(it)
		if key == nil {
			return nil, pgerr.Unsupported("system column \"tableoid\" of an outer join is not supported").At(pos)
		}
		return &plan.Case{Whens: []plan.When{{Cond: &plan.Is{Arg: b.useColumn(key, level, from, pos), Kind: plan.IsNotNull}, Result: oid}}, T: types.Oid}, nil
	case "xmax":
		if it.xmax != nil && level == from {
			return plan.CopyExpr(it.xmax), nil
		}
		return nil, pgerr.Unsupported("system column \"xmax\" is not supported here").At(pos).
			WithHint("INSERT knows it in RETURNING: 0 of rows that were inserted.")
	case "ctid", "xmin", "cmin", "cmax":
		return nil, pgerr.Unsupported("system column \"%s\" is not supported", name).At(pos)
	}
	return nil, nil
}

// noColumn is 42703 with a hint about columns of similar names.
func noColumn(msg, table, column string, s *scope) *pgerr.Error {
	err := pgerr.New(pgerr.UndefinedColumn, "%s", msg)
	for lv := s; lv != nil && table == ""; lv = lv.parent {
		for _, it := range lv.beside {
			if slices.ContainsFunc(it.cols, func(c scopeCol) bool { return c.name == column }) {
				return err.WithHint("There is a column named \"%s\" in table \"%s\", but it cannot be referenced from this part of the query.",
					column, it.alias)
			}
		}
	}
	best := pgerr.TypoLimit(column) + 1
	var names []string
	for lv := s; lv != nil; lv = lv.parent {
		for _, it := range lv.items {
			if !it.relVisible || table != "" && it.alias != table && len(names) > 0 {
				continue
			}
			for i := range it.cols {
				d := pgerr.EditDistance(column, it.cols[i].name, best)
				if d == 0 && table == "" || d > best || it.cols[i].hidden {
					continue
				}
				if table != "" && it.alias != table {
					d++ // another table than the one named
				}
				if d < best {
					best, names = d, names[:0]
				}
				if d == best && d <= pgerr.TypoLimit(column) {
					names = append(names, it.alias+"."+it.cols[i].name)
				}
			}
		}
	}
	switch len(names) {
	case 1:
		return err.WithHint("Perhaps you meant to reference the column \"%s\".", names[0])
	case 2:
		return err.WithHint("Perhaps you meant to reference the column \"%s\" or the column \"%s\".", names[0], names[1])
	}
	return err
}
