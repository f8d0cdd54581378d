package sql

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// rangeOp is something to do to the ranges of a table. It is not part of any
// transaction. In a transaction that has changed the catalog it waits for the
// commit: the table, or the index, may be new.
type rangeOp struct {
	// settings: cluster settings were changed, nothing else.
	settings bool

	table   catalog.ID
	split   [][]byte
	until   hlc.Timestamp
	unsplit [][]byte
	// all is a span whose borders are given up.
	all keys.Span
	// copyFrom is a span whose borders are made in scatter too.
	copyFrom keys.Span
	scatter  keys.Span
}

// doRanges does op, or notes it for after the commit.
func (s *Session) doRanges(ctx context.Context, op rangeOp) error {
	if s.coll.Changed() {
		s.rangeOps = append(s.rangeOps, op)
		return nil
	}
	return s.srv.applyRangeOp(ctx, &op)
}

// presplit notes the borders of a new table or index.
func (s *Session) presplit(p ddl.Presplit) {
	s.rangeOps = append(s.rangeOps, rangeOp{
		table: p.Table, split: p.Keys, until: hlc.MaxTimestamp, copyFrom: p.CopyFrom, scatter: p.Scatter,
	})
}

// afterCommit does what waited for the commit, for tables that exist now. The
// commit stands whatever comes of it, so that a failure is a warning.
func (s *Session) afterCommit(ctx context.Context) {
	s.contentsCommitted(ctx)
	ops := s.rangeOps
	s.rangeOps = nil
	for i := range ops {
		if ops[i].settings {
			s.srv.cfg.Settings.Changed(ctx)
			continue
		}
		if d, err := s.coll.Peek(ctx, ops[i].table); err != nil || d == nil {
			continue // rolled back to a savepoint, or dropped since
		}
		if err := s.srv.applyRangeOp(ctx, &ops[i]); err != nil {
			s.srv.cfg.Logger.Warn("ranges were not split after a commit", "table", ops[i].table, "error", err)
			s.warnings = append(s.warnings, pgerr.New(pgerr.Warning, "the transaction was committed, but its ranges were not changed: %v", err).
				WithHint("Use ALTER TABLE ... SPLIT AT."))
		}
	}
}

// warn sends what afterCommit had to say.
func (x *execution) warn() {
	for _, w := range x.s.warnings {
		x.res.Notice("WARNING", w)
	}
	x.s.warnings = nil
}

func (s *Server) applyRangeOp(ctx context.Context, op *rangeOp) error {
	r, err := s.ranges()
	if err != nil {
		return err
	}
	if op.copyFrom.Start != nil {
		copied, err := copyBorders(ctx, r, op)
		if err != nil || !copied {
			return err
		}
	}
	if err := splitAll(ctx, r, halving(op.split), op.until); err != nil {
		return err
	}
	for _, key := range op.unsplit {
		if err := r.Unsplit(ctx, key); err != nil {
			return err
		}
	}
	if op.all.Start != nil {
		if err := UnsplitSpan(ctx, r, op.all); err != nil {
			return err
		}
	}
	if op.scatter.Start != nil {
		return r.Scatter(ctx, op.scatter)
	}
	return nil
}

// splitsAtOnce bounds the splits that one statement has under way: each takes a few
// commits one after the other.
const splitsAtOnce = 8

// splitAll makes each of keys a border. Of the order of halving the keys that are
// worked on at a time are mostly in different ranges.
func splitAll(ctx context.Context, r Ranges, list [][]byte, until hlc.Timestamp) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan []byte)
	var wg sync.WaitGroup
	for range min(splitsAtOnce, len(list)) {
		wg.Go(func() {
			for key := range work {
				if err := r.SplitAt(ctx, key, until); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, key := range list {
		select {
		case work <- key:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

// copyBorders makes the borders that SPLIT AT once made in copyFrom; false if it
// made none.
func copyBorders(ctx context.Context, r Ranges, op *rangeOp) (bool, error) {
	list, err := r.Ranges(ctx, op.copyFrom)
	if err != nil {
		return false, err
	}
	copied := false
	for i := range list {
		suffix, ok := bytes.CutPrefix(list[i].Desc.StartKey, op.copyFrom.Start)
		if until := list[i].SplitUntil; ok && !until.IsEmpty() {
			if err := r.SplitAt(ctx, slices.Concat(op.scatter.Start, suffix), until); err != nil {
				return false, err
			}
			copied = true
		}
	}
	return copied, nil
}

// halving orders keys so that each splits what is left about in the middle: then
// no range is split often, and what moves between them stays small.
func halving(list [][]byte) [][]byte {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, bytes.Compare)
	sorted = slices.CompactFunc(sorted, bytes.Equal)
	out := make([][]byte, 0, len(sorted))
	queue := [][][]byte{sorted}
	for len(queue) > 0 {
		part := queue[0]
		queue = queue[1:]
		if len(part) == 0 {
			continue
		}
		mid := len(part) / 2
		out = append(out, part[mid])
		queue = append(queue, part[:mid], part[mid+1:])
	}
	return out
}

// rangeTarget finds the index that a statement about ranges names.
func (x *execution) rangeTarget(ctx context.Context, src ast.RangeSource) (ddl.KeyObject, *rowcodec.Index, error) {
	o, err := ddl.FindKeyObject(ctx, x.s.coll, src)
	if err != nil || o.Index == nil {
		return o, nil, err
	}
	if o.Index.Inverted != "" {
		return o, nil, pgerr.Unsupported("statements about the ranges of an inverted index are not supported").
			WithHint("Name the table instead.")
	}
	ix, err := rowcodec.Compile(o.Table, o.Index)
	return o, ix, err
}

// writable refuses statements that change ranges in a read-only transaction.
func (x *execution) writable(tag string) error {
	if x.s.readOnly() {
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", tag)
	}
	return nil
}

// runSplit is ALTER ... SPLIT AT, SPLIT INTO n TABLETS and UNSPLIT.
func (x *execution) runSplit(ctx context.Context, st *ast.Split) ([][]types.Datum, error) {
	r, err := x.s.srv.ranges()
	if err != nil {
		return nil, err
	}
	if err := x.writable(st.Tag()); err != nil {
		return nil, err
	}
	o, ix, err := x.rangeTarget(ctx, st.Source)
	if err != nil {
		return nil, err
	}
	if st.All {
		return x.unsplitAll(ctx, r, &o)
	}
	op := rangeOp{table: o.Table.ID, until: hlc.MaxTimestamp}
	var list [][]byte
	if st.Into != nil {
		op.scatter = o.Span
		list, err = x.ddlEnv(nil).Tablets(ix, st.Into)
	} else {
		list, err = x.ddlEnv(nil).SplitKeys(ctx, ix, st.Rows)
	}
	if err != nil {
		return nil, err
	}
	if st.Expires != nil {
		if op.until, err = x.expiration(ctx, st.Expires); err != nil {
			return nil, err
		}
	}
	if op.split = list; st.Unsplit {
		op.split, op.unsplit = nil, list
		if err := x.checkBorders(ctx, r, list); err != nil {
			return nil, err
		}
	}
	if err := x.s.doRanges(ctx, op); err != nil {
		return nil, err
	}
	p := x.newKeyPrinter()
	var rows [][]types.Datum
	for _, key := range list {
		row := keyRow(ctx, p, key)
		if !st.Unsplit {
			row = append(row, timestampDatum(op.until))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func keyRow(ctx context.Context, p *keyPrinter, key []byte) []types.Datum {
	return []types.Datum{types.NewBytes(string(key)), types.NewString(p.full(ctx, key))}
}

// checkBorders refuses to unsplit where no range begins.
func (x *execution) checkBorders(ctx context.Context, r Ranges, list [][]byte) error {
	for _, key := range list {
		at, err := r.Ranges(ctx, keys.Span{Start: key})
		if err != nil {
			return err
		}
		if len(at) == 0 || !bytes.Equal(at[0].Desc.StartKey, key) {
			return pgerr.New(pgerr.InvalidParameterValue, "no range begins at %s", x.newKeyPrinter().full(ctx, key))
		}
	}
	return nil
}

// unsplitAll is UNSPLIT ALL: of a table it means all its indexes.
func (x *execution) unsplitAll(ctx context.Context, r Ranges, o *ddl.KeyObject) ([][]types.Datum, error) {
	list, err := r.Ranges(ctx, o.Span)
	if err != nil {
		return nil, err
	}
	p := x.newKeyPrinter()
	var rows [][]types.Datum
	for i := range list {
		if key := list[i].Desc.StartKey; o.Span.Contains(key) {
			rows = append(rows, keyRow(ctx, p, key))
		}
	}
	return rows, x.s.doRanges(ctx, rangeOp{table: o.Table.ID, all: o.Span})
}

// runScatter is ALTER ... SCATTER.
func (x *execution) runScatter(ctx context.Context, st *ast.Scatter) ([][]types.Datum, error) {
	r, err := x.s.srv.ranges()
	if err != nil {
		return nil, err
	}
	if err := x.writable(st.Tag()); err != nil {
		return nil, err
	}
	o, ix, err := x.rangeTarget(ctx, st.Source)
	if err != nil {
		return nil, err
	}
	span := o.Span
	if st.From != nil {
		ends, err := x.ddlEnv(nil).SplitKeys(ctx, ix, &ast.Select{Values: [][]ast.Expr{st.From}})
		if err != nil {
			return nil, err
		}
		to, err := x.ddlEnv(nil).SplitKeys(ctx, ix, &ast.Select{Values: [][]ast.Expr{st.To}})
		if err != nil {
			return nil, err
		}
		if span = (keys.Span{Start: ends[0], End: to[0]}); bytes.Compare(span.Start, span.End) >= 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "SCATTER must go from a lower to a higher key").At(st.Pos)
		}
	}
	if err := x.s.doRanges(ctx, rangeOp{table: o.Table.ID, scatter: span}); err != nil {
		return nil, err
	}
	list, err := r.Ranges(ctx, span)
	if err != nil {
		return nil, err
	}
	p := x.newKeyPrinter()
	rows := make([][]types.Datum, len(list))
	for i := range list {
		rows[i] = keyRow(ctx, p, list[i].Desc.StartKey)
	}
	return rows, nil
}

// expiration evaluates WITH EXPIRATION: a timestamp, or an interval from now.
func (x *execution) expiration(ctx context.Context, e ast.Expr) (hlc.Timestamp, error) {
	now := x.s.srv.cfg.DB.Clock().Now()
	d, t, err := x.expirationValue(ctx, e)
	if err != nil {
		return hlc.Timestamp{}, err
	}
	var at time.Time
	switch {
	case d.IsNull():
		return hlc.Timestamp{}, pgerr.New(pgerr.NullValueNotAllowed, "the expiration of a split must not be null").At(e.Position())
	case t.Family == types.IntervalFamily:
		iv := d.Interval()
		at = time.Unix(0, now.WallTime).AddDate(0, int(iv.Months), int(iv.Days)).Add(time.Duration(iv.Micros) * time.Microsecond)
	case t.Family != types.TimestampFamily && t.Family != types.TimestampTZFamily:
		return hlc.Timestamp{}, pgerr.New(pgerr.DatatypeMismatch, "the expiration of a split must be a timestamp or an interval, not %s",
			types.FormatType(t)).At(e.Position())
	case d.Int() == types.TimestampInf:
		return hlc.MaxTimestamp, nil
	default:
		at = types.TimeFromMicros(d.Int())
	}
	if at.Unix() > math.MaxInt64/int64(time.Second) {
		return hlc.MaxTimestamp, nil
	}
	if at.Unix() < now.WallTime/int64(time.Second) || at.UnixNano() <= now.WallTime {
		return hlc.Timestamp{}, pgerr.New(pgerr.InvalidParameterValue, "the expiration of a split must lie in the future").At(e.Position())
	}
	return hlc.Timestamp{WallTime: at.UnixNano()}, nil
}

func (x *execution) expirationValue(ctx context.Context, e ast.Expr) (types.Datum, *types.T, error) {
	lit, ok := e.(*ast.StrLit)
	if !ok {
		return x.s.evalConst(ctx, e)
	}
	if v, err := types.ParseText(types.Interval, lit.Val, x.s.Format()); err == nil {
		return v, types.Interval, nil
	}
	v, err := types.ParseText(types.TimestampTZ, lit.Val, x.s.Format())
	return v, types.TimestampTZ, err
}

// timestampDatum is the time as a timestamptz; NULL if there is none.
func timestampDatum(ts hlc.Timestamp) types.Datum {
	switch {
	case ts.IsEmpty():
		return types.Null
	case ts.WallTime == hlc.MaxTimestamp.WallTime:
		return types.NewTimestampTZ(types.TimestampInf)
	}
	return types.NewTimestampTZ(types.MicrosFromTime(time.Unix(0, ts.WallTime)))
}
