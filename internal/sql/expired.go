package sql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/jobs"
	"github.com/lichendb/lichen/internal/sql/ttl"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// Row-level TTL: the rows of a table that have expired are deleted by a job, by ordinary statements of a few rows each.

const (
	// lookForExpired is after how many looks for jobs a node looks which schedules are due.
	lookForExpired = 5
	// expiredKind is the kind of such jobs, expiredUser the user whose statements delete the rows.
	expiredKind = "ROW LEVEL TTL"
	expiredUser = "root"
	expiredName = "lichen ttl"
)

// expiring returns the tables whose rows expire.
func (s *Server) expiring() []*catalog.Table {
	return s.cfg.Catalog.TablesThat(func(t *catalog.Table) bool {
		_, ok := ttl.Of(t.Options)
		return ok
	})
}

func (s *Server) expiringIDs() (ids []uint64) {
	for _, t := range s.expiring() {
		ids = append(ids, uint64(t.ID))
	}
	return ids
}

// DeleteExpired begins the jobs that delete expired rows and are due, of which one node of the cluster begins each.
func (s *Server) DeleteExpired(ctx context.Context) {
	for _, t := range s.expiring() {
		p, _ := ttl.Of(t.Options)
		when, err := ttl.ParseSchedule(p.Cron)
		if s.stopping.Load() || p.Pause || err != nil {
			continue
		}
		due := func(last, now int64) bool {
			next, ok := when.Next(time.Unix(0, last))
			return ok && next.UnixNano() <= now
		}
		taken, err := s.jobs().TakeSlot(ctx, uint64(t.ID), due)
		if err == nil && taken {
			err = s.beginExpired(ctx, t)
		}
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.Warn("no job was begun to delete expired rows", "table", t.Name, "err", err)
		}
	}
}

// beginExpired makes a job of deleting the expired rows of a table, unless there is one that has not ended.
func (s *Server) beginExpired(ctx context.Context, t *catalog.Table) error {
	list, err := s.jobs().List(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		if a := list[i].Again; a != nil && a.Expired != nil && a.Expired.Table == uint64(t.ID) && !list[i].Ended() {
			return nil
		}
	}
	db, err := s.cfg.Catalog.DatabaseByID(t.Database)
	if err != nil {
		return err
	}
	runner := &jobRunner{}
	job, err := s.jobs().Start(ctx, jobs.Record{
		Kind: expiredKind, Statement: "ttl for " + ast.QuoteIdent(t.Name) + " in database " + ast.QuoteIdent(db.Name),
		User: expiredUser, Database: db.Name, Node: s.nodeID(),
		Again: &jobs.Again{Expired: &jobs.Expired{Table: uint64(t.ID), At: s.cfg.DB.Clock().Now().WallTime}},
	}, runner.end)
	if err != nil {
		return err
	}
	s.takeovers.running.Go(func() { s.goOn(ctx, job, runner) })
	return nil
}

// expiredRows deletes the expired rows of a table.
type expiredRows struct {
	ses    *Session
	job    *jobs.Job
	runner *jobRunner
	params ttl.Params
	name   string   // of the table, with its schema
	keys   []string // the columns of its primary key; none if nobody has named them
	cond   string   // that a row has expired
}

// deleteExpired runs a job that deletes expired rows, from the first one on whoever has begun it: what is deleted stays so.
func (s *Server) deleteExpired(ctx context.Context, job *jobs.Job, runner *jobRunner) error {
	r := job.Record()
	ses, err := s.NewSession(ctx, SessionArgs{User: r.User, Database: r.Database, Internal: true})
	if err != nil {
		return err
	}
	defer ses.Close()
	defer context.AfterFunc(ctx, ses.Terminate)()
	for _, set := range [][2]string{{"application_name", expiredName}, {"statement_timeout", "0"}, {"timezone", "UTC"}} {
		if err := ses.ex.vals.SetDefault(set[0], set[1], "client"); err != nil {
			return err
		}
	}
	defer runner.use(nil)
	if !runner.use(ses) {
		return runner.stopped()
	}
	found := s.cfg.Catalog.TablesThat(func(t *catalog.Table) bool { return uint64(t.ID) == r.Again.Expired.Table })
	if len(found) == 1 {
		x := &expiredRows{ses: ses, job: job, runner: runner}
		if err := x.delete(ctx, found[0], time.Unix(0, r.Again.Expired.At)); err != nil {
			return err
		}
	}
	return takenOver(s.cfg.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error { return job.Publish(ctx, t) }))
}

// delete deletes the rows of a table that had expired at a time.
func (x *expiredRows) delete(ctx context.Context, t *catalog.Table, at time.Time) error {
	var ok bool
	if x.params, ok = ttl.Of(t.Options); !ok {
		return nil
	}
	names, err := x.query(ctx, fmt.Sprintf("SELECT c.oid::pg_catalog.regclass::text FROM pg_catalog.pg_class c WHERE c.oid = %d", t.Oid))
	if err != nil || len(names) == 0 {
		return err
	}
	x.name = names[0][0]
	x.cond = fmt.Sprintf("(%s) <= '%s'::pg_catalog.timestamptz", x.params.Expires(), at.UTC().Format("2006-01-02 15:04:05.999999+00"))
	if pk := t.PrimaryKey(); pk != nil {
		for _, k := range pk.Columns {
			c := &t.Columns[t.ColumnByID(k.Column)]
			x.keys = append(x.keys, ast.QuoteIdent(c.Name))
		}
	}
	if len(x.keys) == 0 {
		return x.deleteUnkeyed(ctx)
	}
	return x.deleteByKey(ctx)
}

// deleteByKey reads the keys of expired rows, a batch after the other in their order, and deletes these.
func (x *expiredRows) deleteByKey(ctx context.Context) error {
	key := "(" + strings.Join(x.keys, ", ") + ")"
	shown := make([]string, len(x.keys))
	for i, k := range x.keys {
		shown[i] = "quote_literal(" + k + "::text)"
	}
	for last := ""; ; {
		after := ""
		if last != "" {
			after = " AND " + key + " > " + last
		}
		rows, err := x.query(ctx, fmt.Sprintf("SELECT %s FROM ONLY %s WHERE %s%s ORDER BY %s LIMIT %d",
			strings.Join(shown, ", "), x.name, x.cond, after, strings.Join(x.keys, ", "), x.params.SelectBatch))
		if err != nil {
			return err
		}
		var list []string
		for _, r := range rows {
			list = append(list, "("+strings.Join(r, ", ")+")")
		}
		for from := 0; from < len(list); from += int(x.params.DeleteBatch) {
			part := list[from:min(from+int(x.params.DeleteBatch), len(list))]
			if _, err := x.deleteSome(ctx, " AND "+key+" IN ("+strings.Join(part, ", ")+")", ""); err != nil {
				return err
			}
		}
		if int64(len(list)) < x.params.SelectBatch {
			return nil
		}
		if last = list[len(list)-1]; x.params.SelectRate > 0 {
			if err := pace(ctx, int64(len(list)), x.params.SelectRate); err != nil {
				return err
			}
		}
	}
}

// deleteUnkeyed deletes the expired rows of a table without a primary key.
func (x *expiredRows) deleteUnkeyed(ctx context.Context) error {
	for {
		n, err := x.deleteSome(ctx, "", fmt.Sprintf(" LIMIT %d", x.params.DeleteBatch))
		if err != nil || n < x.params.DeleteBatch {
			return err
		}
	}
}

// deleteSome deletes the expired rows for which a condition holds, and waits as long as the limit for a second says.
func (x *expiredRows) deleteSome(ctx context.Context, cond, limit string) (int64, error) {
	if err := takenOver(x.job.Lease(ctx)); err != nil {
		return 0, err
	}
	r := &textRows{lineResults: lineResults{format: x.ses.Format()}}
	if err := x.ses.Query(ctx, "DELETE FROM ONLY "+x.name+" WHERE "+x.cond+cond+limit, r); err != nil {
		return 0, err
	}
	if err := x.job.Progress(ctx, r.affected, true); err != nil {
		return 0, err
	}
	err := pace(ctx, r.affected, x.params.DeleteRate)
	if err == nil {
		err = x.runner.stopped()
	}
	return r.affected, err
}

// pace waits as long as so many rows may take.
func pace(ctx context.Context, rows, perSecond int64) error {
	return sleep.For(ctx, time.Duration(float64(rows)/float64(perSecond)*float64(time.Second)))
}

// query returns the rows of a query as texts.
func (x *expiredRows) query(ctx context.Context, text string) ([][]string, error) {
	r := &textRows{lineResults: lineResults{format: x.ses.Format()}}
	err := x.ses.Query(ctx, text, r)
	return r.rows, err
}

// textRows collects rows as texts, and counts those that a statement has changed.
type textRows struct {
	lineResults
	rows     [][]string
	affected int64
}

func (r *textRows) Mark()        { r.rows = nil }
func (r *textRows) Rewind() bool { r.rows = nil; return true }

func (r *textRows) Row(row []types.Datum) error {
	var texts []string
	for i, d := range row {
		if d.IsNull() {
			return errors.New("sql: a key is NULL")
		}
		texts = append(texts, string(typeio.AppendText(nil, r.columns[i].Type, d, r.format)))
	}
	r.rows = append(r.rows, texts)
	return nil
}

func (r *textRows) Complete(tag string) error {
	_, _ = fmt.Sscanf(tag, "DELETE %d", &r.affected)
	return nil
}
