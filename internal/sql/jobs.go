package sql

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/identity"
	"github.com/lichendb/lichen/internal/sql/jobs"
	"github.com/lichendb/lichen/internal/sql/pgcatalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

func (s *Server) jobs() *jobs.Store { return &jobs.Store{DB: s.cfg.DB} }

// listJobs lists statements, and the removal of what is no longer used.
func (s *Server) listJobs(ctx context.Context) ([]pgcatalog.Job, error) {
	list, err := s.jobs().List(ctx)
	if err != nil {
		return nil, err
	}
	at := func(ns int64) time.Time {
		if ns == 0 {
			return time.Time{}
		}
		return time.Unix(0, ns)
	}
	var out []pgcatalog.Job
	for i := range list {
		r := &list[i]
		kind := r.Kind
		if kind == "" {
			kind = "SCHEMA CHANGE"
		}
		out = append(out, pgcatalog.Job{
			ID: r.ID, Kind: kind, Description: r.Statement, User: r.User, Database: r.Database, Node: r.Node, State: r.State,
			Rows: r.Rows, Error: r.Error, Created: at(r.Created), Modified: at(r.Modified), Finished: at(r.Finished),
		})
	}
	removals, err := s.cfg.Catalog.Cleanups(ctx)
	for _, c := range removals {
		out = append(out, pgcatalog.Job{
			ID: int64(c.ID), Kind: "REMOVAL OF UNUSED DATA", Description: "keys from " + keys.Pretty(c.Span.Start), State: jobs.Running, Created: c.Since,
		})
	}
	return out, err
}

// wishJobs is CANCEL, PAUSE and RESUME JOB.
func (x *execution) wishJobs(ctx context.Context, st *ast.Cancel, ids []string) (string, error) {
	ex := x.ex
	state := map[string]string{"CANCEL": jobs.Canceled, "PAUSE": jobs.Paused, "RESUME": jobs.Running}[st.Verb]
	right := ex.who.Signaler()
	may := func(r *jobs.Record) error {
		if d := ex.coll.RoleByName(r.User); right == nil || d != nil && right.Covers(ex.srv.cfg.Catalog, d.Oid) {
			return nil
		}
		return identity.DeniedSignal()
	}
	n := 0
	for _, text := range ids {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid job id \"%s\"", text).WithHint("SHOW JOBS lists the ids.")
		}
		found, err := ex.srv.jobs().Wish(ctx, id, state, may)
		switch {
		case err != nil:
			return "", err
		case found:
			n++
		case !st.IfExists:
			return "", pgerr.New(pgerr.UndefinedObject, "job \"%d\" does not exist", id)
		}
	}
	return fmt.Sprintf("%s %d", st.Tag(), n), nil
}
