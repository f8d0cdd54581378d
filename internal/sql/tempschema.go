package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/tempschema"
	"github.com/lichendb/lichen/internal/sql/transaction"
)

// Dropping the temporary relations of sessions that have ended.
const (
	// tempDropTimeout bounds what the end of a session takes; the sweep drops what is
	// left then.
	tempDropTimeout = 10 * time.Second
	// tempAttempts bounds the attempts of one drop.
	tempAttempts = 10
)

// tempOwner is what the session's temporary schema is marked with.
func (s *Session) tempOwner() catalog.TempOwner {
	return catalog.TempOwner{Node: s.srv.nodeID(), Session: s.sessionID(), PID: s.pid}
}

// endTemp does what ON COMMIT of temporary tables says, before the commit.
func (s *Session) endTemp(ctx context.Context) error {
	if s.coll.TempSchemaName() == "" || !s.txn.KV().HasWrites() {
		return nil
	}
	x := &execution{s: s}
	s.fillEnv(ctx, &x.env, nil)
	return alter.CommitTemp(ctx, x.ddlEnv(nil))
}

// dropTemp drops the temporary relations of the session, which is in no transaction.
func (s *Session) dropTemp() {
	if name := s.coll.TempSchemaName(); name != "" {
		ctx, cancel := context.WithTimeout(context.Background(), tempDropTimeout)
		defer cancel()
		if err := s.dropTempSchema(ctx, name); err != nil {
			s.srv.cfg.Logger.Warn("temporary relations are left to be dropped later", "schema", name, "err", err)
		}
	}
}

// dropTempSchema drops a temporary schema in a transaction of its own.
func (s *Session) dropTempSchema(ctx context.Context, name string) error {
	for attempt := 1; ; attempt++ {
		s.txn.Start(kv.TxnOptions{Isolation: kv.ReadCommitted}, transaction.Modes{})
		err := s.dropTempHere(ctx, name)
		if err == nil {
			err = s.txn.Commit(ctx)
		}
		if err == nil {
			return nil
		}
		s.txn.Rollback(context.WithoutCancel(ctx))
		if !kv.IsRetryable(err) || attempt == tempAttempts {
			return err
		}
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
	}
}

// dropTempHere drops a temporary schema in the open transaction.
func (s *Session) dropTempHere(ctx context.Context, name string) error {
	s.coll.BeginStatement()
	s.txn.KV().BeginStatement()
	x := &execution{s: s}
	s.fillEnv(ctx, &x.env, nil)
	return alter.DropTemp(ctx, x.ddlEnv(nil), name)
}

// SweepTemp drops the temporary schemas whose sessions are no more, again and again until ctx
// ends.
func (s *Server) SweepTemp(ctx context.Context) {
	sweeper := tempschema.Sweeper{
		Catalog: s.cfg.Catalog, Node: s.nodeID(), Drop: s.dropLeft, Logger: s.cfg.Logger,
		Alive: func(o *catalog.TempOwner) bool {
			ses := s.session(o.PID)
			return ses != nil && ses.sessionID() == o.Session
		},
	}
	sweeper.Run(ctx)
}

// dropLeft drops a temporary schema through a session of its own.
func (s *Server) dropLeft(ctx context.Context, d *catalog.Schema) error {
	db, err := s.cfg.Catalog.DatabaseByID(d.Database)
	if err != nil {
		return err
	}
	ses, err := s.NewSession(ctx, SessionArgs{User: "root", Database: db.Name, Internal: true})
	if err != nil {
		return err
	}
	defer ses.Close()
	ctx, cancel := context.WithTimeout(ctx, tempDropTimeout)
	defer cancel()
	return ses.dropTempSchema(ctx, d.Name)
}
