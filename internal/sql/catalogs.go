package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/stats"
)

// newCatalogs returns the session's view of pg_catalog and information_schema.
func (s *Session) newCatalogs() *pgcatalog.Catalog {
	return pgcatalog.New(pgcatalog.Host{
		Coll: s.coll,
		Context: func() context.Context {
			if s.bctx == nil {
				return nil
			}
			return s.bctx.Ctx
		},
		Format: s.Format, Setting: s.vars.Show, Values: s.vals, Size: s.srv.size(),
		Report: s.report, Warn: s.warnSoon, Contents: s.listContents, Jobs: s.listJobs, Cursors: s.listCursors, Prepared: s.listPrepared, HBA: s.srv.HBA, IdentityMaps: s.srv.IdentityMaps,
	})
}

func (s *Session) listContents(t *catalog.Table) pgcatalog.Contents {
	st, grown, changed := s.contents.Known(t)
	c := pgcatalog.Contents{Statistics: st, Live: max(grown, 0), Changed: changed}
	if st != nil {
		c.Live = max(st.Rows+grown, 0)
	}
	return c
}

func (s *Session) listCursors() []pgcatalog.Cursor {
	var out []pgcatalog.Cursor
	for _, p := range s.portals.List() {
		l := pgcatalog.Cursor{Name: p.Name, Statement: p.Statement().Text, Created: p.Created()}
		if l.Created.IsZero() {
			l.Created = s.txn.Started()
		}
		if c := p.Cursor(); c != nil {
			l.Hold, l.Binary, l.Scrollable = c.Hold, c.Binary, c.Scrollable()
		}
		out = append(out, l)
	}
	return out
}

func (s *Session) listPrepared() []pgcatalog.PreparedStatement {
	var out []pgcatalog.PreparedStatement
	for p := range s.statements.Named() {
		x := pgcatalog.PreparedStatement{Name: p.Name, Statement: p.Text, Prepared: p.Made(), FromSQL: p.FromSQL}
		for _, t := range p.ParamTypes() {
			x.Params = append(x.Params, t.Oid)
		}
		out = append(out, x)
	}
	return out
}

// planning is the session as its planner sees it.
type planning struct{ s *Session }

// Stats implements optimizer.StatsSource: the statistics of tables as the transaction knows them,
// and what the catalog knows of virtual ones.
func (p planning) Stats(t *catalog.Table) *optimizer.TableStats {
	switch t.Kind {
	case catalog.KindVirtual:
		return p.s.cats.Stats(t)
	case catalog.KindTable:
		return stats.For(p.s.contents.Lookup(t))
	}
	return nil
}

// StatsEpoch implements prepared.Session: some table's statistics have changed much, or the
// catalog's size has.
func (p planning) StatsEpoch() uint64 {
	return p.s.srv.stats.Epoch()<<8 | p.s.coll.Store().Magnitude()
}

// Distribution implements prepared.Session. A node alone distributes nothing on its own.
func (p planning) Distribution() optimizer.Distribution {
	cfg := &p.s.srv.cfg
	switch {
	case cfg.Fragments == nil:
	case p.s.vals.Fast.Distribute == "on" || p.s.vals.Fast.Distribute == "always":
		return optimizer.DistributeAlways
	case p.s.vals.Fast.Distribute == "auto" && cfg.Nodes != nil && !cfg.Nodes.Alone():
		return optimizer.DistributeByCost
	}
	return optimizer.DistributeNever
}

// OwnStats implements prepared.Session.
func (p planning) OwnStats() bool { return p.s.contents.HasOwn() }

// Functions implements prepared.Session.
func (p planning) Functions(ctx context.Context) *call.Context { return p.s.builtinContext(ctx) }

// Columns implements prepared.Session.
func (p planning) Columns(prep *plan.Prepared) []plan.Column { return p.s.resultColumns(prep) }
