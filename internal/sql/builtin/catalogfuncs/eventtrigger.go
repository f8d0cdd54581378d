package catalogfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// eventTriggerFunctions tell the functions of event triggers what happens.
func eventTriggerFunctions() []*call.Overload {
	text, flag := types.Text, types.Bool
	return []*call.Overload{
		call.SRF("pg_event_trigger_ddl_commands() setof record", ddlCommands).Stable().Columns(
			[]string{"classid", "objid", "objsubid", "command_tag", "object_type", "schema_name", "object_identity", "in_extension", "command"},
			[]*types.T{types.Oid, types.Oid, types.Int4, text, text, text, text, flag, types.DDLCommand}),
		call.SRF("pg_event_trigger_dropped_objects() setof record", droppedObjects).Stable().Columns(
			[]string{
				"classid", "objid", "objsubid", "original", "normal", "is_temporary", "object_type", "schema_name", "object_name", "object_identity",
				"address_names", "address_args",
			},
			[]*types.T{types.Oid, types.Oid, types.Int4, flag, flag, flag, text, text, text, text, types.TextArray, types.TextArray}),
		call.Fn("pg_event_trigger_table_rewrite_oid() oid", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			e, err := call.EventOf(c, "pg_event_trigger_table_rewrite_oid", "table_rewrite")
			if err != nil {
				return types.Null, err
			}
			return types.NewInt(int64(e.RewriteOid)), nil
		}).Stable(),
		call.Fn("pg_event_trigger_table_rewrite_reason() int4", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			e, err := call.EventOf(c, "pg_event_trigger_table_rewrite_reason", "table_rewrite")
			if err != nil {
				return types.Null, err
			}
			return types.NewInt(int64(e.RewriteReason)), nil
		}).Stable(),
	}
}

func ddlCommands(c *call.Context, _ []types.Datum) (call.RowIterator, error) {
	e, err := call.EventOf(c, "pg_event_trigger_ddl_commands", "")
	if err != nil {
		return nil, err
	}
	var rows [][]types.Datum
	for i := range e.Commands {
		o := &e.Commands[i]
		class, oid, sub := types.Null, types.Null, types.Null
		if o.Class != 0 {
			class, oid, sub = types.NewInt(int64(o.Class)), types.NewInt(int64(o.Oid)), types.NewInt(int64(o.Sub))
		}
		rows = append(rows, []types.Datum{
			class, oid, sub, types.NewString(o.Tag), call.NullIfEmpty(o.Type), call.NullIfEmpty(o.Schema), call.NullIfEmpty(o.Identity),
			types.NewBool(false), types.Null,
		})
	}
	return call.NewRows(rows), nil
}

func droppedObjects(c *call.Context, _ []types.Datum) (call.RowIterator, error) {
	e, err := call.EventOf(c, "pg_event_trigger_dropped_objects", "sql_drop")
	if err != nil {
		return nil, err
	}
	var rows [][]types.Datum
	for i := range e.Dropped {
		o := &e.Dropped[i]
		rows = append(rows, []types.Datum{
			types.NewInt(int64(o.Class)), types.NewInt(int64(o.Oid)), types.NewInt(int64(o.Sub)),
			types.NewBool(o.Original), types.NewBool(o.Normal), types.NewBool(o.Temporary),
			types.NewString(o.Type), call.NullIfEmpty(o.Schema), call.NullIfEmpty(o.Name), types.NewString(o.Identity),
			call.TextArray(o.Names), call.TextArray(o.Args),
		})
	}
	return call.NewRows(rows), nil
}
