package pgcatalog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/statview"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
	"github.com/lichendb/lichen/internal/sql/types"
)

// statementNodes asks all nodes what statements have cost.
func (c *Catalog) statementNodes() ([]statview.Node, error) {
	s, err := c.snapshot(c.ctx())
	if err != nil {
		return nil, err
	}
	return statSource{s}.Nodes(false, statview.Request{Statements: true})
}

// StatementStatistics implements call.Catalog: the sums over the nodes, those that took most time first.
func (c *Catalog) StatementStatistics() ([]call.StatementStatistics, error) {
	nodes, err := c.statementNodes()
	if err != nil {
		return nil, err
	}
	me := c.h.Coll.Me()
	all := me.Super || me.Grants(catalog.ReadAllStatsOid)
	databases := map[string]uint32{}
	if s, err := c.snapshot(c.ctx()); err == nil {
		for _, d := range s.databases() {
			databases[d.Name] = d.Oid
		}
	}
	var out []*call.StatementStatistics
	by := map[stmtstats.Key]*call.StatementStatistics{}
	for _, n := range nodes {
		for i := range n.Statements {
			r := &n.Statements[i]
			x := by[r.Key]
			if x == nil {
				x = &call.StatementStatistics{Database: databases[r.Database], ID: int64(r.Number()), Query: r.Text, Min: millis(r.MinNanos)}
				if u := c.h.Coll.RoleByName(r.User); u != nil {
					x.User, x.Visible = uint32(u.Oid), u.Oid == me.Role
				}
				x.Visible = x.Visible || all
				by[r.Key] = x
				out = append(out, x)
			}
			addStatement(x, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *call.StatementStatistics) int { return cmp.Compare(b.Total, a.Total) })
	list := make([]call.StatementStatistics, len(out))
	for i, x := range out {
		list[i] = *x
	}
	return list, nil
}

// addStatement adds what a node has counted.
func addStatement(x *call.StatementStatistics, r *stmtstats.Row) {
	latency := obs.FromSparse(r.Latency)
	x.Calls += int64(latency.Total())
	x.Rows += r.Rows
	x.Total += millis(r.Nanos)
	x.Squares += r.Squares
	x.Min, x.Max = min(x.Min, millis(r.MinNanos)), max(x.Max, millis(r.MaxNanos))
}

func millis(nanos int64) float64 { return float64(nanos) / float64(time.Millisecond) }

// StatementsKept implements call.Catalog.
func (c *Catalog) StatementsKept() (rounds int64, since types.Datum, err error) {
	nodes, err := c.statementNodes()
	var last int64
	for _, n := range nodes {
		if n.Kept != nil {
			rounds, last = rounds+n.Kept.Rounds, max(last, n.Kept.Since)
		}
	}
	if last == 0 {
		return rounds, types.Null, err
	}
	return rounds, types.NewTimestampTZ(time.Unix(0, last).UnixMicro() - microsTo2000), err
}

// ForgetStatements implements call.Catalog.
func (c *Catalog) ForgetStatements(user, database uint32, id int64) error {
	if c.h.Forget == nil {
		return nil
	}
	of := stmtstats.Selection{Number: uint64(id)}
	if user != 0 {
		u := c.h.Coll.RoleByOid(privilege.Role(user))
		if u == nil {
			return nil // nothing is known of its statements
		}
		of.User = u.Name
	}
	if database != 0 {
		s, err := c.snapshot(c.ctx())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(s.databases(), func(d *catalog.Database) bool { return d.Oid == database })
		if i < 0 {
			return nil
		}
		of.Database = s.databases()[i].Name
	}
	return c.h.Forget(c.ctx(), of)
}

// Forgetter has all nodes forget what some statements have cost.
type Forgetter func(ctx context.Context, of stmtstats.Selection) error
