package main

import (
	"context"
	"regexp"
	"time"
)

// knownDifference is one that docs/differences.md explains.
type knownDifference struct {
	name    string
	key     *regexp.Regexp // matches the statement's key
	sql     *regexp.Regexp // matches its text
	what    *regexp.Regexp // matches how the answers differ
	message *regexp.Regexp // matches the error of Lichen; nil if it does not matter
	// explains, if not nil, asks the databases whether it is that difference indeed.
	explains func(context.Context, *tester, difference) bool
}

// emptyErrors are the errors of expressions.
const emptyErrors = `(22\w+|21000)`

func knownAs(name, key, sql, what string) knownDifference {
	return knownDifference{name, regexp.MustCompile(key), regexp.MustCompile(sql), regexp.MustCompile(what), nil, nil}
}

// saying restricts the difference to an error of Lichen.
func (k knownDifference) saying(message string) knownDifference {
	k.message = regexp.MustCompile(message)
	return k
}

func (k knownDifference) onlyIf(explains func(context.Context, *tester, difference) bool) knownDifference {
	k.explains = explains
	return k
}

// knownDifferences has an entry per entry of docs/differences.md.
var knownDifferences = []knownDifference{
	knownAs("last digits of transcendental functions",
		`^function (exp|ln|log|log10|pow|power|sqrt|cbrt|d(exp|log1|log10|pow|cbrt|sqrt)|a?(sin|cos|tan|cot|sinh|cosh|tanh)[dh]?|atan2d?|polygon)\(|^cast circle to polygon|^operator .*(\^|\|\|/) float8`, ``, `^rows`).onlyIf(lastDigits),
	knownAs("indexes of tsvector values", `^(several ALTER|ddl|PREPARE)`, ``, `0A000`).saying(`^an index on a column of type ts(vector|query)`),
	knownAs("foreign keys between types of dates and times, and from double precision to real", `^(several ALTER|ddl)`, ``, `0A000`).saying(`^foreign keys from type (timestamp|double precision)`),
	knownAs("fields of a type that something uses", `^ddl ALTER TYPE pair`, ``, `^error (2BP01|23505|0A000)$|^no error 0A000$`).
		saying(`^$|^could not create unique index|^cannot (alter|change|drop) .* because (other objects depend on it|view \w+ uses it)$`),
	knownAs("fields of ROW(…) that are literals", ``, ``, `^(no error 42804|SQLSTATE \w+ for 42804)$`).onlyIf(literalFields),
	knownAs("the length of bpchar(NULL::char)", `^function bpchar\(char\)`, ``, `^type modifiers$`),
	knownAs("to_ascii with an encoding", ``, ``, `^(error 0A000|SQLSTATE 0A000 for \w+)$`).saying(`^encoding conversion from UTF8 to ASCII not`).onlyIf(namesEncoding),
	knownAs("locks on the rows of an outer join", `^locking`, `LEFT JOIN`, `^(error|SQLSTATE) 0A000( for (22\w+|42883))?$`).saying(`nullable side of an outer join`),
	knownAs("pending trigger events", `^PREPARE`, `TRUNCATE|ALTER TABLE|DROP TABLE|CREATE (UNIQUE )?INDEX`, `^(no error|SQLSTATE \w+ for) 55006`).onlyIf(pendingEvents),
	knownAs("which of several errors is reported", `^PREPARE`, `^EXECUTE`, `^SQLSTATE 42804 for 42703`),
	knownAs("which of several errors is reported", `^several ALTER`, ``, `^SQLSTATE \w+ for \w+$`).onlyIf(eachErrorIsReal),
	knownAs("which of several errors is reported", `^several ALTER`, ``, `^SQLSTATE 0A000 for 42\w+$`).saying(`^cannot use subquery in check constraint$`),
	knownAs(unneeded, `^several ALTER`, `USING`, `^SQLSTATE \w+ for `+emptyErrors),
	knownAs(unneeded, `^several ALTER`, `(?i)USING\W*.*extract\(`, `^SQLSTATE \w+ for 0A000$`).onlyIf(unitRefused),
	knownAs(unneeded, `^several ALTER`, `USING`, `^SQLSTATE 23\w+ for 0A000$`).onlyIf(convertsNoSuchNumber),
	knownAs("USING that reads a key column which the same statement drops", `^several ALTER`, `DROP ((COLUMN )?id\b|CONSTRAINT t\d_pkey)`, `^(error 42703|SQLSTATE 42703 for \w+)$`).saying(`^column "\w+" does not exist`),
	knownAs("array_nulls and transform_null_equals", `^session`, `^SET .*(array_nulls|transform_null_equals)`, `^error 22023$`),
	knownAs("which row has which number", `^several ALTER`, ``, `^rows`).onlyIf(numberedElsewhere),
	knownAs("which cursors without SCROLL move backwards", `^cursor`, `^(FETCH|MOVE) (PRIOR|FIRST|LAST|ABSOLUTE|RELATIVE|BACKWARD|0)`, `^(no )?error 55000$|^SQLSTATE (55000 for|\w+ for 55000)`),
	knownAs("which cursors without SCROLL move backwards", `^cursor`, `FROM pg_cursors`, `^rows`),
	knownAs("sums of squares of floats overflow at other inputs", `^aggregate (avg|corr|covar_|regr_|stddev|var)`, `1e308|Infinity|NaN|1e-310`, `error 22003|rows`),
	knownAs("ids of .keyvalue()", ``, `\.keyvalue\(\)`, `^rows`).onlyIf(objectIDs),
	knownAs("order of tsvector and tsquery values", `(tsvector|tsquery) (<|>|<=|>=|<>|=) |^function ts(vector|query)_(lt|le|gt|ge|cmp|eq|ne)`, ``, `^rows`),
	knownAs("order of tsvector and tsquery values", `^function ts_rewrite`, ``, `^rows`),
	knownAs("order of tsvector and tsquery values", `^(dml|transaction)`, ``, `^rows`).onlyIf(keysByTextSearch),
	knownAs("subqueries in the expressions of grouping sets", `^(query|CREATE|cursor|PREPARE)`, ``, `^(rows|command tag)`).onlyIf(computedAfterGrouping),
	knownAs("time arithmetic beyond the range is refused", `^function (age|make_interval|timestamp(tz)?_mi)|^operator (timestamp|timestamptz|interval)`, ``, `^error 22008`),
	knownAs("time arithmetic beyond the range is refused", ``, `age\(.*infinity`, `^error 22008$`).saying(`^timestamp out of range$`),
	knownAs("a series from -infinity ends", `^function generate_series\(timestamp`, `infinity`, `no error 57014`),
	knownAs("22023 where PostgreSQL has an internal error", ``, ``, `^SQLSTATE (22\w+|54000) for XX000`),
	knownAs("partitioned tables and other features refused", `^ddl`, ``, `^(SQLSTATE|error) 0A000`).saying(`^(GRANT is|(partitioned|typed) tables are) not supported$`),
	knownAs("which of several violations is reported", `^dml|^transaction|^PREPARE|^several ALTER|^ddl ALTER TABLE \{t\} ALTER \{c\} TYPE`, ``, `^SQLSTATE (2[23]\w+ for 2[23]|22\w+ for 42804)`),
	knownAs("which of several violations is reported", `^dml|^transaction|^PREPARE`, ``, `^SQLSTATE (22\w+ for 0A000|0A000 for 22\w+)$`).onlyIf(ofSeveralDimensions),
	knownAs("which of several violations is reported", `^dml|^transaction|^PREPARE`, ``, `^SQLSTATE 23\w+ for 0A000$`).onlyIf(theirPartFails),
	knownAs("which of several violations is reported", `^dml|^transaction|^PREPARE`, ``, `^SQLSTATE (0A000|42883) for 2[23]\w+$`).onlyIf(ourPartFails),
	knownAs(unneeded, `^(query|dml|CREATE|cursor|PREPARE|transaction|session|sequence|temporary|locking)`, ``, `^(no error|SQLSTATE (2[1235]|44|5)\w+ for) (22\w+|23514|0A000)$`).onlyIf(planningRefuses),
	knownAs(unneeded, `^(query|dml|CREATE|cursor|PREPARE|transaction|session|sequence|temporary|locking)`, ``, `^(no error|error|SQLSTATE \w+ for) (22\w+|23514|21000|42883)$`).onlyIf(anotherPlan),
	knownAs(unneeded, `^(query|dml|CREATE|cursor|PREPARE|transaction|session|sequence|temporary|locking)`, ``, `^(no error|SQLSTATE \w+ for) 0A000$`).onlyIf(anotherPlan),
	knownAs(unneeded, ``, ``, `^(no error|error|SQLSTATE \w+ for) (22\w+|23514|0A000|42804|42883)$`).onlyIf(partFails),
	knownAs(unneeded, `^several ALTER`, `USING`, `^SQLSTATE (0A000|42804) for 23\w+$`).onlyIf(ourPartFails),
	knownAs("which of several errors is reported", `^several ALTER`, ``, `^SQLSTATE 42\w+ for 23\w+$`).onlyIf(withoutRows),
	knownAs("keys of grouping sets that planning computes", ``, `ROLLUP|CUBE|GROUPING SETS`, `^rows`).onlyIf(volatileKeys),
	knownAs(unneeded, ``, ` CASE |\(CASE `, `^(error|SQLSTATE \w+ for) (22\w+|23514|0A000)$`).onlyIf(withoutCase),
	knownAs("which relation of a name a prepared statement means", `^PREPARE`, `^EXECUTE`, `^(error|rows|type|SQLSTATE|no error|column names|command tag)`).onlyIf(preparedAnew),
	knownAs("policies that read their own table", `^policy`, ``, `^(no error|SQLSTATE \w+ for) 42P17$`),
	knownAs("columns that a function in ROWS FROM declares", `^CREATE VIEW`, `pg_get_viewdef`, `^rows`).onlyIf(viewTextsReadBack),
	knownAs("values that mark cycles", `^CREATE VIEW`, `pg_get_viewdef`, `^rows`).onlyIf(viewTextsReadBack),
	knownAs("NATURAL outer joins without a common column", `^CREATE VIEW`, `pg_get_viewdef`, `^rows`).onlyIf(viewTextsReadBack),
	knownAs("modifiers of types that planning finds", ``, ``, `^type modifiers`).onlyIf(modifiersOfPlan),
	knownAs("modifiers of types that planning finds", `^PREPARE`, `^EXECUTE`, `^no error 42804$`).onlyIf(resultOfPlan),
	knownAs("functions of a type's input and output", `^function (\w*recv|(array|record|range|multirange|enum|domain|any\w*)_in)\(`, ``, `0A000`),
	knownAs("what comparison functions return", `^function \w*cmp\(`, ``, `^rows`).onlyIf(sameSigns),
	knownAs("which of several errors is reported", `^(dml|transaction|PREPARE)`, `ON CONFLICT`, `^SQLSTATE 42P10 for 0A000$`).onlyIf(unitRefused),
	knownAs("which of several errors is reported", `^(dml|transaction)`, ``, `^SQLSTATE (2\w+) for 25006|^SQLSTATE 25006 for 2`),
	knownAs("rows of MERGE come in another order", `^dml`, `^(WITH .*)?MERGE`, `^(no )?error 23505$`).onlyIf(ordersDiffer),
	knownAs("time limits of large joins", `^(query|CREATE|cursor|PREPARE|sequence|session|transaction|locking|dml)`, ``, `^(no )?error 57014$|^SQLSTATE 57014 for \w+$`).onlyIf(onlyTime),
	knownAs("time limits of large joins", `^function generate_series`, ``, `^SQLSTATE 57014 for 22008$`).onlyIf(onlyTime),
	knownAs("time limits of large joins", `^(query|CREATE|cursor|PREPARE|sequence|dml)`, `(CROSS|FULL) JOIN|, t\d a\d`, `^SQLSTATE (53200 for 57014|57014 for 22\w+)$`),
	knownAs("width_bucket next to a boundary", `^function width_bucket\((numeric|float8)`, ``, `^(rows|no error 22003)$`),
	knownAs("collations that can't be told (42P22)", ``, ``, `^(error|SQLSTATE) 42P22( for \w+)?$`).saying(`^could not determine which collation to use for`).onlyIf(namesCollation),
	knownAs("how long keys of indexes may be", `^(dml|transaction|PREPARE)`, ``, `^(error 54000|SQLSTATE 54000 for 23505)$`).saying(`^index row size exceeds maximum`).onlyIf(keyIsLong),
	knownAs("uniqueness is checked row by row", `^(dml|PREPARE|transaction)`, `^(WITH .*)?UPDATE`, `^(no )?error 23505$`).onlyIf(ordersDiffer),
	knownAs("rows of an outer join with an empty array", `^query`, `(FULL|LEFT|RIGHT) JOIN .* = ANY \(a\d+\.c\d+\)\) IS NOT (UNKNOWN|NULL)`, `^rows`),
	knownAs("which of equal values is returned", `^(query|CREATE|cursor|PREPARE)`, ``, `^rows`).onlyIf(equalRows),
	knownAs("right with the least integer", `^function right\(`, `-2147483648`, `^rows`),
	knownAs("overlay beyond the least integer", `^function overlay\((bit|varbit)`, `2147483647|-2147483648`, ``),
	knownAs("empty char as bpchar", `^cast char to bpchar`, ``, `^rows`),
	knownAs("an ordered-set aggregate as a window function", `^aggregate (percentile_|mode)`, ` OVER `, `42809$`),
	knownAs("jsonb_to_record of NULL in a select list", `^function jsonb?_to_record\(`, `NULL`, `^error 0A000`),
	knownAs("which of several wrong arguments is reported", `^function array_fill`, ``, `^SQLSTATE 2202E for 22004`),
	knownAs("an operator of a jsonpath that something follows", `jsonpath`, `\)\.`, `^rows`),
	knownAs("an escape at the end of a SIMILAR TO pattern", `^function similar_to_escape|^function similar_escape`, ``, `^rows`),
}

// explainTime bounds how long plans and parts are tried to explain one difference: with a statement
// that runs into its time limit each of them takes seconds.
const explainTime = 60 * time.Second

// knownAs returns the name of the known difference that d is, "" if it is none.
func (t *tester) knownAs(ctx context.Context, d difference) string {
	t.explainUntil = time.Now().Add(explainTime)
	for _, k := range knownDifferences {
		if k.key.MatchString(d.key) && k.sql.MatchString(d.sql) && k.what.MatchString(d.what) && (k.message == nil || k.message.MatchString(d.ours.message)) &&
			(k.explains == nil || k.explains(ctx, t, d)) {
			return k.name
		}
	}
	return ""
}
