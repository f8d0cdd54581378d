package ranges

import (
	"context"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// showRanges is SHOW RANGES and SHOW RANGE ... FOR ROW. Stores stand for replicas,
// the leader's for the lease holder.
func (e *Env) showRanges(ctx context.Context, st *ast.ShowRanges) ([][]types.Datum, error) {
	c, err := e.cluster()
	if err != nil {
		return nil, err
	}
	o, span, ix, err := e.shownRanges(ctx, st)
	if err != nil {
		return nil, err
	}
	if st.Row != nil {
		key, err := zoneconfig.SplitKeys(ctx, e.DDL, ix, &ast.Select{Values: [][]ast.Expr{st.Row}})
		if err != nil {
			return nil, err
		}
		span = keys.Span{Start: key[0]}
	}
	list, err := c.Ranges(ctx, span)
	if err != nil {
		return nil, err
	}
	p := newKeyPrinter(e.DDL.Coll)
	rows := make([][]types.Datum, len(list))
	for i := range list {
		d := &list[i].Desc
		rows[i] = append([]types.Datum{
			types.NewString(p.within(ctx, &o, d.StartKey)), types.NewString(p.within(ctx, &o, d.EndKey)),
		}, rangeRow(&list[i])...)
	}
	return rows, nil
}

// shownRanges finds what a SHOW about ranges names, and its keys.
func (e *Env) shownRanges(ctx context.Context, st *ast.ShowRanges) (zoneconfig.KeyObject, keys.Span, *rowcodec.Index, error) {
	if st.Cluster {
		return zoneconfig.KeyObject{Kind: zone.KindDefault}, keys.ReplicatedSpan(), nil, nil
	}
	src := ast.RangeSource{Kind: ast.ObjDatabase, Name: ast.TableName{Table: e.Database}}
	if st.Source != nil {
		src = *st.Source
	}
	o, ix, err := e.rangeTarget(ctx, src)
	return o, o.Span, ix, err
}

// rangeRow is what SHOW RANGES shows after the keys.
func rangeRow(r *Info) []types.Datum {
	var all, voting, other, localities []types.Datum
	leader, leaderAt := types.Null, types.Null
	for _, rep := range r.Desc.Replicas {
		store, at := types.NewInt(int64(rep.Store)), types.NewString(r.Localities[rep.Node])
		all, localities = append(all, store), append(localities, at)
		if rep.Type.Votes() {
			voting = append(voting, store)
		} else {
			other = append(other, store)
		}
		if rep.Store == r.Leader {
			leaderAt = at
		}
	}
	if r.Leader != 0 {
		leader = types.NewInt(int64(r.Leader))
	}
	const megabyteDigits = 6
	return []types.Datum{
		types.NewInt(int64(r.Desc.RangeID)), types.NewDecimalInt(r.SizeBytes, megabyteDigits), leader, leaderAt,
		types.NewArray(all), types.NewArray(localities), types.NewArray(voting), types.NewArray(other), timestampDatum(r.SplitUntil),
	}
}
