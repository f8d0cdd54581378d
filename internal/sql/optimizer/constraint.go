package optimizer

import (
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer/distribution"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// atomKind says how a condition constrains a column.
type atomKind uint8

const (
	atomEq atomKind = iota
	atomIn
	atomArray
	atomNull
	atomNotNull
	atomLo // > or >=
	atomHi // < or <=
	atomPrefix
	atomOr    // alternatives, each of them a range or a set of values
	atomTuple // alternatives, each of them a value for each of several columns
)

// atom is a condition of the form that an index can answer: a column compared
// with values that do not depend on the scanned row.
type atom struct {
	kind  atomKind
	ord   int // in Table.Columns
	conj  int // which condition it came from
	exact bool
	// inclusive is for bounds; value and list are what it compares with.
	inclusive bool
	value     plan.Expr
	list      []plan.Expr
	hi        plan.Expr // atomPrefix: the exclusive upper bound, nil if none
	arms      []plan.Span
	ords      []int // atomTuple: the columns, in the order of the arms' values
}

// atomList is the analysed filter of a scan.
type atomList struct {
	conjs []plan.Expr
	atoms []atom
}

// atoms analyses the filter of a scan.
func (o *optimizer) atoms(n *plan.Scan) *atomList {
	l := &atomList{}
	if n.Filter == nil {
		return l
	}
	l.conjs = plan.Conjuncts(n.Filter, make([]plan.Expr, 0, 4))
	for i, c := range l.conjs {
		l.analyse(n, i, c)
		o.ask(c)
	}
	return l
}

// ask asks for the values of parameters that would make an index of use, or none needed:
// those of patterns, and of alternatives that no row decides.
func (o *optimizer) ask(c plan.Expr) {
	switch c := c.(type) {
	case *plan.Call:
		if c.Fn.Operator && c.Fn.Name == "~~" {
			o.values.of(c.Args[1])
		}
	case *plan.Or:
		for _, arm := range c.Args {
			rows := false
			plan.Refs(arm, func(plan.ColID) { rows = true })
			if !rows {
				plan.WalkExpr(arm, func(e plan.Expr) bool {
					o.values.of(e)
					return true
				})
			}
		}
	}
}

// single returns the atom that binds a column to one value, -1 if none.
func (l *atomList) single(ord int) int {
	for i := range l.atoms {
		if a := &l.atoms[i]; a.ord == ord && (a.kind == atomEq || a.kind == atomNull) {
			return i
		}
	}
	return -1
}

// column returns the position in the table of the column that e is.
func column(n *plan.Scan, e plan.Expr) int {
	r, ok := e.(*plan.ColRef)
	if !ok {
		for i := range n.Computed {
			if plan.ExprEqual(n.Computed[i].Value, e) {
				return n.Computed[i].Ord
			}
		}
		return -1
	}
	if i := plan.FindCol(n.Cols, r.Col); i >= 0 {
		return n.Ords[i]
	}
	return -1
}

// fixed reports whether e has one value for the whole scan, of a family whose
// encoding orders like column ord.
func fixed(n *plan.Scan, ord int, e plan.Expr) bool {
	return n.Table.Columns[ord].Type.Family == e.Type().Family && refsOnly(e, n.Cols) && !plan.Volatile(e)
}

func (l *atomList) add(a atom) { l.atoms = append(l.atoms, a) }

func (l *atomList) analyse(n *plan.Scan, i int, c plan.Expr) {
	switch c := c.(type) {
	case *plan.Call:
		l.comparison(n, i, c)
	case *plan.Or:
		l.or(n, i, c)
	case *plan.InList:
		l.inList(n, i, c)
	case *plan.AnyAll:
		ord := column(n, c.Left)
		if ord >= 0 && !c.All && c.Op.Name == "=" && c.Array.Type().Elem != nil &&
			n.Table.Columns[ord].Type.Family == c.Array.Type().Elem.Family && refsOnly(c.Array, n.Cols) && !plan.Volatile(c.Array) {
			l.add(atom{kind: atomArray, ord: ord, conj: i, exact: true, value: c.Array})
		}
	case *plan.Is:
		l.test(n, i, c)
	case *plan.IsDistinct:
		if c.Not {
			return // NULL-safe equality is left to the filter
		}
	case *plan.ColRef: // a boolean column
		if ord := column(n, c); ord >= 0 {
			l.add(atom{kind: atomEq, ord: ord, conj: i, exact: true, value: plan.NewConst(types.Bool, types.True)})
		}
	case *plan.Not:
		if ord := column(n, c.Arg); ord >= 0 {
			l.add(atom{kind: atomEq, ord: ord, conj: i, exact: true, value: plan.NewConst(types.Bool, types.False)})
		}
	}
}

// columnSide returns the column that is one side of a comparison, what it is compared
// with, and by which operator if the column stands first; -1 if neither is a column or
// the operator is no comparison that an index answers. Of two columns it is the first.
func columnSide(n *plan.Scan, c *plan.Call) (ord int, op string, value plan.Expr) {
	mirrored, ok := plan.Mirrored[c.Fn.Name]
	if !ok || c.Fn.Name == "<>" || !c.Fn.Operator || len(c.Args) != 2 {
		return -1, "", nil
	}
	if ord = column(n, c.Args[0]); ord >= 0 {
		return ord, c.Fn.Name, c.Args[1]
	}
	return column(n, c.Args[1]), mirrored, c.Args[0]
}

func (l *atomList) comparison(n *plan.Scan, i int, c *plan.Call) {
	if !c.Fn.Operator || len(c.Args) != 2 {
		return
	}
	switch c.Fn.Name {
	case "~~":
		l.like(n, i, c)
		return
	case "~":
		l.match(n, i, c)
		return
	}
	ord, op, value := columnSide(n, c)
	if ord < 0 {
		return
	}
	if !fixed(n, ord, value) {
		l.bound(n, i, ord, op, value)
		return
	}
	a := atom{ord: ord, conj: i, exact: true, value: value}
	switch op {
	case "=":
		a.kind = atomEq
		l.bySortKey(n, a)
	case "<", "<=":
		a.kind, a.inclusive = atomHi, op == "<="
	default:
		a.kind, a.inclusive = atomLo, op == ">="
	}
	l.add(a)
}

// bound adds what a comparison with a timestamptz implies for a column of timestamps.
func (l *atomList) bound(n *plan.Scan, conj, ord int, op string, value plan.Expr) {
	if n.Table.Columns[ord].Type.Family != types.TimestampFamily || value.Type().Family != types.TimestampTZFamily ||
		!refsOnly(value, n.Cols) || plan.Volatile(value) {
		return
	}
	if op != "<" && op != "<=" {
		l.add(atom{kind: atomLo, ord: ord, conj: conj, inclusive: true, value: inType().Bound(value, false)})
	}
	if op != ">" && op != ">=" {
		l.add(atom{kind: atomHi, ord: ord, conj: conj, inclusive: true, value: inType().Bound(value, true)})
	}
}

func (l *atomList) inList(n *plan.Scan, i int, c *plan.InList) {
	ord := column(n, c.Left)
	if ord < 0 || c.Not {
		return
	}
	for _, v := range c.List {
		if !fixed(n, ord, v) {
			return
		}
	}
	a := atom{kind: atomIn, ord: ord, conj: i, exact: true, list: c.List}
	l.bySortKey(n, a)
	l.add(a)
}

// bySortKey adds what the equality a says about sort keys of its column that indexes hold:
// under deterministic collations they are equal if the values are.
func (l *atomList) bySortKey(n *plan.Scan, a atom) {
	for i := range n.Computed {
		key, ok := n.Computed[i].Value.(*plan.Call)
		if !ok || key.Fn.Name != "collation_key" || column(n, key.Args[0]) != a.ord {
			continue
		}
		if ties, known := constOf(key.Args[2]); !known || ties.IsNull() || !ties.Bool() {
			continue
		}
		keyOf := func(x plan.Expr) plan.Expr {
			c := *key
			c.Args = append([]plan.Expr{retyped(x, key.Args[0].Type())}, key.Args[1:]...)
			return new(folder).foldCall(&c)
		}
		b := a
		b.ord = n.Computed[i].Ord
		if b.value != nil {
			b.value = keyOf(b.value)
		}
		b.list = nil
		for _, x := range a.list {
			b.list = append(b.list, keyOf(x))
		}
		l.add(b)
	}
}

// retyped is x as a value of type t, which has the same representation.
func retyped(x plan.Expr, t *types.T) plan.Expr {
	if c, ok := x.(*plan.Const); ok {
		return plan.NewConst(t, c.D)
	}
	if x.Type().Is(t) {
		return x
	}
	return &plan.Cast{Arg: x, T: t}
}

func (l *atomList) test(n *plan.Scan, i int, c *plan.Is) {
	ord := column(n, c.Arg)
	if ord < 0 || c.OfFields() {
		return
	}
	switch c.Kind {
	case plan.IsNull, plan.IsUnknown:
		l.add(atom{kind: atomNull, ord: ord, conj: i, exact: true})
	case plan.IsNotNull, plan.IsNotUnknown:
		l.add(atom{kind: atomNotNull, ord: ord, conj: i, exact: true})
	case plan.IsTrue:
		l.add(atom{kind: atomEq, ord: ord, conj: i, exact: true, value: plan.NewConst(types.Bool, types.True)})
	case plan.IsFalse:
		l.add(atom{kind: atomEq, ord: ord, conj: i, exact: true, value: plan.NewConst(types.Bool, types.False)})
	}
}

// like turns col LIKE 'prefix%' into a range; the pattern is checked again
// unless it is the prefix and one trailing %.
func (l *atomList) like(n *plan.Scan, i int, c *plan.Call) {
	ord, pattern := patternOn(n, c)
	if ord < 0 {
		return
	}
	prefix, rest := likePrefix(pattern)
	if rest == "" { // no wildcard: equality
		l.add(atom{kind: atomEq, ord: ord, conj: i, exact: true, value: plan.NewConst(types.Text, types.NewString(prefix))})
		return
	}
	l.prefix(ord, i, prefix, rest == "%")
}

// match turns col ~ '^prefix' into a range, and col ~ '^(value)$' into equality; the
// pattern is checked again.
func (l *atomList) match(n *plan.Scan, i int, c *plan.Call) {
	ord, pattern := patternOn(n, c)
	if ord < 0 {
		return
	}
	prefix, whole := regexpPrefix(pattern)
	if whole {
		l.add(atom{kind: atomEq, ord: ord, conj: i, value: plan.NewConst(types.Text, types.NewString(prefix))})
		return
	}
	l.prefix(ord, i, prefix, false)
}

// patternOn returns the column that is compared with a known pattern, -1 if it is no
// column, or none whose values an index holds as they are.
func patternOn(n *plan.Scan, c *plan.Call) (ord int, pattern string) {
	ord = column(n, c.Args[0])
	d, ok := constOf(c.Args[1])
	if ord < 0 || !ok || d.IsNull() || n.Table.Columns[ord].Type.Oid == types.Bpchar.Oid ||
		n.Table.Columns[ord].Type.Family != types.StringFamily {
		return -1, ""
	}
	return ord, d.Str()
}

// prefix adds that the values of a column begin with prefix.
func (l *atomList) prefix(ord, conj int, prefix string, exact bool) {
	if prefix == "" {
		return
	}
	a := atom{kind: atomPrefix, ord: ord, conj: conj, exact: exact, value: plan.NewConst(types.Text, types.NewString(prefix))}
	if hi, ok := successor(prefix); ok {
		a.hi = plan.NewConst(types.Text, types.NewString(hi))
	}
	l.add(a)
}

// regexpPrefix returns what all that a regular expression matches begins with, and whether
// it matches nothing else: of ^literal…, ^literal$ and both with all after ^ in one pair of
// parentheses, as psql writes names. Of others it knows nothing.
func regexpPrefix(p string) (prefix string, whole bool) {
	p, ok := strings.CutPrefix(p, "^")
	if !ok || strings.Contains(p, "|") {
		return "", false
	}
	if inner, ok := strings.CutPrefix(p, "("); ok {
		inner, ok = strings.CutSuffix(inner, ")$")
		if !ok {
			return "", false
		}
		p = inner + "$"
	}
	if strings.ContainsAny(p, "()") {
		return "", false
	}
	n := len(p)
	if i := strings.IndexAny(p, regexpSpecial); i >= 0 {
		n = i
	}
	if p[n:] == "$" {
		return p[:n], true
	}
	if n < len(p) && strings.ContainsRune("*+?{", rune(p[n])) { // of the last character
		_, size := utf8.DecodeLastRuneInString(p[:n])
		n -= size
	}
	return p[:n], false
}

// regexpSpecial are the characters that may not stand for themselves.
const regexpSpecial = `.*+?{}[]()|^$\`

// likePrefix splits a pattern into its literal prefix and the rest.
func likePrefix(p string) (prefix, rest string) {
	var b []byte
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '%', '_':
			return string(b), p[i:]
		case '\\':
			if i+1 == len(p) {
				return string(b), p[i:]
			}
			i++
		}
		b = append(b, p[i])
	}
	return string(b), ""
}

// successor returns the least string that is greater than every string with
// the given prefix, in byte order.
func successor(prefix string) (string, bool) {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1]), true
		}
	}
	return "", false
}

// constrained is an index with what the filter says about its keys.
type constrained struct {
	index *catalog.Index
	key   []catalog.IndexColumn
	span  plan.Span
	// arms, if any, are alternatives for what follows the span's Eq; armCols is how many
	// key columns each binds to a value.
	arms    []plan.Span
	armCols int
	// used tells for each condition whether the span implies it.
	used []bool
	// eqCols is how many leading key columns have alternatives, singles how
	// many of those have one value each from the start.
	eqCols  int
	singles int
	sel     float64
	keys    float64 // combinations of alternatives
	point   bool
	any     bool
}

// maxVisited is the most buckets of a hash-sharded index that one range is looked
// for in.
const maxVisited = 256

// maxKeys is the most ranges that lists of values multiply out to.
const maxKeys = 1 << 16

// constrain builds the span of an index from the filter.
func (o *optimizer) constrain(n *plan.Scan, ix *catalog.Index, l *atomList, st *TableStats) constrained {
	c := constrained{index: ix, key: plan.KeyColumns(n.Table, ix), sel: 1, keys: 1}
	if len(l.conjs) == 0 {
		return c
	}
	allSingle, nullable := true, false
	var eqs []distribution.Equality
	for _, col := range c.key {
		ord := n.Table.ColumnByID(col.Column)
		a := l.best(ord)
		if a == nil {
			break
		}
		values := a.count(st.values)
		if c.keys*values > maxKeys {
			break // a filter costs less than so many ranges
		}
		c.use(l, a)
		c.span.Eq = append(c.span.Eq, a.match())
		c.eqCols++
		c.keys *= values
		sel := matchedSel(a, st, n.Table, ord)
		c.sel *= sel
		if a.kind == atomEq && len(st.Extended) > 0 {
			eqs = append(eqs, st.equality(n.Table, ord, a.value))
		}
		if a.kind == atomIn || a.kind == atomArray {
			allSingle = false
		}
		if allSingle {
			c.singles++
		}
		nullable = nullable || a.kind == atomNull
	}
	c.sel *= st.correlated(n.Table, eqs)
	c.tuples(l, n.Table, st)
	bound := c.eqCols + c.armCols
	if bound < ix.HashColumns {
		// Only all of them tell the bucket: few buckets are all visited.
		if ix.Buckets == 0 || ix.Buckets > maxVisited {
			return constrained{index: ix, key: c.key, sel: 1, keys: 1}
		}
		c.keys *= float64(ix.Buckets)
	}
	c.any = bound > 0
	if ix.Unique && bound == len(ix.Columns) && !nullable {
		c.point = true
		c.sel = min(1, c.keys/max(st.Rows, 1))
		return c
	}
	if c.armCols == 0 && c.eqCols < len(c.key) {
		o.rangeOn(n, l, &c, st)
	}
	return c
}

// matchedSel estimates the share of rows that an atom with alternatives leaves.
func matchedSel(a *atom, st *TableStats, t *catalog.Table, ord int) float64 {
	switch a.kind {
	case atomEq:
		return st.equal(t, ord, a.value)
	case atomIn:
		return st.anyOf(t, ord, a.list)
	case atomArray:
		return st.anyElement(t, ord, a.value)
	}
	if c := st.column(t, ord); c != nil {
		return max(c.Nulls, leastSel)
	}
	return min(1, 1/st.distinct(t, ord))
}

// use marks the condition of an atom as implied.
func (c *constrained) use(l *atomList, a *atom) {
	if c.used == nil {
		c.used = make([]bool, len(l.conjs))
	}
	if a.exact {
		c.used[a.conj] = true
	}
}

// best returns the atom that gives a key column alternatives, preferring one
// value; nil if there is none.
func (l *atomList) best(ord int) *atom {
	if i := l.single(ord); i >= 0 {
		return &l.atoms[i]
	}
	for i := range l.atoms {
		if a := &l.atoms[i]; a.ord == ord && (a.kind == atomIn || a.kind == atomArray) {
			return a
		}
	}
	return nil
}

// count is how many values an atom gives a key column.
func (a *atom) count(values *valueSource) float64 {
	switch a.kind {
	case atomIn:
		return float64(len(a.list))
	case atomArray:
		return values.elements(a.value)
	}
	return 1
}

// match is what an atom with alternatives says of a key column.
func (a *atom) match() plan.KeyMatch {
	switch a.kind {
	case atomEq:
		return plan.KeyMatch{Values: []plan.Expr{a.value}}
	case atomIn:
		return plan.KeyMatch{Values: a.list}
	case atomArray:
		return plan.KeyMatch{Array: a.value}
	}
	return plan.KeyMatch{Null: true}
}

// rangeOn adds a range over the key column after the equality prefix.
func (o *optimizer) rangeOn(n *plan.Scan, l *atomList, c *constrained, st *TableStats) {
	ord := n.Table.ColumnByID(c.key[c.eqCols].Column)
	lo, hi := false, false
	for i := range l.atoms {
		a := &l.atoms[i]
		if a.ord != ord {
			continue
		}
		switch a.kind {
		case atomLo:
			if c.span.Lo == nil {
				c.span.Lo = &plan.Bound{Values: []plan.Expr{a.value}, Inclusive: a.inclusive}
				c.use(l, a)
				lo = true
			}
		case atomHi:
			if c.span.Hi == nil {
				c.span.Hi = &plan.Bound{Values: []plan.Expr{a.value}, Inclusive: a.inclusive}
				c.use(l, a)
				hi = true
			}
		case atomPrefix:
			if c.span.Lo == nil && c.span.Hi == nil {
				c.span.Lo = &plan.Bound{Values: []plan.Expr{a.value}, Inclusive: true}
				lo, hi = true, true
				if a.hi != nil {
					c.span.Hi = &plan.Bound{Values: []plan.Expr{a.hi}}
				}
				c.use(l, a)
			}
		case atomNotNull:
			c.span.NotNull = true
			c.use(l, a)
			c.any = true
		}
	}
	if c.span.Lo != nil || c.span.Hi != nil {
		c.span.NotNull = false // a bound excludes NULL
	}
	if lo || hi {
		c.sel *= st.between(n.Table, ord, c.span.Lo, c.span.Hi)
		c.any = true
	} else {
		o.tupleRange(n, l, c)
		c.alternatives(l, n.Table, ord, st)
	}
}

// tupleRange uses (a, b) > (x, y) where the key columns begin with a, b, or with a.
func (o *optimizer) tupleRange(n *plan.Scan, l *atomList, c *constrained) {
	for i, e := range l.conjs {
		r, ok := e.(*plan.RowCompare)
		if !ok {
			continue
		}
		op, left, right := r.Op, r.Left, r.Right
		if column(n, left[0]) < 0 {
			op, left, right = plan.Mirrored[op], right, left
		}
		k, exact := c.tuplePrefix(n, left, right)
		if k == 0 {
			continue
		}
		b := &plan.Bound{Values: right[:k], Inclusive: len(op) == 2 || k < len(left)}
		if op[0] == '>' {
			if c.span.Lo != nil {
				continue
			}
			c.span.Lo = b
		} else {
			if c.span.Hi != nil {
				continue
			}
			c.span.Hi = b
		}
		if c.used == nil {
			c.used = make([]bool, len(l.conjs))
		}
		c.used[i] = exact
		c.sel *= rangeSel
		c.any = true
	}
}

// tuplePrefix returns how many of the columns left follow each other in the key, ordered
// one way, and whether the keys beyond the values right are exactly the rows beyond them:
// that is so if they are all of left, and a NULL, which has a place in the key though it
// compares with nothing, is no matter but in the first, where no bound lets it in.
func (c *constrained) tuplePrefix(n *plan.Scan, left, right []plan.Expr) (k int, exact bool) {
	exact = true
	for ; k < len(left) && c.eqCols+k < len(c.key); k++ {
		col := c.key[c.eqCols+k]
		ord := n.Table.ColumnByID(col.Column)
		if column(n, left[k]) != ord || !fixed(n, ord, right[k]) || col.Desc != c.key[c.eqCols].Desc {
			break
		}
		exact = exact && (k == 0 || n.Table.Columns[ord].NotNull)
	}
	return k, exact && k == len(left)
}
