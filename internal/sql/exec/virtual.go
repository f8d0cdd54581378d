package exec

import (
	"errors"
	"slices"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// virtualOp reads a relation whose rows are computed.
type virtualOp struct {
	run *run
	// rows has the rows computed, all columns of each.
	rows   func(emit func(types.Row) error) error
	width  int // of those rows
	ords   []int
	filter expr.Pred
	bound  rowBound
	keys   *lookupKeys // nil: all rows
	store  rowStore
	row    types.Row // scratch
	pos    int
}

// virtualScan compiles the read of a sequence or a statement.
func (c *compiler) virtualScan(n *plan.VirtualScan) (operator, error) {
	v := &virtualOp{run: c.run, width: len(n.Table.Columns), ords: n.Ords}
	v.rows = func(emit func(types.Row) error) error {
		env := v.run.env
		switch {
		case n.Stmt != nil && env.Statements != nil:
			return env.Statements.StatementRows(v.run.Ctx, n.Stmt, emit)
		case n.Stmt == nil && env.Virtual != nil:
			return env.Virtual.VirtualRows(v.run.Ctx, &VirtualRequest{Table: n.Table}, emit)
		}
		return errNotVirtual(n.Table.Name)
	}
	var err error
	v.filter, err = c.Pred(n.Filter, expr.ScopeOf(n.Cols))
	return v, err
}

func errNotVirtual(name string) error {
	return pgerr.Unsupported("virtual table %q is not available here", name)
}

// virtualTable compiles the read of a virtual table: of all of it, or of the rows that have
// given keys in one of its indexes.
func (c *compiler) virtualTable(n *plan.Scan) (operator, error) {
	v := &virtualOp{run: c.run, width: len(n.Table.Columns), ords: n.Ords}
	req := &VirtualRequest{Table: n.Table, Need: make([]bool, v.width)}
	for _, ord := range n.Ords {
		req.Need[ord] = true
	}
	var err error
	if v.keys, err = c.lookupKeys(n); err != nil {
		return nil, err
	}
	v.rows = func(emit func(types.Row) error) error {
		if v.run.env.Virtual == nil {
			return errNotVirtual(n.Table.Name)
		}
		if keys := v.keys; keys != nil {
			if err := keys.eval(); err != nil || keys.list.len() == 0 {
				return err
			}
			req.Index, req.Keys = n.Index, keys.list.rows
		}
		return v.run.env.Virtual.VirtualRows(v.run.Ctx, req, emit)
	}
	if v.filter, err = c.Pred(n.Filter, expr.ScopeOf(n.Cols)); err != nil {
		return nil, err
	}
	if n.Spans == nil {
		if req.Tests, err = c.columnTests(n); err != nil {
			return nil, err
		}
	}
	v.bound, err = c.bound(n.Bound)
	return v, err
}

// columnTests compiles the conditions of a scan's filter that compare a column with constants.
func (c *compiler) columnTests(n *plan.Scan) ([]ColumnTest, error) {
	var tests []ColumnTest
	for _, cond := range plan.Conjuncts(n.Filter, nil) {
		col := columnOfConsts(cond)
		if col == nil {
			continue
		}
		i := slices.IndexFunc(n.Cols, func(c plan.Column) bool { return c.ID == col.Col })
		if i < 0 {
			continue
		}
		test, err := c.Pred(cond, expr.ScopeOf(n.Cols))
		if err != nil {
			return nil, err
		}
		row := make(types.Row, len(n.Cols))
		tests = append(tests, ColumnTest{Ord: n.Ords[i], Passes: func(d types.Datum) bool {
			row[i] = d
			ok, err := test(row)
			return ok || err != nil // an error is the filter's to raise, if it comes to this condition
		}})
	}
	return tests, nil
}

// columnOfConsts returns the column that a condition demands to be one of some constants,
// nil if it does something else.
func columnOfConsts(e plan.Expr) *plan.ColRef {
	var left plan.Expr
	var values []plan.Expr
	switch e := e.(type) {
	case *plan.Call:
		if e.Fn.Operator && e.Fn.Name == "=" && len(e.Args) == 2 {
			left, values = e.Args[0], e.Args[1:]
		}
	case *plan.InList:
		if !e.Not {
			left, values = e.Left, e.List
		}
	}
	for _, v := range values {
		if _, ok := v.(*plan.Const); !ok {
			return nil
		}
	}
	col, _ := left.(*plan.ColRef)
	return col
}

// errEnough ends the computing of rows once there are as many as are wanted.
var errEnough = errors.New("enough rows")

func (v *virtualOp) open() error {
	v.pos = 0
	v.store.open(v.run, len(v.ords))
	left, err := v.bound.rows()
	if err != nil || left == 0 {
		return err
	}
	if v.row == nil {
		v.row = make(types.Row, len(v.ords))
	}
	err = v.rows(func(full types.Row) error {
		if len(full) != v.width {
			return pgerr.Assertion("a virtual table yielded %d columns of %d", len(full), v.width)
		}
		copySlots(v.row, full, v.ords)
		if v.filter != nil {
			if ok, err := v.filter(v.row); !ok {
				return err
			}
		}
		if _, err := v.store.add(v.row); err != nil {
			return err
		}
		if left--; left == 0 {
			return errEnough
		}
		return v.run.Tick()
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

func (v *virtualOp) next(b *Batch) error {
	b.clear()
	for ; v.pos < v.store.len() && !b.full(); v.pos++ {
		b.addCopy(v.store.rows[v.pos])
	}
	return nil
}

func (v *virtualOp) close() {
	v.store.close()
	if v.keys != nil {
		v.keys.close()
	}
}

// lookupKeys are the keys of a hash index that spans ask for.
type lookupKeys struct {
	run    *run
	spans  [][]matchExprs
	single bool      // there is one key at most
	seen   keyTable  // else: those in list
	key    types.Row // being made
	list   rowStore
}

// lookupKeys compiles the spans of a virtual table's scan, nil if it reads everything.
func (c *compiler) lookupKeys(n *plan.Scan) (*lookupKeys, error) {
	if n.Spans == nil {
		return nil, nil
	}
	k := &lookupKeys{run: c.run, key: make(types.Row, len(n.Index.Columns)), single: len(n.Spans) == 1}
	for _, s := range n.Spans {
		if len(s.Eq) != len(n.Index.Columns) || s.Lo != nil || s.Hi != nil || s.NotNull {
			return nil, pgerr.Assertion("range of the hash index %q", n.Index.Name)
		}
		matches := make([]matchExprs, len(s.Eq))
		for i, eq := range s.Eq {
			var err error
			if matches[i], err = c.keyMatch(eq); err != nil {
				return nil, err
			}
			k.single = k.single && eq.Array == nil && len(eq.Values) <= 1
		}
		k.spans = append(k.spans, matches)
	}
	ts := make([]*types.T, len(n.Index.Columns))
	for i, col := range n.Index.Columns {
		ts[i] = n.Table.Columns[n.Table.ColumnByID(col.Column)].Type
	}
	k.seen = newKeyTable(ts)
	return k, nil
}

// eval computes the keys, each once.
func (k *lookupKeys) eval() error {
	k.list.open(k.run, len(k.key))
	if !k.single {
		k.seen.open(k.run)
	}
	for _, s := range k.spans {
		if err := k.product(s, 0); err != nil {
			return err
		}
	}
	return nil
}

func (k *lookupKeys) close() {
	k.list.close()
	k.seen.close()
}

// product gives column i and those after it every combination of alternatives.
func (k *lookupKeys) product(s []matchExprs, i int) error {
	if i == len(s) {
		return k.add()
	}
	with := func(d types.Datum) error {
		k.key[i] = d
		return k.product(s, i+1)
	}
	m := &s[i]
	if m.null {
		return with(types.Null)
	}
	if m.array != nil {
		d, err := m.array(nil)
		if err != nil || d.IsNull() {
			return err
		}
		for _, x := range d.ArrayElems() {
			if x.IsNull() {
				continue
			}
			if err := with(x); err != nil {
				return err
			}
		}
		return nil
	}
	for _, f := range m.values {
		d, err := f(nil)
		if err != nil {
			return err
		}
		if d.IsNull() {
			continue
		}
		if err := with(d); err != nil {
			return err
		}
	}
	return nil
}

// add notes the key that was made, unless it is known.
func (k *lookupKeys) add() error {
	if k.list.len() >= maxSpans {
		return pgerr.New(pgerr.StatementTooComplex, "condition selects more than %d keys", maxSpans)
	}
	if !k.single {
		if _, added, err := k.seen.put(k.key); err != nil || !added {
			return err
		}
	}
	_, err := k.list.add(k.key)
	return err
}
