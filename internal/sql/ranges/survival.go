package ranges

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/types"
)

// showSurvival is SHOW SURVIVAL: what the placement of a table, an index or a database
// survives, and what is not as its configuration asks. It shows the object and, of a
// database or the cluster, each table; with details each range.
func (e *Env) showSurvival(ctx context.Context, st *ast.ShowRanges) ([][]types.Datum, error) {
	c, err := e.cluster()
	if err != nil {
		return nil, err
	}
	o, span, _, err := e.shownRanges(ctx, st)
	if err != nil {
		return nil, err
	}
	list, err := c.Ranges(ctx, span)
	if err != nil {
		return nil, err
	}
	if st.Details {
		return e.rangeSurvivals(ctx, &o, list), nil
	}
	name := "CLUSTER"
	if !st.Cluster {
		name = o.Name(ctx, e.DDL.Coll)
	}
	rows := [][]types.Datum{survivalOf(name, list, span)}
	if o.Table != nil {
		return rows, nil
	}
	tables, err := e.tablesIn(ctx, o.Database)
	for i := range tables {
		rows = append(rows, survivalOf(tables[i].Name(ctx, e.DDL.Coll), list, tables[i].Span))
	}
	return rows, err
}

// tablesIn lists the tables of a database, nil meaning all, in the order of their keys.
func (e *Env) tablesIn(ctx context.Context, db *catalog.Database) ([]zoneconfig.KeyObject, error) {
	all, err := e.DDL.Coll.Descriptors(ctx)
	if err != nil {
		return nil, err
	}
	var out []zoneconfig.KeyObject
	for _, d := range all {
		if t, ok := d.(*catalog.Table); ok && t.Kind == catalog.KindTable && (db == nil || t.Database == db.ID) {
			out = append(out, zoneconfig.TableObject(t))
		}
	}
	slices.SortFunc(out, func(a, b zoneconfig.KeyObject) int {
		return strings.Compare(string(a.Span.Start), string(b.Span.Start))
	})
	return out, nil
}

// rangeSurvivals is a row per range.
func (e *Env) rangeSurvivals(ctx context.Context, o *zoneconfig.KeyObject, list []Info) [][]types.Datum {
	p := newKeyPrinter(e.DDL.Coll)
	rows := make([][]types.Datum, len(list))
	for i := range list {
		d := &list[i].Desc
		var flags Problem
		var texts []types.Datum
		for _, pr := range list[i].Problems {
			flags.Unavailable = flags.Unavailable || pr.Unavailable
			flags.UnderReplicated = flags.UnderReplicated || pr.UnderReplicated
			flags.Misplaced = flags.Misplaced || pr.Misplaced
			texts = append(texts, types.NewString(pr.Text))
		}
		rows[i] = []types.Datum{
			types.NewString(p.within(ctx, o, d.StartKey)), types.NewString(p.within(ctx, o, d.EndKey)),
			types.NewInt(int64(d.RangeID)), types.NewString(survives(list[i].Survives)), types.NewBool(flags.Unavailable),
			types.NewBool(flags.UnderReplicated), types.NewBool(flags.Misplaced), types.NewArray(texts),
		}
	}
	return rows
}

// survivalOf is the row of what lies in span: what the weakest of its ranges survives,
// and how many ranges have each problem.
func survivalOf(name string, list []Info, span keys.Span) []types.Datum {
	var n, unavailable, under, misplaced int64
	var all []Tolerance
	weakest := types.Null
	counts := map[string]int{}
	examples := map[string]kvpb.RangeID{}
	for i := range list {
		r := &list[i]
		if !span.Overlaps(keys.Span{Start: r.Desc.StartKey, End: r.Desc.EndKey}) {
			continue
		}
		if n++; all == nil {
			all, weakest = slices.Clone(r.Survives), types.NewInt(int64(r.Desc.RangeID))
		}
		for j := range min(len(all), len(r.Survives)) {
			if t := r.Survives[j]; t.Any < all[j].Any {
				if all[j] = t; j == 0 {
					weakest = types.NewInt(int64(r.Desc.RangeID))
				}
			}
		}
		var has Problem
		for _, p := range r.Problems {
			has.Unavailable, has.UnderReplicated = has.Unavailable || p.Unavailable, has.UnderReplicated || p.UnderReplicated
			has.Misplaced = has.Misplaced || p.Misplaced
			if counts[p.Text]++; counts[p.Text] == 1 {
				examples[p.Text] = r.Desc.RangeID
			}
		}
		unavailable, under, misplaced = unavailable+count(has.Unavailable), under+count(has.UnderReplicated), misplaced+count(has.Misplaced)
	}
	return []types.Datum{
		types.NewString(name), types.NewInt(n), types.NewString(survives(all)), weakest,
		types.NewInt(unavailable), types.NewInt(under), types.NewInt(misplaced), problemTexts(counts, examples),
	}
}

func count(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// maxShownProblems bounds the different problems that a row names.
const maxShownProblems = 20

// problemTexts lists problems, those of most ranges first.
func problemTexts(counts map[string]int, examples map[string]kvpb.RangeID) types.Datum {
	texts := make([]string, 0, len(counts))
	for t := range counts {
		texts = append(texts, t)
	}
	slices.SortFunc(texts, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	var out []types.Datum
	for i, t := range texts {
		if i == maxShownProblems {
			out = append(out, types.NewString(fmt.Sprintf("and %d others", len(texts)-i)))
			break
		}
		out = append(out, types.NewString(fmt.Sprintf("%s (%d ranges, for example range %d)", t, counts[t], examples[t])))
	}
	return types.NewArray(out)
}

// survives states tolerances in a sentence.
func survives(all []Tolerance) string {
	var can, not []string
	for i, t := range all {
		switch {
		case t.Any == 1:
			can = append(can, "any 1 "+t.Of)
		case t.Any > 1:
			can = append(can, fmt.Sprintf("any %d %ss", t.Any, t.Of))
		case i == 0:
			not = append(not, t.Of)
		case t.Weakest != "":
			not = append(not, t.Weakest)
		}
	}
	switch {
	case len(all) == 0:
		return "nothing"
	case len(can) == 0:
		return "no failure of a node"
	case len(not) == 0:
		return strings.Join(can, ", or ")
	}
	return strings.Join(can, ", or ") + "; not " + strings.Join(not, ", or ")
}
