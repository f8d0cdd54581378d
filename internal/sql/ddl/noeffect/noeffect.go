package noeffect

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Feature is one of PostgreSQL or of a dialect that is accepted and does nothing here.
type Feature struct {
	what string
	why  string
}

// The features that are accepted without effect. Each use is answered with a
// NOTICE; everything else that is not supported is an error.
var (
	vacuum          = Feature{"VACUUM", "old row versions are collected in the background"}
	Reindex         = Feature{"REINDEX", "indexes need no rebuilding"}
	Cluster         = Feature{"CLUSTER", "rows are always stored in the order of the primary key"}
	checkpoint      = Feature{"CHECKPOINT", "the log is the database's own"}
	copyFreeze      = Feature{"COPY FREEZE", "rows need no freezing"}
	StorageParams   = Feature{"storage parameters", "the storage engine has its own settings"}
	Unlogged        = Feature{"UNLOGGED", "all tables are logged"}
	Statistics      = Feature{"SET STATISTICS", "the rows that ANALYZE looks at are enough for every column"}
	ColumnStorage   = Feature{"SET STORAGE and SET COMPRESSION", "values are stored in the row"}
	ReplicaIdentity = Feature{"REPLICA IDENTITY", "changes always carry the primary key"}
	DatabaseOption  = Feature{"database options", "every database is UTF8 with collation C.UTF-8, has no connection limit and keeps each table by itself"}
	Oids            = Feature{"OIDS", "tables have no oids"}
	explainOptions  = Feature{"EXPLAIN options BUFFERS, WAL and SETTINGS", "statements do not count the blocks that they touch, and no such setting changes a plan"}
	Concurrently    = Feature{"CONCURRENTLY", "those who use the relation wait until it is done; CREATE INDEX outside of a block lets them go on in any case"}
)

// Accepted is such a feature for the page that lists them.
type Accepted struct{ What, Why string }

// All returns all of them.
func All() []Accepted {
	var out []Accepted
	for _, n := range []Feature{
		vacuum, Reindex, Cluster, checkpoint, copyFreeze, StorageParams, Unlogged,
		Statistics, ColumnStorage, ReplicaIdentity, DatabaseOption, Oids, explainOptions, Concurrently,
	} {
		out = append(out, Accepted{n.what, n.why})
	}
	return out
}

// Notice returns the text of the notice to the client.
func (n Feature) Notice() *pgerr.Error {
	return pgerr.New(pgerr.SuccessfulCompletion, "%s accepted without effect: %s", n.what, n.why)
}

// Statement returns the notice for a statement that is accepted without effect; ok is false for
// every other statement.
func Statement(stmt ast.Statement) (n *pgerr.Error, ok bool) {
	switch stmt.(type) {
	case *ast.Reindex:
		return Reindex.Notice(), true
	case *ast.Cluster:
		return Cluster.Notice(), true
	case *ast.Checkpoint:
		return checkpoint.Notice(), true
	}
	return nil, false
}

// Vacuum returns the notice for VACUUM.
func Vacuum() *pgerr.Error { return vacuum.Notice() }

// ExplainOptions returns the notice for options of EXPLAIN that have nothing to show.
func ExplainOptions() *pgerr.Error { return explainOptions.Notice() }

// CopyFreeze returns the notice for COPY ... (FREEZE).
func CopyFreeze() *pgerr.Error { return copyFreeze.Notice() }
