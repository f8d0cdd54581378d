package statementfuncs

import (
	"math"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

const extension = "pg_stat_statements"

// columns are those of pg_stat_statements. What nobody measures here is 0: planning, which counts as execution, and what PostgreSQL
// does with its buffers, its log and its compiler.
const columns = `userid:oid dbid:oid toplevel:bool queryid:int8 query:text
plans:int8 total_plan_time:float8 min_plan_time:float8 max_plan_time:float8 mean_plan_time:float8 stddev_plan_time:float8
calls:int8 total_exec_time:float8 min_exec_time:float8 max_exec_time:float8 mean_exec_time:float8 stddev_exec_time:float8 rows:int8
shared_blks_hit:int8 shared_blks_read:int8 shared_blks_dirtied:int8 shared_blks_written:int8
local_blks_hit:int8 local_blks_read:int8 local_blks_dirtied:int8 local_blks_written:int8 temp_blks_read:int8 temp_blks_written:int8
blk_read_time:float8 blk_write_time:float8 temp_blk_read_time:float8 temp_blk_write_time:float8
wal_records:int8 wal_fpi:int8 wal_bytes:numeric
jit_functions:int8 jit_generation_time:float8 jit_inlining_count:int8 jit_inlining_time:float8
jit_optimization_count:int8 jit_optimization_time:float8 jit_emission_count:int8 jit_emission_time:float8`

// hidden is shown in place of a text that the user may not see.
const hidden = "<insufficient privilege>"

// Overloads declares the functions.
func Overloads() []*call.Overload {
	names, ts := split(columns)
	zero := types.NewInt(0)
	reset := call.Fn("pg_stat_statements_reset(oid,oid,int8) void", reset).Volatile().WithDefaults(zero, zero, zero)
	reset.Restricted = true
	all := []*call.Overload{
		call.SRF("pg_stat_statements(bool) setof record", statements(names, ts)).Volatile().Columns(names, ts),
		call.SRF("pg_stat_statements_info() record", info).Volatile().AtMostOneRow().
			Columns([]string{"dealloc", "stats_reset"}, []*types.T{types.Int8, types.TimestampTZ}),
		reset,
	}
	for _, o := range all {
		o.Extension = extension
	}
	return all
}

// split reads a list of columns.
func split(list string) (names []string, ts []*types.T) {
	for _, c := range strings.Fields(list) {
		name, typ, _ := strings.Cut(c, ":")
		t, _ := types.ByName(typ)
		names, ts = append(names, name), append(ts, t)
	}
	return names, ts
}

// statements returns the rows of pg_stat_statements.
func statements(names []string, ts []*types.T) call.SRFFunc {
	zero := make([]types.Datum, len(ts))
	at := map[string]int{}
	for i, t := range ts {
		at[names[i]] = i
		switch t.Family {
		case types.FloatFamily:
			zero[i] = types.NewFloat(0)
		case types.DecimalFamily:
			zero[i] = types.NewDecimalInt(0, 0)
		default:
			zero[i] = types.NewInt(0)
		}
	}
	return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
		s, err := c.NeedSession()
		if err != nil {
			return nil, err
		}
		list, err := s.StatementStatistics()
		if err != nil {
			return nil, err
		}
		rows := make([][]types.Datum, len(list))
		for i := range list {
			row := append([]types.Datum(nil), zero...)
			fill(&list[i], a[0].Bool(), func(column string, d types.Datum) { row[at[column]] = d })
			rows[i] = row
		}
		return call.NewRows(rows), nil
	}
}

// fill sets the columns that something is known of.
func fill(x *call.StatementStatistics, texts bool, set func(column string, d types.Datum)) {
	oid := func(column string, oid uint32) {
		d := types.Null // it was dropped
		if oid != 0 {
			d = types.NewInt(int64(oid))
		}
		set(column, d)
	}
	oid("userid", x.User)
	oid("dbid", x.Database)
	set("toplevel", types.NewBool(true))
	set("queryid", types.Null)
	switch {
	case !texts:
		set("query", types.Null)
	case x.Visible:
		set("query", types.NewString(x.Query))
	default:
		set("query", types.NewString(hidden))
	}
	if x.Visible {
		set("queryid", types.NewInt(x.ID))
	}
	calls := float64(max(x.Calls, 1))
	mean := x.Total / calls
	set("calls", types.NewInt(x.Calls))
	set("rows", types.NewInt(x.Rows))
	set("total_exec_time", types.NewFloat(x.Total))
	set("min_exec_time", types.NewFloat(x.Min))
	set("max_exec_time", types.NewFloat(x.Max))
	set("mean_exec_time", types.NewFloat(mean))
	set("stddev_exec_time", types.NewFloat(math.Sqrt(max(x.Squares/calls-mean*mean, 0))))
}

// info returns the row of pg_stat_statements_info.
func info(c *call.Context, _ []types.Datum) (call.RowIterator, error) {
	s, err := c.NeedSession()
	if err != nil {
		return nil, err
	}
	rounds, since, err := s.StatementsKept()
	if err != nil {
		return nil, err
	}
	return call.NewRows([][]types.Datum{{types.NewInt(rounds), since}}), nil
}

// reset is pg_stat_statements_reset.
func reset(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, err := c.NeedSession()
	if err != nil {
		return types.Null, err
	}
	return types.VoidDatum, s.ForgetStatements(uint32(a[0].Int()), uint32(a[1].Int()), a[2].Int())
}
