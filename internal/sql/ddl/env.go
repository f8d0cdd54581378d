package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Env is what one statement works with.
type Env struct {
	// ReadOnly refuses every change.
	ReadOnly bool
	Txn      *kv.Txn
	Coll     *catalog.Collection
	// User owns what is created.
	User string
	// Exec is the environment of queries that run as part of the statement; nil
	// parts are as for any execution.
	Exec           *operator.Env
	Format         *types.FormatContext
	DefaultIntSize int
	// DefaultTablespace is where tables and indexes go whose statement names none; "" is
	// pg_default.
	DefaultTablespace string
	// Setting returns the parameter that SET or RESET names, as it spells itself, and the value
	// that SET gives it: what ALTER DATABASE and ALTER ROLE store.
	Setting func(*ast.SetVar) (catalog.Setting, error)
	// ParamTypes are those of the parameters that Exec has for the query of CREATE TABLE AS
	// and SELECT INTO.
	ParamTypes []*types.T
	// Query is the query of CREATE TABLE AS, CREATE VIEW and SELECT INTO. It is
	// planned again from its syntax, since views are stored in another form than
	// they are written in.
	Query *plan.Prepared
	// Optimize improves a plan before it runs; nil runs it as planned.
	Optimize func(context.Context, *plan.Prepared) error
	// Presplit takes the splits to make after the commit; nil: ranges are out of
	// reach.
	Presplit func(Presplit)
	// Localities returns where the nodes of the cluster are, as in
	// "region=eu,zone=a"; nil if that is not known.
	Localities func(context.Context) ([]string, error)
	// FamilyPerColumn gives each column of a new table that states no families one of
	// its own, and so each column that is added: for tests.
	FamilyPerColumn bool
	// Filled is called when the rows of a table were written into new indexes, how many they
	// are, and whether the primary index is one of them; nil: nobody wants to know.
	Filled func(t *catalog.Table, rows int64, primary bool)
	// NotInUse returns 55006 if the session goes on using a table that a command is about to
	// change or to drop; nil: it uses none.
	NotInUse func(t *catalog.Table, command string) error
	// Alone says that the statement is a transaction by itself: what its query reads need be
	// true at one time only, when it began.
	Alone bool
	// Notice sends a notice or warning; nil drops it.
	Notice func(severity string, n *pgerr.Error)

	// dropLeft drops a temporary schema that another session has left; Exec sets it.
	dropLeft func(ctx context.Context, e *Env, schema string) error
	// withoutRows leaves rows alone: nothing reads, verifies or writes them.
	withoutRows bool
	// unplaced tells that errors in expressions have no position: PostgreSQL analyses those of
	// ALTER TABLE without the text of the statement.
	unplaced bool
	// later takes what is verified once all commands of a statement have run; nil: at once.
	later *[]func() error
}

// Handles reports whether Exec executes the statement.
func Handles(stmt ast.Statement) bool {
	switch s := stmt.(type) {
	case *ast.CreateDatabase, *ast.DropDatabase, *ast.AlterDatabase, *ast.AlterRole, *ast.CreateSchema, *ast.AlterObject,
		*ast.Drop, *ast.CreateSequence, *ast.AlterSequence, *ast.CreateTable, *ast.CreateTableAs, *ast.CreateIndex,
		*ast.CreateView, *ast.AlterTable, *ast.Truncate, *ast.Comment, *ast.CreateExtension, *ast.LockTable,
		*ast.RefreshView, *ast.ConfigureZone, *ast.CreateEnum, *ast.CreateComposite, *ast.CreateDomain, *ast.AlterDomain, *ast.AlterEnum,
		*ast.AlterComposite, *ast.CreateRange, *ast.CreateCast, *ast.DropCast, *ast.CreateCollation, *ast.CreateTablespace, *ast.DropTablespace:
		return true
	case *ast.Select:
		return true // SELECT INTO
	case *ast.Discard:
		return s.Kind == ast.DiscardTemp
	case *ast.Reindex:
		return s.Name.Table != ""
	case *ast.Cluster:
		return s.Table != nil
	}
	return false
}

// checkUnused returns 55006 if the session uses a table other than for this command.
func (e *Env) checkUnused(t *catalog.Table, command string) error {
	if e.NotInUse == nil {
		return nil
	}
	return e.NotInUse(t, command)
}

// readsOnly reports whether a statement writes nothing that others see, so that read-only
// transactions may use it.
func readsOnly(stmt ast.Statement) bool {
	switch stmt.(type) {
	case *ast.Reindex, *ast.Cluster, *ast.LockTable, *ast.Discard:
		return true
	}
	return false
}

// Exec executes a statement and returns its command tag. If it fails, what it
// did is undone by rolling back to before the statement.
func Exec(ctx context.Context, e *Env, stmt ast.Statement) (tag string, err error) {
	if e.ReadOnly && !readsOnly(stmt) {
		return "", pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", stmt.Tag())
	}
	e.dropLeft = dropLeft
	switch s := stmt.(type) {
	case *ast.CreateDatabase:
		err = e.createDatabase(ctx, s)
	case *ast.DropDatabase:
		err = e.dropDatabase(ctx, s)
	case *ast.AlterDatabase:
		err = e.alterDatabase(ctx, s)
	case *ast.AlterRole:
		err = e.alterRole(ctx, s)
	case *ast.CreateTablespace:
		err = e.createTablespace(ctx, s)
	case *ast.DropTablespace:
		err = e.dropTablespace(ctx, s)
	case *ast.CreateSchema:
		err = e.createSchema(ctx, s)
	case *ast.AlterObject:
		err = e.alterObject(ctx, s)
	case *ast.Drop:
		err = e.drop(ctx, s)
	case *ast.CreateSequence:
		err = e.createSequence(ctx, s)
	case *ast.AlterSequence:
		err = e.alterSequence(ctx, s)
	case *ast.CreateTable:
		err = e.createTable(ctx, s)
	case *ast.CreateTableAs:
		return e.createTableAs(ctx, s)
	case *ast.Select:
		return e.selectInto(ctx, s)
	case *ast.CreateIndex:
		err = e.createIndex(ctx, s)
	case *ast.CreateView:
		err = e.createView(ctx, s)
	case *ast.AlterTable:
		err = e.alterTable(ctx, s)
	case *ast.Truncate:
		err = e.truncate(ctx, s)
	case *ast.Comment:
		err = e.comment(ctx, s)
	case *ast.LockTable:
		err = e.lockTables(ctx, s)
	case *ast.ConfigureZone:
		return e.configureZone(ctx, s)
	case *ast.Reindex:
		err = e.reindex(ctx, s)
	case *ast.Cluster:
		err = e.cluster(ctx, s)
	case *ast.RefreshView:
		err = e.refreshView(ctx, s)
	case *ast.CreateExtension:
		err = e.createExtension(ctx, s)
	case *ast.Discard:
		if name := e.Coll.TempSchemaName(); name != "" {
			err = DropTemp(ctx, e, name)
		}
	case *ast.CreateEnum:
		err = e.createEnum(ctx, s)
	case *ast.CreateComposite:
		err = e.createComposite(ctx, s)
	case *ast.CreateDomain:
		err = e.createDomain(ctx, s)
	case *ast.AlterDomain:
		err = e.alterDomain(ctx, s)
	case *ast.AlterEnum:
		err = e.alterEnum(ctx, s)
	case *ast.AlterComposite:
		err = e.alterComposite(ctx, s)
	case *ast.CreateRange:
		err = e.createRange(ctx, s)
	case *ast.CreateCast:
		err = e.createCast(ctx, s)
	case *ast.DropCast:
		err = e.dropCast(ctx, s)
	case *ast.CreateCollation:
		err = e.createCollation(ctx, s)
	default:
		err = pgerr.Unsupported("%s is not supported", stmt.Tag())
	}
	if err != nil {
		return "", err
	}
	return stmt.Tag(), nil
}

func dropLeft(ctx context.Context, e *Env, schema string) error {
	return e.dropSchemas(ctx, dropTemp(schema))
}

func (e *Env) notify(severity string, n *pgerr.Error) {
	if e.Notice != nil {
		e.Notice(severity, n)
	}
}

// skip sends the NOTICE of IF EXISTS and IF NOT EXISTS.
func (e *Env) skip(code pgerr.Code, format string, args ...any) {
	e.notify("NOTICE", pgerr.New(code, format, args...))
}

// nextCommand makes what the statement has written so far visible to its own
// later reads.
func (e *Env) nextCommand() { e.Txn.BeginStatement() }
