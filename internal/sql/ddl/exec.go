package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/roles"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Handles reports whether Exec executes the statement.
func Handles(stmt ast.Statement) bool {
	switch s := stmt.(type) {
	case *ast.CreateDatabase, *ast.DropDatabase, *ast.AlterDatabase, *ast.AlterRole, *ast.CreateSchema, *ast.AlterObject,
		*ast.Drop, *ast.CreateSequence, *ast.AlterSequence, *ast.CreateTable, *ast.CreateTableAs, *ast.CreateIndex,
		*ast.CreateView, *ast.AlterTable, *ast.Truncate, *ast.Comment, *ast.CreateExtension, *ast.UpdateExtension, *ast.LockTable,
		*ast.RefreshView, *ast.ConfigureZone, *ast.CreateEnum, *ast.CreateComposite, *ast.CreateDomain, *ast.AlterDomain, *ast.AlterEnum,
		*ast.AlterComposite, *ast.CreateRange, *ast.CreateCast, *ast.DropCast, *ast.CreateCollation, *ast.CreateTablespace, *ast.DropTablespace,
		*ast.CreateRole, *ast.DropRole, *ast.Grant, *ast.AlterDefaultPrivileges, *ast.ReassignOwned,
		*ast.CreateRoutine, *ast.CreateAggregate, *ast.CreateOperator, *ast.AlterRoutine, *ast.DropRoutine,
		*ast.CreatePolicy, *ast.AlterPolicy, *ast.DropPolicy,
		*ast.CreateTrigger, *ast.DropTrigger, *ast.AlterTriggerStmt, *ast.CreateEventTrigger, *ast.AlterEventTrigger,
		*ast.CreateStatistics, *ast.AlterStatistics:
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

// readsOnly reports whether a statement writes nothing that others see, so that read-only
// transactions may use it.
func readsOnly(stmt ast.Statement) bool {
	switch stmt.(type) {
	case *ast.Reindex, *ast.Cluster, *ast.LockTable, *ast.Discard:
		return true
	}
	return false
}

// execOther executes the statements about roles, privileges and triggers.
func execOther(ctx context.Context, e *statement.Env, stmt ast.Statement) error {
	switch s := stmt.(type) {
	case *ast.CreateRole:
		return roles.Create(ctx, e, s)
	case *ast.DropRole:
		return roles.Drop(ctx, e, s)
	case *ast.Grant:
		return roles.Grant(ctx, e, s)
	case *ast.AlterDefaultPrivileges:
		return roles.AlterDefaults(ctx, e, s)
	case *ast.ReassignOwned:
		return roles.Reassign(ctx, e, s, roles.Droppers{Collations: dropCollations, Extensions: dropExtensions})
	case *ast.CreateOperator:
		return createOperator(ctx, e, s)
	case *ast.CreateStatistics:
		return createStatistics(ctx, e, s)
	case *ast.AlterStatistics:
		return alterStatistics(ctx, e, s)
	case *ast.CreateEventTrigger, *ast.AlterEventTrigger:
		return execEventTrigger(ctx, e, s)
	case *ast.CreateTrigger:
		return createTrigger(ctx, e, s)
	case *ast.DropTrigger:
		return dropTrigger(ctx, e, s)
	case *ast.AlterTriggerStmt:
		return alterTrigger(ctx, e, s)
	}
	return pgerr.Unsupported("%s is not supported", stmt.Tag())
}

// Exec executes a statement and returns its command tag. If it fails, what it
// did is undone by rolling back to before the statement.
func Exec(ctx context.Context, e *statement.Env, stmt ast.Statement) (tag string, err error) {
	if e.ReadOnly && !readsOnly(stmt) {
		return "", pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", stmt.Tag())
	}
	e.DropLeft = alter.DropTempSchema
	switch s := stmt.(type) {
	case *ast.CreateDatabase:
		err = createDatabase(ctx, e, s)
	case *ast.DropDatabase:
		err = dropDatabase(ctx, e, s)
	case *ast.AlterDatabase:
		err = alterDatabase(ctx, e, s)
	case *ast.AlterRole:
		err = alterRole(ctx, e, s)
	case *ast.CreateTablespace:
		err = createTablespace(ctx, e, s)
	case *ast.DropTablespace:
		err = dropTablespace(ctx, e, s)
	case *ast.CreateSchema:
		err = createSchema(ctx, e, s)
	case *ast.AlterObject:
		err = alterObject(ctx, e, s)
	case *ast.Drop:
		err = drop(ctx, e, s)
	case *ast.CreateSequence:
		err = relations.CreateSequence(ctx, e, s)
	case *ast.AlterSequence:
		err = relations.AlterSequence(ctx, e, s)
	case *ast.CreateTable:
		err = relations.CreateTable(ctx, e, s)
	case *ast.CreateTableAs:
		return createTableAs(ctx, e, s)
	case *ast.Select:
		return selectInto(ctx, e, s)
	case *ast.CreateIndex:
		err = relations.CreateIndex(ctx, e, s)
	case *ast.CreateView:
		err = createView(ctx, e, s)
	case *ast.AlterTable:
		err = alter.AlterTable(ctx, e, s)
	case *ast.Truncate:
		err = truncate(ctx, e, s)
	case *ast.Comment:
		err = comment(ctx, e, s)
	case *ast.LockTable:
		err = lockTables(ctx, e, s)
	case *ast.ConfigureZone:
		return zoneconfig.ConfigureZone(ctx, e, s)
	case *ast.Reindex:
		err = reindex(ctx, e, s)
	case *ast.Cluster:
		err = cluster(ctx, e, s)
	case *ast.RefreshView:
		err = refreshView(ctx, e, s)
	case *ast.UpdateExtension:
		err = updateExtension(e, s)
	case *ast.CreateExtension:
		err = createExtension(ctx, e, s)
	case *ast.Discard:
		if name := e.Coll.TempSchemaName(); name != "" {
			err = alter.DropTemp(ctx, e, name)
		}
	case *ast.CreateEnum:
		err = createEnum(ctx, e, s)
	case *ast.CreateComposite:
		err = createComposite(ctx, e, s)
	case *ast.CreateDomain:
		err = createDomain(ctx, e, s)
	case *ast.AlterDomain:
		err = alter.AlterDomain(ctx, e, s)
	case *ast.AlterEnum:
		err = alterEnum(ctx, e, s)
	case *ast.AlterComposite:
		err = alter.AlterComposite(ctx, e, s)
	case *ast.CreateRange:
		err = createRange(ctx, e, s)
	case *ast.CreateCast:
		err = createCast(ctx, e, s)
	case *ast.DropCast:
		err = dropCast(ctx, e, s)
	case *ast.CreateRoutine:
		err = createRoutine(ctx, e, s)
	case *ast.CreateAggregate:
		err = createAggregate(ctx, e, s)
	case *ast.AlterRoutine:
		err = alterRoutine(ctx, e, s)
	case *ast.DropRoutine:
		err = alter.DropRoutines(ctx, e, s)
	case *ast.CreateCollation:
		err = createCollation(ctx, e, s)
	case *ast.CreatePolicy, *ast.AlterPolicy, *ast.DropPolicy:
		err = execPolicy(ctx, e, s)
	default:
		err = execOther(ctx, e, stmt)
	}
	if err != nil {
		return "", err
	}
	return stmt.Tag(), nil
}
