package parser

import "strings"

// Extension is a form of the CockroachDB or YugabyteDB dialect that has a meaning
// where PostgreSQL's parser has a syntax error.
type Extension uint8

// The forms of the dialects; extensionNames describes each.
const (
	ExtUpsert Extension = iota
	ExtUse
	ExtCancel
	ExtBackup
	ExtShow
	ExtClusterSetting
	ExtAlterDialect
	ExtConfigureZone
	ExtLocality
	ExtSplit
	ExtScatter
	ExtInspect
	ExtHashKey
	ExtKeyOrder
	ExtHashSharded
	ExtStoring
	ExtInvertedIndex
	ExtInlineIndex
	ExtFamily
	ExtComputed
	ExtVirtual
	ExtAlterPrimaryKey
	ExtAlterList
	ExtIndexName
	ExtIndexHint
	ExtStatementRef
	ExtNoAlias
	ExtAsOf
	ExtPriority
	ExtDMLLimit
	ExtIfNotExists
	ExtDropBehavior
	ExtExplainOptions
	ExtTablespace
	ExtNotVisible
	ExtAnnotation
	ExtOnUpdate
	ExtPartitions
	ExtUniqueWithoutIndex
	ExtCreateDialect
	ExtSequence
	ExtNonconcurrently
	ExtBytesQuote
	numExtensions
)

// extensionNames is indexed by Extension.
var extensionNames = [numExtensions]string{
	ExtUpsert:          "UPSERT",
	ExtUse:             "USE database",
	ExtCancel:          "CANCEL, PAUSE and RESUME",
	ExtBackup:          "BACKUP and RESTORE",
	ExtShow:            "SHOW of objects",
	ExtClusterSetting:  "SET and RESET CLUSTER SETTING",
	ExtAlterDialect:    "ALTER RANGE, PARTITION and JOB, EXPERIMENTAL_... of tables",
	ExtConfigureZone:   "CONFIGURE ZONE",
	ExtLocality:        "LOCALITY, INTERLEAVE, TABLEGROUP and COLOCATION",
	ExtSplit:           "SPLIT INTO, SPLIT AT and UNSPLIT",
	ExtScatter:         "SCATTER",
	ExtInspect:         "INSPECT",
	ExtHashKey:         "HASH on key columns",
	ExtKeyOrder:        "ASC, DESC and NULLS on the columns of a key constraint",
	ExtHashSharded:     "USING HASH",
	ExtStoring:         "STORING and COVERING",
	ExtInvertedIndex:   "INVERTED INDEX",
	ExtInlineIndex:     "INDEX in CREATE TABLE",
	ExtFamily:          "FAMILY",
	ExtComputed:        "AS (expression) STORED",
	ExtVirtual:         "VIRTUAL computed columns",
	ExtAlterPrimaryKey: "ALTER PRIMARY KEY",
	ExtAlterList:       "RENAME and SET SCHEMA beside other commands of ALTER TABLE",
	ExtIndexName:       "table@index as the name of an index",
	ExtIndexHint:       "table@index in FROM",
	ExtStatementRef:    "[statement] in FROM",
	ExtNoAlias:         "subqueries in FROM without an alias",
	ExtAsOf:            "AS OF SYSTEM TIME",
	ExtPriority:        "PRIORITY of a transaction",
	ExtDMLLimit:        "ORDER BY and LIMIT in UPDATE and DELETE",
	ExtIfNotExists:     "IF NOT EXISTS of databases, types and views",
	ExtDropBehavior:    "CASCADE and RESTRICT of databases",
	ExtExplainOptions:  "EXPLAIN ANALYZE (options)",
	ExtTablespace:      "CREATE TABLESPACE without LOCATION",
	ExtNotVisible:      "NOT VISIBLE columns",
	ExtAnnotation:      "x:::type",
	ExtOnUpdate:        "ON UPDATE of columns",
	ExtPartitions:      "partitions in PARTITION BY",

	ExtUniqueWithoutIndex: "UNIQUE WITHOUT INDEX",
	ExtCreateDialect:      "CREATE CHANGEFEED, SCHEDULE and TABLEGROUP",
	ExtSequence:           "PER NODE CACHE and VIRTUAL of sequences",
	ExtNonconcurrently:    "CREATE INDEX NONCONCURRENTLY",
	ExtBytesQuote:         `b'\''`,
}

// String describes the form.
func (e Extension) String() string { return extensionNames[e] }

// Extensions is a set of forms.
type Extensions uint64

// String lists the forms.
func (s Extensions) String() string {
	var names []string
	for e := range numExtensions {
		if s&(1<<e) != 0 {
			names = append(names, e.String())
		}
	}
	return strings.Join(names, "; ")
}

// Notes is what a parser met beyond PostgreSQL's grammar, and short of it.
type Notes struct {
	Extensions Extensions
	// Unread says there was a statement of the dialects without a syntax tree,
	// of which only the first words were read.
	Unread bool
}

// ParseNoting is Parse that also returns what it met, even before an error. With
// strict it takes no form of the dialects, so that it reads PostgreSQL's grammar
// alone.
func ParseNoting(sql string, strict bool) ([]Statement, Notes, error) {
	p := parser{strict: strict}
	stmts, err := p.parse(sql)
	return stmts, p.notes, err
}

// extends reports whether a form that PostgreSQL has not may be read here, and
// notes that it was. It is asked last, when the form is there.
func (p *parser) extends(e Extension) bool {
	if p.strict {
		return false
	}
	p.notes.Extensions |= 1 << e
	return true
}
