package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/pgcatalog"
)

// newCatalogs returns the session's view of pg_catalog and information_schema.
func (s *Session) newCatalogs() *pgcatalog.Catalog {
	return pgcatalog.New(pgcatalog.Host{
		Coll: s.coll, User: s.user,
		Context: func() context.Context {
			if s.bctx == nil {
				return nil
			}
			return s.bctx.Ctx
		},
		Setting: s.showValue, Activities: s.srv.activities, SpanSize: s.srv.cfg.SpanSize,
	})
}

func (s *Server) activities() []pgcatalog.Activity {
	var out []pgcatalog.Activity
	for _, ses := range s.Sessions() {
		a := ses.Activity()
		out = append(out, pgcatalog.Activity{
			PID: a.PID, User: a.User, Database: a.Database, Application: a.Application, Remote: a.Remote,
			State: a.State, Query: a.Query, Started: a.Started, Since: a.Since, XactStart: a.XactStart,
		})
	}
	return out
}
