package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
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
func (ex *executor) tempOwner() catalog.TempOwner {
	return catalog.TempOwner{Node: ex.srv.nodeID(), Session: ex.conn.id(ex.srv), PID: ex.conn.pid}
}

// endTemp does what ON COMMIT of temporary tables says, before the commit.
func (ex *executor) endTemp(ctx context.Context) error {
	if ex.coll.TempSchemaName() == "" || !ex.txn.KV().HasWrites() {
		return nil
	}
	var env operator.Env
	ex.eval.fill(ctx, &env, nil)
	return alter.CommitTemp(ctx, ex.ddlEnv(&env))
}

// dropTemp drops the temporary relations of the session, which is in no transaction.
func (ex *executor) dropTemp() {
	if name := ex.coll.TempSchemaName(); name != "" {
		ctx, cancel := context.WithTimeout(context.Background(), tempDropTimeout)
		defer cancel()
		if err := ex.dropTempSchema(ctx, name); err != nil {
			ex.srv.cfg.Logger.Warn("temporary relations are left to be dropped later", "schema", name, "err", err)
		}
	}
}

// dropTempSchema drops a temporary schema in a transaction of its own.
func (ex *executor) dropTempSchema(ctx context.Context, name string) error {
	for attempt := 1; ; attempt++ {
		ex.txn.Start(kv.TxnOptions{Isolation: kv.ReadCommitted}, transaction.Modes{})
		err := ex.dropTempHere(ctx, name)
		if err == nil {
			err = ex.txn.Commit(ctx)
		}
		if err == nil {
			return nil
		}
		ex.txn.Rollback(context.WithoutCancel(ctx))
		if !kv.IsRetryable(err) || attempt == tempAttempts {
			return err
		}
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
	}
}

// dropTempHere drops a temporary schema in the open transaction.
func (ex *executor) dropTempHere(ctx context.Context, name string) error {
	ex.coll.BeginStatement()
	ex.txn.KV().BeginStatement()
	var env operator.Env
	ex.eval.fill(ctx, &env, nil)
	return alter.DropTemp(ctx, ex.ddlEnv(&env), name)
}

// SweepTemp drops the temporary schemas whose sessions are no more, again and again until ctx
// ends.
func (s *Server) SweepTemp(ctx context.Context) {
	sweeper := tempschema.Sweeper{
		Catalog: s.cfg.Catalog, Node: s.nodeID(), Drop: s.dropLeft, Logger: s.cfg.Logger,
		Alive: func(o *catalog.TempOwner) bool {
			ses := s.session(o.PID)
			return ses != nil && ses.ex.conn.id(s) == o.Session
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
	return ses.ex.dropTempSchema(ctx, d.Name)
}
