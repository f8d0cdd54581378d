package exec

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/aggfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// subplan is a query in an expression.
type subplan struct {
	run    *operator.Run
	src    *operator.Source
	copies []expr.OuterCopy
	// cacheable: no outer columns, so one evaluation serves the whole execution.
	cacheable bool
	epoch     uint64 // execution that cached belongs to
	cached    types.Datum
	text      rowcontainer.Arena // keeps results beyond the inner plan's buffers
	free      quota.Account
}

// compileSubquery compiles a query in an expression.
func (c *compiler) compileSubquery(e *plan.Subquery, s expr.Scope) (expr.Func, error) {
	if e.Kind == plan.RowSubquery {
		return c.rowSubquery(e, s)
	}
	p, inner, err := c.subplan(e, s)
	if err != nil {
		return nil, err
	}
	switch e.Kind {
	case plan.ScalarSubquery:
		return p.wrap(p.scalar), nil
	case plan.ExistsSubquery:
		not := e.Not
		return p.wrap(func() (types.Datum, error) {
			row, err := p.src.Row(1)
			return types.NewBool((row != nil) != not), err
		}), nil
	case plan.ArraySubquery:
		nested := e.Plan.Props().Cols[0].Type.SubArray()
		return p.wrap(func() (types.Datum, error) { return p.array(nested) }), nil
	}
	return c.quantified(p, e, s, inner)
}

// subplan compiles the plan of a subquery; inner is the scope of its rows.
func (c *compiler) subplan(e *plan.Subquery, s expr.Scope) (p *subplan, inner expr.Scope, err error) {
	ids := make([]plan.ColID, len(e.Outer))
	for i := range e.Outer {
		ids[i] = e.Outer[i].Col
	}
	p = &subplan{run: c.Run, copies: c.BindOuter(ids, s), cacheable: len(ids) == 0 || plant.On(plant.StaleSubquery)}
	compile := func() (err error) {
		p.src, inner, err = c.Input(e.Plan)
		return err
	}
	if e.Kind == plan.ExistsSubquery {
		return p, inner, c.Partly(compile)
	}
	return p, inner, compile()
}

// rowSubplan is a subquery whose fields several expressions take.
type rowSubplan struct {
	compute expr.Func
	value   types.Datum
	epoch   uint64
	times   int // how often value was computed
}

// rowSubquery compiles one of the expressions that take a field of a subquery's row. The first of them
// that comes to an enclosing row computes the subquery, the others take what it found: an expression that
// comes again has come to the next row.
func (c *compiler) rowSubquery(e *plan.Subquery, s expr.Scope) (expr.Func, error) {
	shared := c.rows[e.ID]
	if shared == nil {
		p, _, err := c.subplan(e, s)
		if err != nil {
			return nil, err
		}
		shared = &rowSubplan{compute: p.wrap(p.record(e.Plan.Props().Cols))}
		c.rows[e.ID] = shared
	}
	if len(e.Outer) == 0 {
		return shared.compute, nil
	}
	taken := 0
	return func(row types.Row) (types.Datum, error) {
		if taken == shared.times || shared.epoch != c.Run.Epoch || plant.On(plant.RowPerField) {
			d, err := shared.compute(row)
			if err != nil {
				return types.Null, err
			}
			shared.value, shared.epoch = d, c.Run.Epoch
			shared.times++
		}
		taken = shared.times
		return shared.value, nil
	}, nil
}

// wrap runs one evaluation of the subquery, or returns the cached result.
func (p *subplan) wrap(eval func() (types.Datum, error)) expr.Func {
	return func(row types.Row) (types.Datum, error) {
		if p.cacheable && p.epoch == p.run.Epoch {
			return p.cached, nil
		}
		d, err := p.once(row, eval)
		if err != nil {
			return types.Null, err
		}
		if p.cacheable {
			p.cached, p.epoch = d, p.run.Epoch
		}
		return d, nil
	}
}

func (p *subplan) once(row types.Row, eval func() (types.Datum, error)) (types.Datum, error) {
	p.run.SetOuter(p.copies, row)
	if err := p.src.Start(); err != nil {
		p.src.Stop()
		return types.Null, err
	}
	d, err := eval()
	if err == nil {
		// The value may live in the plan's buffers, which stop gives up.
		d, err = p.text.CopyDatum(d, &p.free)
	}
	p.src.Stop()
	return d, err
}

func errManyRows() error {
	return pgerr.New(pgerr.CardinalityViolation, "more than one row returned by a subquery used as an expression")
}

func (p *subplan) scalar() (types.Datum, error) {
	row, err := p.src.Row(2)
	if row == nil || err != nil {
		return types.Null, err
	}
	d, err := p.text.CopyDatum(row[0], &p.free)
	if err != nil {
		return types.Null, err
	}
	if row, err = p.src.Row(1); row != nil {
		return types.Null, errManyRows()
	}
	return d, err
}

func (p *subplan) record(cols []plan.Column) func() (types.Datum, error) {
	ts := make([]*types.T, len(cols))
	for i := range cols {
		ts[i] = cols[i].Type
	}
	return func() (types.Datum, error) {
		row, err := p.src.Row(2)
		if row == nil || err != nil {
			return types.Null, err
		}
		d := types.NewRecord(ts, row)
		if row, err = p.src.Row(1); row != nil {
			return types.Null, errManyRows()
		}
		return d, err
	}
}

// array collects the single column of all rows; nested says that it has arrays.
func (p *subplan) array(nested bool) (types.Datum, error) {
	var acc quota.Account
	acc.Init(p.run.Mem)
	defer acc.Close()
	var elems []types.Datum
	for {
		row, err := p.src.Row(rowcontainer.BatchRows)
		if err != nil {
			return types.Null, err
		}
		if row == nil {
			break
		}
		d, err := p.text.CopyDatum(row[0], &acc)
		if err == nil {
			err = acc.Grow(rowcontainer.DatumSize)
		}
		if err != nil {
			return types.Null, expr.MemoryError(err)
		}
		elems = append(elems, d)
	}
	if nested {
		return aggfuncs.NestArrays(p.run.Builtin, elems)
	}
	return types.NewArray(elems), nil
}

// quantified compiles op [ANY|ALL] (subquery). The rows of a subquery without
// outer columns are kept for the execution.
func (c *compiler) quantified(p *subplan, e *plan.Subquery, s, inner expr.Scope) (expr.Func, error) {
	left, err := c.Exprs(e.Left, s)
	if err != nil {
		return nil, err
	}
	right, err := c.Exprs(e.Cmps, inner)
	if err != nil {
		return nil, err
	}
	ops, err := c.Binaries(e.Ops, e.Left, e.Cmps)
	if err != nil {
		return nil, err
	}
	eqs, err := c.Binaries(e.Eqs, e.Left, e.Cmps)
	if err != nil {
		return nil, err
	}
	q := &quantifier{
		p: p, left: left, right: right, ops: ops, eqs: eqs, all: e.Kind == plan.AllSubquery, not: e.Not,
		single: e.Kind == plan.CompareSubquery, anyField: len(ops) > 1 && e.OpName == "<>", whole: p.cacheable && e.Kind == plan.AnySubquery && e.OpName == "=",
		vals: make([]types.Datum, len(left)), cmps: make([]types.Datum, len(left)),
	}
	c.OnClose(q.close)
	if p.cacheable && len(ops) == 1 && !q.all && !q.single && e.OpName == "=" && expr.Hashes(e.Ops[0]) {
		q.hashed = e.Ops[0]
	}
	return q.eval, nil
}

// quantifier evaluates op [ANY|ALL] (subquery).
type quantifier struct {
	p           *subplan
	left, right []expr.Func
	ops         []expr.BinaryFunc
	eqs         []expr.BinaryFunc // an ordering of rows: equality of all fields but the last
	all, not    bool
	single      bool // without ANY or ALL
	anyField    bool // rows differ if one field does (<>), else all must match
	whole       bool // all fields of the left side are computed before the first is compared
	vals, cmps  []types.Datum
	row         types.Row         // that the left side is computed of
	computed    int               // how many of vals are
	rights      rowcontainer.List // right sides, if the subquery is cacheable
	hashed      *call.Overload    // = ANY of one column: a set does instead of rights
	set         *expr.DatumSet    // what hashed compares with
	acc         quota.Account     // of set
}

func (q *quantifier) eval(row types.Row) (types.Datum, error) {
	d, err := q.decide(row)
	if err != nil {
		return types.Null, err
	}
	if q.not {
		d = expr.Not(d)
	}
	return d, nil
}

// computeLeft computes the left side up to field i, from the left. It is called only where there is
// a row to compare with whose fields before are undecided: of what decides no answer nothing is
// computed, and be it an error.
func (q *quantifier) computeLeft(i int) error {
	if q.whole {
		i = len(q.left) - 1
	}
	for ; q.computed <= i; q.computed++ {
		d, err := q.left[q.computed](q.row)
		if err != nil {
			return err
		}
		q.vals[q.computed] = d
	}
	return nil
}

// startLeft begins with another left side.
func (q *quantifier) startLeft(row types.Row) { q.row, q.computed = row, 0 }

func (q *quantifier) decide(row types.Row) (types.Datum, error) {
	if !q.p.cacheable {
		return q.p.once(row, func() (types.Datum, error) { return q.combine(row, q.compared) })
	}
	if q.p.epoch != q.p.run.Epoch {
		if err := q.fill(); err != nil {
			return types.Null, err
		}
		q.p.epoch = q.p.run.Epoch
	}
	if q.hashed != nil {
		return q.probe(row)
	}
	i := 0
	return q.combine(row, func() (types.Row, error) {
		if i == q.rights.Len() {
			return nil, nil
		}
		if err := q.p.run.Tick(); err != nil {
			return nil, err
		}
		i++
		return q.rights.At(i - 1)
	})
}

// probe looks the left value up in the set.
func (q *quantifier) probe(row types.Row) (types.Datum, error) {
	if q.set.Empty() {
		return types.NewBool(false), nil
	}
	q.startLeft(row)
	if err := q.computeLeft(0); err != nil {
		return types.Null, err
	}
	return q.set.Test(q.vals[0], false), nil
}

// compared returns the right sides of the subquery's next row, nil at the end.
func (q *quantifier) compared() (types.Row, error) {
	row, err := q.p.src.Row(rowcontainer.BatchRows)
	if row == nil || err != nil {
		return nil, err
	}
	for i, f := range q.right {
		if q.cmps[i], err = f(row); err != nil {
			return nil, err
		}
	}
	return q.cmps, nil
}

// fill evaluates a subquery without outer columns for the whole execution. The
// memory is accounted to the statement and freed at the next execution or when
// the program closes.
func (q *quantifier) fill() error {
	q.close()
	q.rights.Open(&q.p.run.State, len(q.right))
	q.acc.Init(q.p.run.Mem)
	if q.hashed != nil {
		q.set = q.p.run.NewDatumSet(q.hashed, 0)
	}
	if err := q.p.src.Start(); err != nil {
		q.p.src.Stop()
		return err
	}
	defer q.p.src.Stop()
	for {
		vals, err := q.compared()
		if vals == nil || err != nil {
			return err
		}
		if q.hashed == nil {
			if err := q.rights.Add(vals); err != nil {
				return err
			}
			continue
		}
		if err := q.set.Insert(vals[0], &q.acc); err != nil {
			return err
		}
	}
}

// close gives up what fill has kept.
func (q *quantifier) close() {
	q.rights.Close()
	q.acc.Close()
}

// combine applies the comparison to every row: for ANY the first true decides,
// for ALL the first false.
func (q *quantifier) combine(row types.Row, next func() (types.Row, error)) (types.Datum, error) {
	null := false
	q.startLeft(row)
	if q.single {
		return q.compareSingle(next)
	}
	for {
		vals, err := next()
		if err != nil {
			return types.Null, err
		}
		if vals == nil {
			break
		}
		d, err := q.compare(vals)
		if err != nil {
			return types.Null, err
		}
		if d.IsNull() {
			null = true
		} else if d.Bool() != q.all {
			return d, nil
		}
	}
	if null {
		return types.Null, nil
	}
	return types.NewBool(q.all), nil
}

// compareSingle compares the left side with the only row, with NULL for none.
func (q *quantifier) compareSingle(next func() (types.Row, error)) (types.Datum, error) {
	vals, err := next()
	if vals == nil || err != nil {
		return types.Null, err
	}
	d, err := q.compare(vals)
	if err != nil {
		return types.Null, err
	}
	if vals, err = next(); vals != nil {
		return types.Null, errManyRows()
	}
	return d, err
}

// compare compares the left side with one row.
func (q *quantifier) compare(vals types.Row) (types.Datum, error) {
	if len(q.eqs) > 0 {
		return q.compareOrder(vals)
	}
	null := false
	for i, op := range q.ops {
		if err := q.computeLeft(i); err != nil {
			return types.Null, err
		}
		d, err := op(q.vals[i], vals[i])
		if err != nil {
			return types.Null, err
		}
		if d.IsNull() {
			null = true
		} else if d.Bool() == q.anyField {
			return d, nil
		}
	}
	if null {
		return types.Null, nil
	}
	return types.NewBool(!q.anyField), nil
}

// compareOrder compares the left side with one row in the order of their
// fields: the first that differ decide.
func (q *quantifier) compareOrder(vals types.Row) (types.Datum, error) {
	for i, eq := range q.eqs {
		if err := q.computeLeft(i); err != nil {
			return types.Null, err
		}
		d, err := eq(q.vals[i], vals[i])
		if err != nil || d.IsNull() {
			return types.Null, err
		}
		if !d.Bool() {
			return q.ops[i](q.vals[i], vals[i])
		}
	}
	last := len(q.ops) - 1
	if err := q.computeLeft(last); err != nil {
		return types.Null, err
	}
	return q.ops[last](q.vals[last], vals[last])
}
