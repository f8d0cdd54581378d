package sql

import (
	"bytes"
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// showRanges is SHOW RANGES and SHOW RANGE ... FOR ROW. Stores stand for replicas,
// the leader's for the lease holder.
func (x *execution) showRanges(ctx context.Context, st *ast.ShowRanges) ([][]types.Datum, error) {
	r, err := x.s.srv.ranges()
	if err != nil {
		return nil, err
	}
	o, span, ix, err := x.shownRanges(ctx, st)
	if err != nil {
		return nil, err
	}
	if st.Row != nil {
		key, err := x.ddlEnv(nil).SplitKeys(ctx, ix, &ast.Select{Values: [][]ast.Expr{st.Row}})
		if err != nil {
			return nil, err
		}
		span = keys.Span{Start: key[0]}
	}
	list, err := r.Ranges(ctx, span)
	if err != nil {
		return nil, err
	}
	p := x.newKeyPrinter()
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
func (x *execution) shownRanges(ctx context.Context, st *ast.ShowRanges) (ddl.KeyObject, keys.Span, *rowcodec.Index, error) {
	if st.Cluster {
		return ddl.KeyObject{Kind: zone.KindDefault}, keys.ReplicatedSpan(), nil, nil
	}
	src := ast.RangeSource{Kind: ast.ObjDatabase, Name: ast.TableName{Table: x.s.db.Name}}
	if st.Source != nil {
		src = *st.Source
	}
	o, ix, err := x.rangeTarget(ctx, src)
	return o, o.Span, ix, err
}

// rangeRow is what SHOW RANGES shows after the keys.
func rangeRow(r *RangeInfo) []types.Datum {
	var all, voting, other, localities []types.Datum
	leader, leaderAt := types.Null, types.Null
	for _, rep := range r.Desc.Replicas {
		store, at := types.NewInt(int64(rep.Store)), types.NewString(r.Localities[rep.Node])
		all, localities = append(all, store), append(localities, at)
		if rep.Type == kvpb.Learner {
			other = append(other, store)
		} else {
			voting = append(voting, store)
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

// keyPrinter makes keys readable with the types of the columns they are made of.
type keyPrinter struct {
	coll    *catalog.Collection
	indexes map[string]*rowcodec.Index // by prefix; nil for what is not known
}

func (x *execution) newKeyPrinter() *keyPrinter {
	return &keyPrinter{coll: x.s.coll, indexes: map[string]*rowcodec.Index{}}
}

// index returns the index that a key belongs to, nil if there is none.
func (p *keyPrinter) index(ctx context.Context, key []byte) *rowcodec.Index {
	db, table, index, _, ok := keys.DecodeIndexPrefix(key)
	if !ok {
		return nil
	}
	prefix := string(keys.IndexPrefix(db, table, index))
	ix, ok := p.indexes[prefix]
	if !ok {
		ix = p.compile(ctx, catalog.ID(table), prefix)
		p.indexes[prefix] = ix
	}
	return ix
}

func (p *keyPrinter) compile(ctx context.Context, table catalog.ID, prefix string) *rowcodec.Index {
	t := p.table(ctx, table)
	if t == nil {
		return nil
	}
	for i := range t.Indexes {
		if string(rowcodec.IndexPrefix(t, &t.Indexes[i])) == prefix {
			if ix, err := rowcodec.Compile(t, &t.Indexes[i]); err == nil {
				return ix
			}
		}
	}
	return nil
}

// table returns the table with an id, nil if there is none.
func (p *keyPrinter) table(ctx context.Context, id catalog.ID) *catalog.Table {
	d, err := p.coll.Peek(ctx, id)
	t, ok := d.(*catalog.Table)
	if err != nil || !ok || t.Kind != catalog.KindTable {
		return nil
	}
	return t
}

// full prints any key, as in /Table/app.public.accounts/accounts_pkey/1/"abc"; what has no
// name any more is printed as the numbers in the key.
func (p *keyPrinter) full(ctx context.Context, key []byte) string {
	db, id, ok := keys.DecodeTableIDs(key)
	if !ok {
		return keys.Pretty(key)
	}
	t := p.table(ctx, catalog.ID(id))
	if t == nil {
		return keys.Pretty(key)
	}
	o := ddl.TableObject(t)
	name := "/Table/" + strings.TrimPrefix(o.Name(ctx, p.coll), "TABLE ")
	if ix := p.index(ctx, key); ix != nil {
		return name + "/" + ix.Desc.Name + ix.PrettyKey(key)
	}
	return name + strings.TrimPrefix(keys.Pretty(key), keys.Pretty(keys.TablePrefix(db, id)))
}

// within prints a border of a range of o: of a table from the index on, of an
// index from the first column on, and otherwise whole.
func (p *keyPrinter) within(ctx context.Context, o *ddl.KeyObject, key []byte) string {
	name := map[zone.Kind]string{zone.KindTable: "Table", zone.KindIndex: "Index"}[o.Kind]
	if name == "" {
		return p.full(ctx, key)
	}
	switch {
	case bytes.Equal(key, o.Span.Start):
		return "…/<" + name + "Min>"
	case bytes.Equal(key, o.Span.End):
		return "…/<" + name + "Max>"
	case bytes.Compare(key, o.Span.Start) < 0:
		return "<before:" + p.full(ctx, key) + ">"
	case bytes.Compare(key, o.Span.End) > 0:
		return "<after:" + p.full(ctx, key) + ">"
	}
	ix := p.index(ctx, key)
	switch {
	case ix == nil:
		return "…" + strings.TrimPrefix(keys.Pretty(key), keys.Pretty(o.Span.Start))
	case o.Kind == zone.KindIndex:
		return "…" + ix.PrettyKey(key)
	}
	return "…/" + ix.Desc.Name + ix.PrettyKey(key)
}
