package ranges

import (
	"bytes"
	"context"
	"math"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// rangeTarget finds the index that a statement about ranges names.
func (e *Env) rangeTarget(ctx context.Context, src ast.RangeSource) (zoneconfig.KeyObject, *rowcodec.Index, error) {
	o, err := zoneconfig.FindKeyObject(ctx, e.DDL.Coll, src)
	if err != nil || o.Index == nil {
		return o, nil, err
	}
	if !o.Index.EntriesByRow() {
		return o, nil, pgerr.Unsupported("statements about the ranges of an inverted index are not supported").
			WithHint("Name the table instead.")
	}
	ix, err := rowcodec.Compile(o.Table, o.Index)
	return o, ix, err
}

// writable refuses statements that change ranges in a read-only transaction.
func (e *Env) writable(tag string) error {
	if e.DDL.ReadOnly {
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", tag)
	}
	return nil
}

// split is ALTER ... SPLIT AT, SPLIT INTO n TABLETS and UNSPLIT.
func (e *Env) split(ctx context.Context, st *ast.Split) ([][]types.Datum, error) {
	c, err := e.cluster()
	if err != nil {
		return nil, err
	}
	if err := e.writable(st.Tag()); err != nil {
		return nil, err
	}
	o, ix, err := e.rangeTarget(ctx, st.Source)
	if err != nil {
		return nil, err
	}
	if st.All {
		return e.unsplitAll(ctx, c, &o)
	}
	ch := change{table: o.Table.ID, until: hlc.MaxTimestamp}
	var list [][]byte
	if st.Into != nil {
		ch.scatter = o.Span
		list, err = zoneconfig.Tablets(e.DDL, ix, st.Into)
	} else {
		list, err = zoneconfig.SplitKeys(ctx, e.DDL, ix, st.Rows)
	}
	if err != nil {
		return nil, err
	}
	if st.Expires != nil {
		if ch.until, err = e.expiration(ctx, st.Expires); err != nil {
			return nil, err
		}
	}
	if ch.split = list; st.Unsplit {
		ch.split, ch.unsplit = nil, list
		if err := e.checkSplits(ctx, c, list); err != nil {
			return nil, err
		}
	}
	if err := e.do(ctx, ch); err != nil {
		return nil, err
	}
	p := newKeyPrinter(e.DDL.Coll)
	var rows [][]types.Datum
	for _, key := range list {
		row := keyRow(ctx, p, key)
		if !st.Unsplit {
			row = append(row, timestampDatum(ch.until))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func keyRow(ctx context.Context, p *keyPrinter, key []byte) []types.Datum {
	return []types.Datum{types.NewBytes(string(key)), types.NewString(p.full(ctx, key))}
}

// checkSplits refuses to unsplit where no range begins.
func (e *Env) checkSplits(ctx context.Context, c Cluster, list [][]byte) error {
	for _, key := range list {
		at, err := c.Ranges(ctx, keys.Span{Start: key})
		if err != nil {
			return err
		}
		if len(at) == 0 || !bytes.Equal(at[0].Desc.StartKey, key) {
			return pgerr.New(pgerr.InvalidParameterValue, "no range begins at %s", newKeyPrinter(e.DDL.Coll).full(ctx, key))
		}
	}
	return nil
}

// unsplitAll is UNSPLIT ALL: of a table it means all its indexes.
func (e *Env) unsplitAll(ctx context.Context, c Cluster, o *zoneconfig.KeyObject) ([][]types.Datum, error) {
	list, err := c.Ranges(ctx, o.Span)
	if err != nil {
		return nil, err
	}
	p := newKeyPrinter(e.DDL.Coll)
	var rows [][]types.Datum
	for i := range list {
		if key := list[i].Desc.StartKey; o.Span.Contains(key) {
			rows = append(rows, keyRow(ctx, p, key))
		}
	}
	return rows, e.do(ctx, change{table: o.Table.ID, all: o.Span})
}

// scatter is ALTER ... SCATTER.
func (e *Env) scatter(ctx context.Context, st *ast.Scatter) ([][]types.Datum, error) {
	c, err := e.cluster()
	if err != nil {
		return nil, err
	}
	if err := e.writable(st.Tag()); err != nil {
		return nil, err
	}
	o, ix, err := e.rangeTarget(ctx, st.Source)
	if err != nil {
		return nil, err
	}
	span := o.Span
	if st.From != nil {
		ends, err := zoneconfig.SplitKeys(ctx, e.DDL, ix, &ast.Select{Values: [][]ast.Expr{st.From}})
		if err != nil {
			return nil, err
		}
		to, err := zoneconfig.SplitKeys(ctx, e.DDL, ix, &ast.Select{Values: [][]ast.Expr{st.To}})
		if err != nil {
			return nil, err
		}
		if span = (keys.Span{Start: ends[0], End: to[0]}); bytes.Compare(span.Start, span.End) >= 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "SCATTER must go from a lower to a higher key").At(st.Pos)
		}
	}
	if err := e.do(ctx, change{table: o.Table.ID, scatter: span}); err != nil {
		return nil, err
	}
	list, err := c.Ranges(ctx, span)
	if err != nil {
		return nil, err
	}
	p := newKeyPrinter(e.DDL.Coll)
	rows := make([][]types.Datum, len(list))
	for i := range list {
		rows[i] = keyRow(ctx, p, list[i].Desc.StartKey)
	}
	return rows, nil
}

// expiration evaluates WITH EXPIRATION: a timestamp, or an interval from now.
func (e *Env) expiration(ctx context.Context, x ast.Expr) (hlc.Timestamp, error) {
	now := e.Now()
	d, t, err := e.expirationValue(ctx, x)
	if err != nil {
		return hlc.Timestamp{}, err
	}
	var at time.Time
	switch {
	case d.IsNull():
		return hlc.Timestamp{}, pgerr.New(pgerr.NullValueNotAllowed, "the expiration of a split must not be null").At(x.Position())
	case t.Family == types.IntervalFamily:
		iv := d.Interval()
		at = time.Unix(0, now.WallTime).AddDate(0, int(iv.Months), int(iv.Days)).Add(time.Duration(iv.Micros) * time.Microsecond)
	case t.Family != types.TimestampFamily && t.Family != types.TimestampTZFamily:
		return hlc.Timestamp{}, pgerr.New(pgerr.DatatypeMismatch, "the expiration of a split must be a timestamp or an interval, not %s",
			types.FormatType(t)).At(x.Position())
	case d.Int() == types.TimestampInf:
		return hlc.MaxTimestamp, nil
	default:
		at = types.TimeFromMicros(d.Int())
	}
	if at.Unix() > math.MaxInt64/int64(time.Second) {
		return hlc.MaxTimestamp, nil
	}
	if at.Unix() < now.WallTime/int64(time.Second) || at.UnixNano() <= now.WallTime {
		return hlc.Timestamp{}, pgerr.New(pgerr.InvalidParameterValue, "the expiration of a split must lie in the future").At(x.Position())
	}
	return hlc.Timestamp{WallTime: at.UnixNano()}, nil
}

func (e *Env) expirationValue(ctx context.Context, x ast.Expr) (types.Datum, *types.T, error) {
	lit, ok := x.(*ast.StrLit)
	if !ok {
		return e.Eval(ctx, x)
	}
	if v, err := typeio.ParseText(types.Interval, lit.Val, e.DDL.Format); err == nil {
		return v, types.Interval, nil
	}
	v, err := typeio.ParseText(types.TimestampTZ, lit.Val, e.DDL.Format)
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
