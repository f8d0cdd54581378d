package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// ignored is a feature of PostgreSQL or of a dialect that is accepted and does
// nothing here.
type ignored struct {
	what string
	why  string
}

// The features that are accepted without effect. Each use is answered with a
// NOTICE; everything else that is not supported is an error.
var (
	noVacuum         = ignored{"VACUUM", "old row versions are collected in the background"}
	noReindex        = ignored{"REINDEX", "indexes need no rebuilding"}
	noCluster        = ignored{"CLUSTER", "rows are always stored in the order of the primary key"}
	noCheckpoint     = ignored{"CHECKPOINT", "the log is the database's own"}
	noCopyFreeze     = ignored{"COPY FREEZE", "rows need no freezing"}
	noStorageParams  = ignored{"storage parameters", "the storage engine has its own settings"}
	noUnlogged       = ignored{"UNLOGGED", "all tables are logged"}
	noStatistics     = ignored{"SET STATISTICS", "the rows that ANALYZE looks at are enough for every column"}
	noColumnStorage  = ignored{"SET STORAGE and SET COMPRESSION", "values are stored in the row"}
	noReplicaIdent   = ignored{"REPLICA IDENTITY", "changes always carry the primary key"}
	noDatabaseOption = ignored{"database options", "every database is UTF8 with collation C.UTF-8, has no connection limit and keeps each table by itself"}
	noViewSecurity   = ignored{"security_barrier and security_invoker", "every user may read every table"}
	noOids           = ignored{"OIDS", "tables have no oids"}
	noExplain        = ignored{"EXPLAIN options BUFFERS, WAL and SETTINGS", "statements do not count the blocks that they touch, and no such setting changes a plan"}
	noExtensionDrop  = ignored{"dropping functions with their extension", "they are built in"}
	noConcurrently   = ignored{"CONCURRENTLY", "readers and writers of the table wait until it is done"}
)

// Accepted is a feature that is accepted without effect, for the page that lists them.
type Accepted struct{ What, Why string }

// AcceptedWithoutEffect returns all of them.
func AcceptedWithoutEffect() []Accepted {
	var out []Accepted
	for _, n := range []ignored{
		noVacuum, noReindex, noCluster, noCheckpoint, noCopyFreeze, noStorageParams, noUnlogged,
		noStatistics, noColumnStorage, noReplicaIdent, noDatabaseOption, noViewSecurity, noOids, noExplain, noExtensionDrop, noConcurrently,
	} {
		out = append(out, Accepted{n.what, n.why})
	}
	return out
}

func (n ignored) notice() *pgerr.Error {
	return pgerr.New(pgerr.SuccessfulCompletion, "%s accepted without effect: %s", n.what, n.why)
}

// NoEffect returns the notice for a statement that is accepted without effect;
// ok is false for every other statement.
func NoEffect(stmt ast.Statement) (n *pgerr.Error, ok bool) {
	switch stmt.(type) {
	case *ast.Reindex:
		return noReindex.notice(), true
	case *ast.Cluster:
		return noCluster.notice(), true
	case *ast.Checkpoint:
		return noCheckpoint.notice(), true
	}
	return nil, false
}

// reindex is REINDEX, which has no effect; but what it names must exist.
func (e *Env) reindex(ctx context.Context, s *ast.Reindex) error {
	var err error
	switch s.Kind {
	case ast.ObjIndex, ast.ObjTable:
		err = e.reindexRelation(ctx, s)
	case ast.ObjSchema:
		var schema *catalog.Schema
		if schema, err = e.Coll.FindSchema(ctx, s.Name.Table); err == nil && schema == nil {
			err = pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", s.Name.Table)
		}
	default:
		if db := e.Coll.CurrentDatabase().Name; s.Name.Table != db {
			err = pgerr.Unsupported("can only reindex the currently open database")
		}
	}
	if err != nil {
		return err
	}
	e.ignore(noReindex)
	return nil
}

func (e *Env) reindexRelation(ctx context.Context, s *ast.Reindex) error {
	t, index, err := e.Coll.FindRelation(ctx, s.Name.Catalog, s.Name.Schema, s.Name.Table)
	switch {
	case err != nil:
		return err
	case t == nil:
		return e.undefinedRelation(ctx, s.Name)
	case s.Kind == ast.ObjIndex && !index:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not an index", s.Name.Table)
	case s.Kind == ast.ObjTable && (index || t.Kind != catalog.KindTable && t.Kind != catalog.KindVirtual):
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table or materialized view", s.Name.Table)
	}
	return nil
}

// cluster is CLUSTER, which has no effect; but what it names must exist.
func (e *Env) cluster(ctx context.Context, s *ast.Cluster) error {
	t, index, err := e.relation(ctx, *s.Table)
	switch {
	case err != nil:
		return err
	case t == nil:
		return e.undefinedRelation(ctx, *s.Table)
	case index || t.Kind != catalog.KindTable:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table or materialized view", s.Table.Table)
	case s.Index != "" && t.IndexByName(s.Index) == nil:
		return pgerr.New(pgerr.UndefinedObject, "index \"%s\" for table \"%s\" does not exist", s.Index, t.Name)
	}
	if err := e.checkUnused(t, "CLUSTER"); err != nil {
		return err
	}
	e.ignore(noCluster)
	return nil
}

// Vacuum returns the notice for VACUUM.
func Vacuum() *pgerr.Error { return noVacuum.notice() }

// ExplainOptions returns the notice for options of EXPLAIN that have nothing to tell.
func ExplainOptions() *pgerr.Error { return noExplain.notice() }

// CopyFreeze returns the notice for COPY ... (FREEZE).
func CopyFreeze() *pgerr.Error { return noCopyFreeze.notice() }

func (e *Env) ignore(n ignored) { e.notify("NOTICE", n.notice()) }

// ignoreConcurrently accepts CONCURRENTLY, if it was written.
func (e *Env) ignoreConcurrently(written bool) {
	if written {
		e.ignore(noConcurrently)
	}
}
