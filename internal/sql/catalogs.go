package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/portal"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/stats"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
	"github.com/lichendb/lichen/internal/sql/types"
)

// newCatalogs returns the session's view of pg_catalog and information_schema.
func (ex *executor) newCatalogs() *pgcatalog.Catalog {
	return pgcatalog.New(pgcatalog.Host{
		Coll: ex.coll,
		Context: func() context.Context {
			if ex.eval.functions == nil {
				return nil
			}
			return ex.eval.functions.Ctx
		},
		Format: func() *types.FormatContext { return &ex.vals.Format }, Setting: ex.vars.Show, Values: ex.vals, Size: ex.srv.size(),
		Report: func(ctx context.Context, req pgcatalog.ReportRequest) (*pgcatalog.Report, error) {
			return ex.srv.report(ctx, req, ex.warnSoon)
		},
		Forget: func(ctx context.Context, of stmtstats.Selection) error {
			return ex.srv.forgetStatements(ctx, of, ex.warnSoon)
		},
		Warn: ex.warnSoon, Jobs: ex.srv.listJobs, HBA: ex.srv.HBA, IdentityMaps: ex.srv.IdentityMaps,
		Contents: func(t *catalog.Table) pgcatalog.Contents { return contentsOf(&ex.contents, t) },
		Cursors:  func() []pgcatalog.Cursor { return cursorsOf(&ex.portals, ex.txn.Started) },
		Prepared: func() []pgcatalog.PreparedStatement { return preparedOf(&ex.statements) },
	})
}

func contentsOf(in *stats.InTxn, t *catalog.Table) pgcatalog.Contents {
	st, grown, changed := in.Known(t)
	c := pgcatalog.Contents{Statistics: st, Live: max(grown, 0), Changed: changed}
	if st != nil {
		c.Live = max(st.Rows+grown, 0)
	}
	return c
}

func cursorsOf(portals *portal.Set, txnStarted func() time.Time) []pgcatalog.Cursor {
	var out []pgcatalog.Cursor
	for _, p := range portals.List() {
		l := pgcatalog.Cursor{Name: p.Name, Statement: p.Statement().Text, Created: p.Created()}
		if l.Created.IsZero() {
			l.Created = txnStarted()
		}
		if c := p.Cursor(); c != nil {
			l.Hold, l.Binary, l.Scrollable = c.Hold, c.Binary, c.Scrollable()
		}
		out = append(out, l)
	}
	return out
}

func preparedOf(statements *prepared.Statements) []pgcatalog.PreparedStatement {
	var out []pgcatalog.PreparedStatement
	for p := range statements.Named() {
		x := pgcatalog.PreparedStatement{Name: p.Name, Statement: p.Text, Prepared: p.Made(), FromSQL: p.FromSQL}
		for _, t := range p.ParamTypes() {
			x.Params = append(x.Params, t.Oid)
		}
		out = append(out, x)
	}
	return out
}

// planning is the session as its planner sees it.
type planning struct{ ex *executor }

// Stats implements optimizer.StatsSource: the statistics of tables as the transaction knows them,
// and what the catalog knows of virtual ones.
func (p planning) Stats(t *catalog.Table) *optimizer.TableStats {
	switch t.Kind {
	case catalog.KindVirtual:
		return p.ex.cats.Stats(t)
	case catalog.KindTable:
		return stats.For(p.ex.contents.Lookup(t))
	}
	return nil
}

// StatsEpoch implements prepared.Session: some table's statistics have changed much, or the
// catalog's size has.
func (p planning) StatsEpoch() uint64 {
	return p.ex.srv.stats.Epoch()<<8 | p.ex.coll.Store().Magnitude()
}

// Distribution implements prepared.Session. A node alone distributes nothing on its own.
func (p planning) Distribution() optimizer.Distribution {
	cfg := &p.ex.srv.cfg
	switch {
	case cfg.Fragments == nil:
	case p.ex.vals.Fast.Distribute == "on" || p.ex.vals.Fast.Distribute == "always":
		return optimizer.DistributeAlways
	case p.ex.vals.Fast.Distribute == "auto" && cfg.Nodes != nil && !cfg.Nodes.Alone():
		return optimizer.DistributeByCost
	}
	return optimizer.DistributeNever
}

// OwnStats implements prepared.Session.
func (p planning) OwnStats() bool { return p.ex.contents.HasOwn() }

// Functions implements prepared.Session.
func (p planning) Functions(ctx context.Context) *call.Context { return p.ex.eval.start(ctx) }

// Columns implements prepared.Session.
func (p planning) Columns(prep *plan.Prepared) []plan.Column { return p.ex.resultColumns(prep) }

// User implements prepared.Session.
func (p planning) User() privilege.Role { return p.ex.who.Role() }
