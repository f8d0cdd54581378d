package pgcatalog

import (
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/statview"
	"github.com/lichendb/lichen/internal/sql/types"
)

// addStatViews adds the views of statview, of the cluster and of the node.
func addStatViews(m map[string]generator) {
	for name, view := range statview.Views {
		m["lichen_internal.cluster_"+name] = func(s *snapshot, w *writer) error { return view(statSource{s}, false, statRows{w}) }
		m["lichen_internal.node_"+name] = func(s *snapshot, w *writer) error { return view(statSource{s}, true, statRows{w}) }
	}
}

// statSource is the snapshot as statview sees it.
type statSource struct{ s *snapshot }

func (x statSource) MaySee(user string) bool { return x.s.maySee(&Activity{User: user}) }

func (x statSource) Nodes(here bool, r statview.Request) ([]statview.Node, error) {
	report, err := x.s.report(ReportRequest{Here: here, Stats: r})
	if err != nil {
		return nil, err
	}
	return report.Stats, nil
}

// statRows is a writer as statview sees it.
type statRows struct{ w *writer }

func (x statRows) Num(column string, v int64)      { x.w.num(column, v) }
func (x statRows) Str(column, v string)            { x.w.str(column, strings.ToValidUTF8(v, "�")) }
func (x statRows) Text(column, v string)           { x.w.text(column, v) }
func (x statRows) Time(column string, t time.Time) { x.w.time(column, t) }
func (x statRows) Flag(column string, v bool)      { x.w.flag(column, v) }
func (x statRows) Done()                           { x.w.done() }

func (x statRows) Interval(column string, d time.Duration) {
	x.w.set(column, types.NewInterval(types.IntervalValue{Micros: d.Microseconds()}))
}
