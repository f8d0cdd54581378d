package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// Why views and their columns cannot be changed, as PostgreSQL words it.
const (
	whyNoColumns   = "Views that have no updatable columns are not automatically updatable."
	whyNotOne      = "Views that do not select from a single table or view are not automatically updatable."
	whyNoColumn    = "View columns that are not columns of their base relation are not updatable."
	whySystem      = "View columns that refer to system columns are not updatable."
	whyWholeRow    = "View columns that return whole-row references are not updatable."
	whySampled     = "Views containing TABLESAMPLE are not automatically updatable."
	whyAggregates  = "Views that return aggregate functions are not automatically updatable."
	whyWindows     = "Views that return window functions are not automatically updatable."
	whySetFunction = "Views that return set-returning functions are not automatically updatable."
)

// simpleView is the query of a view. The view is simple if its rows are some of those of
// the one relation in FROM, each once: otherwise why says what is in the way.
type simpleView struct {
	query *ast.Select
	from  *ast.TableRef
	why   string
	// items are the positions in the select list by column; -1 for a part of a record.
	items []int
}

// readView looks at the query of a view. What it selects from is not looked up.
func readView(t *catalog.Table) (*simpleView, error) {
	q, err := viewQuery(t)
	if err != nil {
		return nil, err
	}
	v := &simpleView{query: q, why: notSimple(q)}
	if v.why == "" && t.View.Aggregates {
		v.why = whyAggregates
	}
	if v.why == "" {
		v.from = q.From[0].(*ast.TableRef)
		v.itemsOf(len(t.Columns))
	}
	return v, nil
}

// notSimple says why the rows of a query are not those of one relation; "" if they are.
func notSimple(q *ast.Select) string {
	for _, c := range []struct {
		is   bool
		what string
	}{
		{q.Distinct, "DISTINCT"}, {len(q.GroupBy) > 0, "GROUP BY"}, {q.Having != nil, "HAVING"},
		{q.Op != ast.SetNone, "UNION, INTERSECT, or EXCEPT"}, {q.With != nil, "WITH"}, {q.Limit != nil || q.Offset != nil, "LIMIT or OFFSET"},
	} {
		if c.is {
			return "Views containing " + c.what + " are not automatically updatable."
		}
	}
	if why := computesRows(q); why != "" {
		return why
	}
	if len(q.From) != 1 {
		return whyNotOne
	}
	ref, ok := q.From[0].(*ast.TableRef)
	switch {
	case !ok:
		return whyNotOne
	case ref.Sample != nil:
		return whySampled
	}
	return ""
}

// computesRows says which functions in a query make other rows than its FROM has.
func computesRows(q *ast.Select) string {
	var aggregates, windows, sets bool
	look := func(x ast.Expr, target bool) {
		ast.Walk(x, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Select:
				return false
			case *ast.FuncCall:
				switch {
				case n.Over != nil:
					windows = true
				case len(builtin.Aggregates(n.Name.Name)) > 0:
					aggregates = true
				case target && returnsSet(n.Name.Name):
					sets = true
				}
			}
			return true
		})
	}
	for i := range q.Items {
		look(q.Items[i].X, true)
	}
	for i := range q.OrderBy {
		look(q.OrderBy[i].X, true)
	}
	switch {
	case aggregates:
		return whyAggregates
	case windows:
		return whyWindows
	case sets:
		return whySetFunction
	}
	return ""
}

func returnsSet(function string) bool {
	for _, o := range builtin.Functions(function) {
		if o.IsSRF() {
			return true
		}
	}
	return false
}

// itemsOf finds the items that make the view's columns: an item (x).* makes several.
func (v *simpleView) itemsOf(columns int) {
	records, wide := 0, 0
	for i := range v.query.Items {
		if isRecordStar(v.query.Items[i].X) {
			records++
		}
	}
	if records > 0 {
		wide = (columns - len(v.query.Items) + records) / records
	}
	for i := range v.query.Items {
		switch {
		case !isRecordStar(v.query.Items[i].X):
			v.items = append(v.items, i)
		case records > 1: // of unknown widths: nothing can be assigned
			v.items = nil
			return
		default:
			for range wide {
				v.items = append(v.items, -1)
			}
		}
	}
}

func isRecordStar(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.FieldSelect:
		return x.Star
	case *ast.ColumnRef:
		return x.Star
	}
	return false
}

// column returns the column of the relation below that column i of the view is, or -1
// and why it is none.
func (v *simpleView) column(i int, below *catalog.Table) (ord int, why string) {
	if i >= len(v.items) || v.items[i] < 0 {
		return -1, whyNoColumn
	}
	ref, ok := v.query.Items[v.items[i]].X.(*ast.ColumnRef)
	if !ok {
		return -1, whyNoColumn
	}
	at := 0
	for ord := range below.Columns {
		c := &below.Columns[ord]
		if c.IndexExpression() {
			continue
		}
		name := c.Name
		if c.InStar() {
			if at < len(v.from.Alias.Cols) {
				name = v.from.Alias.Cols[at]
			}
			at++
		}
		if name == ref.Column {
			return ord, ""
		}
	}
	switch ref.Column {
	case "tableoid", "ctid", "xmin", "xmax", "cmin", "cmax":
		return -1, whySystem
	}
	return -1, whyWholeRow
}

// scope returns the scope of the expressions of view t, over an item of the row of rel below.
func (v *simpleView) scope(t *catalog.View, below *item, rel *catalog.Table) (*scope, error) {
	it := *below
	it.alias, it.cols = aliasOf(v.from), append([]scopeCol(nil), it.cols...)
	it.hideLater(t, rel)
	return &scope{items: []*item{&it}}, renameCols(&it, v.from.Alias.Cols)
}

// The bits of what pg_relation_is_updatable returns.
const (
	CanUpdate = 1 << 2
	CanInsert = 1 << 3
	CanDelete = 1 << 4
)

// Updatable says what may be done with the rows of a relation, and to which of its
// columns, by position, can be assigned. find looks up what views select from.
func Updatable(t *catalog.Table, find func(ast.TableName) *catalog.Table) (events int, columns []bool) {
	columns = make([]bool, len(t.Columns))
	if t.Kind == catalog.KindTable && !t.Materialized() {
		for i := range columns {
			columns[i] = true
		}
		return CanUpdate | CanInsert | CanDelete, columns
	}
	if t.Kind != catalog.KindView {
		return 0, columns
	}
	v, err := readView(t)
	if err != nil || v.why != "" {
		return 0, columns
	}
	below := find(v.from.Name)
	if below == nil {
		return 0, columns
	}
	events, cols := Updatable(below, find)
	any := false
	for i := range columns {
		ord, _ := v.column(i, below)
		columns[i] = ord >= 0 && cols[ord]
		any = any || columns[i]
	}
	if !any {
		events &^= CanUpdate | CanInsert
	}
	return events, columns
}

// NotUpdatable says why rows cannot be changed through a view with a query, by the query
// alone: WITH CHECK OPTION asks for one through which they can.
func NotUpdatable(t *catalog.Table, find func(ast.TableName) *catalog.Table) (string, error) {
	v, err := readView(t)
	if err != nil || v.why != "" {
		return v.reason(), err
	}
	below := find(v.from.Name)
	if below == nil || below.Kind != catalog.KindView && (below.Kind != catalog.KindTable || below.Materialized()) {
		return whyNotOne, nil
	}
	for i := range t.Columns {
		if ord, _ := v.column(i, below); ord >= 0 {
			return "", nil
		}
	}
	return whyNoColumns, nil
}

func (v *simpleView) reason() string {
	if v == nil {
		return ""
	}
	return v.why
}
