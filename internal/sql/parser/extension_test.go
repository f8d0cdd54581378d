package parser

import (
	"testing"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// TestExtensions checks for every form of the dialects that Parse reads it, that
// ParseNoting tells of it, and that without it there is a syntax error.
func TestExtensions(t *testing.T) {
	examples := map[Extension]string{
		ExtUpsert:          "upsert into t values (1)",
		ExtUse:             "use d",
		ExtCancel:          "cancel query '1'",
		ExtBackup:          "backup into 'x'",
		ExtShow:            "show create table t",
		ExtClusterSetting:  "set cluster setting a.b = 1",
		ExtAlterDialect:    "alter partition p of table t configure",
		ExtConfigureZone:   "alter table t configure zone discard",
		ExtLocality:        "",
		ExtSplit:           "alter table t unsplit all",
		ExtScatter:         "alter table t scatter",
		ExtInspect:         "inspect table t",
		ExtHashKey:         "create table t (a int, primary key (a hash))",
		ExtKeyOrder:        "create table t (a int, primary key (a desc))",
		ExtHashSharded:     "create index on t (a) using hash",
		ExtStoring:         "create index on t (a) storing (b)",
		ExtInvertedIndex:   "create inverted index on t (a)",
		ExtInlineIndex:     "create table t (a int, index (a))",
		ExtFamily:          "create table t (a int, family (a))",
		ExtComputed:        "create table t (a int, b int as (a) stored)",
		ExtVirtual:         "create table t (a int, b int generated always as (a) virtual)",
		ExtAlterPrimaryKey: "alter table t alter primary key using columns (a)",
		ExtAlterList:       "alter table t rename a to b, add c int",
		ExtIndexName:       "drop index t@i",
		ExtIndexHint:       "select 1 from t@i",
		ExtStatementRef:    "select 1 from [show a] x",
		ExtNoAlias:         "select 1 from (select 2)",
		ExtAsOf:            "select 1 from t as of system time '-1s'",
		ExtPriority:        "begin priority high",
		ExtDMLLimit:        "delete from t limit 1",
		ExtIfNotExists:     "create database if not exists d",
		ExtDropBehavior:    "drop database d cascade",
		ExtExplainOptions:  "explain analyze (verbose) select 1",
		ExtTablespace:      `create tablespace t with (a = 1)`,
		ExtNotVisible:      "create table t (a int not visible)",
		ExtAnnotation:      "select 1:::int8",
		ExtOnUpdate:        "",
		ExtPartitions:      "",

		ExtUniqueWithoutIndex: "",
		ExtCreateDialect:      "create tablegroup g",
		ExtSequence:           "create sequence s per node cache 10",
		ExtBytesQuote:         `select b'\''`,
		ExtNonconcurrently:    "CREATE INDEX NONCONCURRENTLY i ON t (a)",
	}
	for e := range numExtensions {
		sql, listed := examples[e]
		if !listed || e.String() == "" {
			t.Errorf("extension %d has no name or no example", e)
			continue
		}
		if sql == "" {
			continue // refused as a feature, so there is nothing to read
		}
		if _, notes, err := ParseNoting(sql, false); err != nil || notes.Extensions&(1<<e) == 0 {
			t.Errorf("%s: %v, met %q", sql, err, notes.Extensions)
		}
		if _, notes, err := ParseNoting(sql, true); pgerr.CodeOf(err) != pgerr.SyntaxError || notes.Extensions != 0 {
			t.Errorf("%s is read strictly: %v", sql, err)
		}
	}
}

// TestLateErrors checks that an error which PostgreSQL finds after parsing gives
// way to a syntax error behind it.
func TestLateErrors(t *testing.T) {
	for sql, want := range map[string]int{
		"create table t (a int null deferrable)":   28,
		"create table t (a int null deferrable) x": 40,
	} {
		if _, err := Parse(sql); pgerr.CodeOf(err) != pgerr.SyntaxError || pgerr.From(err).Position != want {
			t.Errorf("%s: %v at %d", sql, err, pgerr.From(err).Position)
		}
	}
}
