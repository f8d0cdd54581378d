package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/optimizer"
)

// onlyTime asks both databases again with more time: the answers are alike then.
func onlyTime(ctx context.Context, t *tester, d difference) bool {
	const longer = "SET LOCAL statement_timeout = '55s'"
	theirs := t.postgres.again(ctx, d.before, longer, d.sql)
	ours := t.lichen.again(ctx, d.before, longer, d.sql)
	if t.revive(ctx) != nil {
		return false
	}
	return compare(d.statement, theirs, ours) == "" || theirs.code == "57014" && ours.code == ""
}

// equalRows tells whether the rows are alike but for how equal numbers print.
func equalRows(_ context.Context, t *tester, d difference) bool {
	if !slices.ContainsFunc(t.texts(d, false), choosesEquals.MatchString) {
		return false
	}
	plain := func(rows []string) []string {
		out := make([]string, len(rows))
		for i, r := range rows {
			out[i] = plainNumbers(r)
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(plain(d.theirs.rows), plain(d.ours.rows))
}

// choosesEquals matches what returns one of several equal values.
var choosesEquals = regexp.MustCompile(`UNION|INTERSECT|EXCEPT|DISTINCT|(max|min)\(`)

// sameSigns tells whether all results have the same sign in both databases.
func sameSigns(_ context.Context, _ *tester, d difference) bool {
	return slices.EqualFunc(d.theirs.rows, d.ours.rows, func(theirs, ours string) bool {
		a, errA := strconv.Atoi(strings.Trim(theirs, `"`))
		b, errB := strconv.Atoi(strings.Trim(ours, `"`))
		return theirs == ours || errA == nil && errB == nil && cmp.Compare(a, 0) == cmp.Compare(b, 0)
	})
}

// ordersDiffer tells whether a unique key was violated in one database, and not in
// the other, by rows between rather than at the end: where the statement was done
// no key has duplicates, and where it was refused it has none either when it is
// done without the constraint.
func ordersDiffer(ctx context.Context, t *tester, d difference) bool {
	done, refused, a := t.postgres, t.lichen, d.ours
	if d.theirs.code != "" {
		done, refused, a = t.lichen, t.postgres, d.theirs
	}
	keys := done.uniqueKeys(ctx)
	if len(keys) == 0 || done.duplicates(ctx, keys) {
		return false
	}
	refused.anew(ctx, d.before)
	defer refused.ask(ctx, "ROLLBACK")
	name := constraintName.FindStringSubmatch(a.message)
	for _, k := range keys {
		if name == nil || k.index != name[1] {
			continue
		}
		refused.ask(ctx, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s CASCADE", k.table, k.index))
		drop := refused.ask(ctx, fmt.Sprintf("DROP INDEX IF EXISTS %s", k.index))
		b := refused.ask(ctx, d.sql)
		if drop.code == "" && b.code == "" {
			return !refused.duplicates(ctx, []uniqueKey{k})
		}
		return drop.code == "" && b.code == "23505" // another one's turn
	}
	return false
}

// keyIsLong tells whether PostgreSQL, without the index whose key Lichen finds too long, makes a row with a
// long key in it: there only its compressed form has to fit.
func keyIsLong(ctx context.Context, t *tester, d difference) bool {
	const long = 1024 // of the key's text, of which each byte may take eight in an index
	name := indexName.FindStringSubmatch(d.ours.message)
	t.postgres.anew(ctx, d.before)
	defer t.postgres.ask(ctx, "ROLLBACK")
	for _, k := range t.postgres.uniqueKeys(ctx) {
		if name == nil || k.index != name[1] {
			continue
		}
		t.postgres.ask(ctx, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s CASCADE", k.table, k.index))
		t.postgres.ask(ctx, "DROP INDEX IF EXISTS "+k.index)
		t.postgres.ask(ctx, d.sql)
		rows := t.postgres.ask(ctx, fmt.Sprintf("SELECT FROM %s WHERE octet_length((%s)::text) > %d LIMIT 1", k.table, "ROW("+k.columns+")", long))
		return len(rows.rows) > 0
	}
	return false
}

var indexName = regexp.MustCompile(`for index "(.*)"`)

var constraintName = regexp.MustCompile(`unique constraint "(.*)"`)

// uniqueKey is a unique index and its columns.
// where is the condition of a partial one's rows.
type uniqueKey struct{ table, index, columns, where string }

// uniqueKeys lists the unique indexes of columns of the schema that is tested.
func (s *server) uniqueKeys(ctx context.Context) []uniqueKey {
	a := s.query(ctx, `SELECT t.relname, i.relname, string_agg(quote_ident(a.attname), ', '), coalesce(pg_get_expr(x.indpred, x.indrelid), 'true')
		FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
		JOIN pg_attribute a ON a.attrelid = i.oid
		WHERE x.indisunique AND t.relnamespace = 'diff'::regnamespace GROUP BY 1, 2, 4`)
	var list []uniqueKey
	for _, r := range a {
		list = append(list, uniqueKey{r[0], r[1], r[2], r[3]})
	}
	return list
}

// duplicates reports whether rows have equal keys.
func (s *server) duplicates(ctx context.Context, keys []uniqueKey) bool {
	for _, k := range keys {
		some := strings.ReplaceAll(k.columns, ", ", " IS NOT NULL AND ") + " IS NOT NULL"
		rows := s.query(ctx, fmt.Sprintf("SELECT 1 FROM %s WHERE %s AND %s GROUP BY %s HAVING count(*) > 1 LIMIT 1", k.table, some, k.where, k.columns))
		if len(rows) > 0 {
			return true
		}
	}
	return false
}

// query returns the rows of a query as texts, none if it fails.
func (s *server) query(ctx context.Context, sql string) [][]string {
	r := s.conn.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
	var rows [][]string
	for _, row := range r.Rows {
		var texts []string
		for _, v := range row {
			texts = append(texts, string(v))
		}
		rows = append(rows, texts)
	}
	return rows
}

// modifiersOfPlan tells whether the types have the same modifiers in both databases as the
// query says that the statement reads. PostgreSQL tells those that are left once it has computed constants.
func modifiersOfPlan(ctx context.Context, t *tester, d difference) bool {
	before, sql := d.before, d.sql
	for i, b := range d.before { // the query whose rows were stored, or are fetched
		if q := storedQuery.FindStringSubmatch(b); q != nil {
			before, sql = d.before[:i], q[1]
		}
	}
	theirs, err := t.postgres.described(ctx, before, sql)
	if err != nil {
		return false
	}
	ours, err := t.lichen.described(ctx, before, sql)
	return err == nil && slices.Equal(theirs, ours)
}

// resultOfPlan tells whether PostgreSQL refuses to execute a prepared statement as planning found other
// modifiers than its description has.
func resultOfPlan(_ context.Context, _ *tester, d difference) bool {
	return d.theirs.message == "query result type does not match portal result type"
}

var storedQuery = regexp.MustCompile(`(?s)^(?:CREATE (?:TEMP )?(?:MATERIALIZED VIEW|VIEW|TABLE) \w+(?:\([\w, ]*\))?(?: ON COMMIT [A-Z ]+)? AS|DECLARE cu .*?CURSOR .*?FOR|PREPARE \w+(?:\([\w, ]*\))? AS) (.*)`)

// described prepares a statement and returns its columns' modifiers.
func (s *server) described(ctx context.Context, before []string, sql string) ([]int32, error) {
	s.anew(ctx, before)
	defer s.ask(ctx, "ROLLBACK")
	p, err := s.conn.Prepare(ctx, "", sql, nil)
	if err != nil {
		return nil, err
	}
	var list []int32
	for _, f := range p.Fields {
		list = append(list, f.TypeModifier)
	}
	return list, nil
}

// planningRefuses tells whether PostgreSQL finds its error as it plans, where it computes constants
// that no row may ask for.
func planningRefuses(ctx context.Context, t *tester, d difference) bool {
	planned := t.postgres.again(ctx, d.before, "EXPLAIN "+d.sql)
	return planned.code == d.theirs.code && planned.message == d.theirs.message
}

// anotherPlan tells whether one of the databases answers as the other once it plans otherwise: what a
// plan does not need it does not compute, and so does not find wrong.
func anotherPlan(ctx context.Context, t *tester, d difference) bool {
	rules := optimizer.Rules()
	for _, off := range append([]string{strings.Join(rules, ", ")}, rules...) {
		if time.Now().After(t.explainUntil) {
			return false
		}
		ours := t.lichen.again(ctx, append([]string{"SET optimizer_rules_off = '" + off + "'"}, d.before...), d.sql) // cursors are planned before
		if compare(d.statement, d.theirs, ours) == "" {
			return true
		}
	}
	for _, off := range plansOfPostgres {
		theirs := t.postgres.again(ctx, append([]string{off}, d.before...), d.sql)
		if compare(d.statement, theirs, d.ours) == "" {
			return true
		}
	}
	for _, variant := range fenced(d.sql) {
		if time.Now().After(t.explainUntil) {
			return false
		}
		if theirs := t.postgres.again(ctx, d.before, variant); compare(d.statement, theirs, d.ours) == "" {
			return true
		}
	}
	return false
}

// plansOfPostgres are settings that make PostgreSQL plan otherwise.
var plansOfPostgres = []string{
	"SET join_collapse_limit = 1", "SET from_collapse_limit = 1", "SET enable_nestloop = off", "SET enable_hashjoin = off", "SET enable_mergejoin = off",
	"SET enable_material = off", "SET enable_hashagg = off", "SET enable_sort = off", "SET enable_seqscan = off", "SET cursor_tuple_fraction = 0.001",
}

// again asks what ran before in a block of its own, then the statements, and returns the last answer.
func (s *server) again(ctx context.Context, before []string, sql ...string) (a answer) {
	s.anew(ctx, before)
	defer s.ask(ctx, "ROLLBACK")
	for _, b := range sql {
		a = s.ask(ctx, b)
	}
	return a
}

// anew asks what ran before in a new block: what was found has left its block and statements.
func (s *server) anew(ctx context.Context, before []string) {
	for _, b := range append([]string{"ROLLBACK", "DEALLOCATE ALL", "BEGIN"}, before...) {
		s.ask(ctx, b)
	}
}

// preparedAnew tells whether a table was made that hides one that the prepared statement has read, and
// PostgreSQL answers as Lichen does once the statement is prepared anew, or refuses it as
// its columns are others then.
func preparedAnew(ctx context.Context, t *tester, d difference) bool {
	if !slices.ContainsFunc(d.before, func(b string) bool { return strings.HasPrefix(b, "CREATE TEMP TABLE") }) {
		return false
	}
	anew := t.postgres.again(ctx, d.before, "DEALLOCATE p", d.before[0], d.sql)
	if anew.code == "25P02" { // the statement can't be prepared any more
		anew = t.postgres.again(ctx, d.before, "DEALLOCATE p", d.before[0])
	}
	if d.ours.code == "0A000" {
		return anew.code == "" && !slices.Equal(anew.columns, d.theirs.columns)
	}
	const ruleViolation = "42" // of which the first to be reported may be another one
	return strings.HasPrefix(anew.code, ruleViolation) && strings.HasPrefix(d.ours.code, ruleViolation) || compare(d.statement, anew, d.ours) == ""
}

// viewTextsReadBack tells whether the definitions of a view are alike but for what PostgreSQL prints
// so that it can't be read, or not as what it was.
func viewTextsReadBack(_ context.Context, _ *tester, d difference) bool {
	theirs := cycleCasts.ReplaceAllString(strings.Join(d.theirs.rows, ""), "TO $1 DEFAULT $2 USING")
	theirs = strings.ReplaceAll(theirs, " ON TRUE", " ON (true)")
	ours := rowsFromDecls.ReplaceAllString(strings.Join(d.ours.rows, ""), "$1 $4($5 $2, $6 $3)")
	return theirs == ours
}

var (
	cycleCasts    = regexp.MustCompile(`TO ('\w+')::text DEFAULT ('\w+')::text USING`)
	rowsFromDecls = regexp.MustCompile(`ROWS FROM\((jsonb?_to_recordset\(.*?\)) AS \(\w+ (\w+), \w+ (\w+)\)\) (\w+)\((\w+), (\w+)\)`)
)

// unitRefused reports whether PostgreSQL computed a constant call of extract before it looked at
// what else is wrong with a statement that can't be explained by EXPLAIN.
func unitRefused(_ context.Context, _ *tester, d difference) bool {
	return strings.HasPrefix(d.theirs.message, "unit \"") && strings.Contains(d.theirs.message, " not supported for type ")
}

// convertsNoSuchNumber reports whether PostgreSQL met a number that the type of a column does not have, NaN or
// an infinity, before it looked for duplicates.
func convertsNoSuchNumber(_ context.Context, _ *tester, d difference) bool {
	return strings.HasPrefix(d.theirs.message, "cannot convert NaN to ") || strings.HasPrefix(d.theirs.message, "cannot convert infinity to ")
}

// ofSeveralDimensions reports whether one of the databases met an array first that has too many
// dimensions for a function.
func ofSeveralDimensions(_ context.Context, _ *tester, d difference) bool {
	const message = "multidimensional arrays is not supported"
	return strings.HasSuffix(d.theirs.message, message) || strings.HasSuffix(d.ours.message, message)
}

// namesEncoding reports whether the statement, or a view that it reads, calls to_ascii with an encoding.
func namesEncoding(_ context.Context, t *tester, d difference) bool {
	return slices.ContainsFunc(t.texts(d, false), func(text string) bool { return strings.Contains(text, "to_ascii(") })
}

// namesCollation reports whether the statement, or a view that it reads, has a COLLATE clause.
func namesCollation(_ context.Context, t *tester, d difference) bool {
	return slices.ContainsFunc(t.texts(d, false), func(text string) bool { return strings.Contains(text, "COLLATE ") })
}

// literalFields reports whether PostgreSQL refused to compare records because the field of one, which
// the statement writes as ROW(…), is a literal.
func literalFields(_ context.Context, t *tester, d difference) bool {
	return dissimilarLiteral.MatchString(d.theirs.message) &&
		slices.ContainsFunc(t.texts(d, false), func(text string) bool { return strings.Contains(text, "ROW(") })
}

var dissimilarLiteral = regexp.MustCompile(`^cannot compare dissimilar column types (unknown and |.* and unknown )`)

// lastDigits tells whether the rows are alike but for the last digits of numbers.
func lastDigits(_ context.Context, _ *tester, d difference) bool {
	return slices.EqualFunc(d.theirs.rows, d.ours.rows, func(a, b string) bool {
		return floats.ReplaceAllString(a, "") == floats.ReplaceAllString(b, "") && nearlyEqual(numbersOf(a), numbersOf(b))
	})
}

var floats = regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]\d+)?`)

func numbersOf(row string) (list []float64) {
	for _, text := range floats.FindAllString(row, -1) {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			list = append(list, f)
		}
	}
	return list
}

// nearlyEqual compares the numbers of rows: one that is the difference of others is as exact as the largest of them.
func nearlyEqual(a, b []float64) bool {
	const most = 1e-14
	largest := 0.0
	for _, x := range a {
		largest = max(largest, math.Abs(x))
	}
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= most*largest })
}

var objectID = regexp.MustCompile(`"id\\?": \d+`)

// pendingEvents tells whether PostgreSQL refuses a statement for the checks that wait, rather than
// for cursors.
func pendingEvents(_ context.Context, _ *tester, d difference) bool {
	return strings.Contains(d.theirs.message, "pending trigger events")
}

// objectIDs tells whether rows differ only in the ids that .keyvalue() gives to objects.
func objectIDs(_ context.Context, _ *tester, d difference) bool {
	return slices.EqualFunc(d.theirs.rows, d.ours.rows, func(a, b string) bool {
		return objectID.ReplaceAllString(a, "") == objectID.ReplaceAllString(b, "")
	})
}

var numbering = regexp.MustCompile(`ADD COLUMN (\w+) (?:serial|int GENERATED (?:ALWAYS|BY DEFAULT) AS IDENTITY)`)

// numberedElsewhere tells whether rows differ only in which of them has which number of a
// column that numbers them.
func numberedElsewhere(_ context.Context, _ *tester, d difference) bool {
	numbers := map[string]bool{}
	for _, m := range numbering.FindAllStringSubmatch(strings.Join(d.before, ";"), -1) {
		numbers[m[1]] = true
	}
	theirs, theirNumbers := d.theirs.without(numbers)
	ours, ourNumbers := d.ours.without(numbers)
	return len(numbers) > 0 && sameRows(theirs, ours, false) && sameRows(theirNumbers, ourNumbers, false)
}

// keysByTextSearch tells whether rows differ only in the keys that they got in the order of
// tsvector or tsquery values, and in what is computed of the keys.
func keysByTextSearch(_ context.Context, _ *tester, d difference) bool {
	keys := map[string]bool{"id": true, "gen": true}
	theirs, _ := d.theirs.without(keys)
	ours, _ := d.ours.without(keys)
	return d.keyedByTextSearch() && sameRows(theirs, ours, false)
}

// keyedByTextSearch reports whether rows got their keys in the order of a column of such a type.
func (d difference) keyedByTextSearch() bool {
	const tsvector, tsquery = 3614, 3615
	before := strings.Join(append(slices.Clone(d.before), d.sql), ";")
	for _, m := range keyedByOrder.FindAllStringSubmatch(before, -1) {
		ordered := func(c column) bool { return c.name == m[1] && (c.oid == tsvector || c.oid == tsquery) }
		if slices.ContainsFunc(d.theirs.columns, ordered) {
			return true
		}
	}
	return keyedByTextSearch.MatchString(before)
}

var keyedByOrder = regexp.MustCompile(`INSERT INTO \w+ \(id, (\w+)\) SELECT \d+ \+ row_number\(\) OVER \(ORDER BY x\), x FROM`)

var keyedByTextSearch = regexp.MustCompile(`INSERT INTO \w+ \(id, \w+\) SELECT \d+ \+ row_number\(\) OVER \(ORDER BY x\), x FROM .*(tsvector|tsquery)`)

// computedAfterGrouping tells whether PostgreSQL computes a subquery of grouping sets once more
// after it has grouped, of the columns of one of the rows.
func computedAfterGrouping(ctx context.Context, t *tester, d difference) bool {
	before, sql := d.before, d.sql
	for i, b := range d.before {
		if q := storedQuery.FindStringSubmatch(b); q != nil {
			before, sql = d.before[:i], q[1]
		}
	}
	if !groupingSets.MatchString(sql) {
		return false
	}
	plan := t.postgres.again(ctx, before, "EXPLAIN (VERBOSE, COSTS off) "+sql)
	return plan.code == "" && groupingComputes(plan.rows)
}

var (
	groupingSets = regexp.MustCompile(`(ROLLUP|CUBE|GROUPING SETS) \(`)
	planNode     = regexp.MustCompile(`^"( *)->`)
	groupKey     = regexp.MustCompile(`^(Group|Hash) Key: `)
)

// groupingComputes reports whether a node of a plan with several lists of keys has a subquery.
func groupingComputes(plan []string) bool {
	lists, computes := map[int]int{}, map[int]bool{} // of the last node with this indentation of what it has
	for _, line := range plan {
		if m := planNode.FindStringSubmatch(line); m != nil {
			indent := len(m[1]) + len("->    ")
			lists[indent], computes[indent] = 0, false
			continue
		}
		line = strings.TrimPrefix(line, `"`)
		has := strings.TrimLeft(line, " ")
		indent := len(line) - len(has)
		if groupKey.MatchString(has) {
			lists[indent]++
		}
		if strings.HasPrefix(has, "SubPlan ") {
			computes[indent] = true
		}
		if computes[indent] && lists[indent] > 1 {
			return true
		}
	}
	return false
}

// without parts rows into some columns and the others.
func (a answer) without(columns map[string]bool) (rest, values []string) {
	for _, row := range a.rows {
		var r, v []string
		fields := rowField.FindAllString(row, -1)
		for i, f := range fields {
			if len(fields) == len(a.columns) && columns[a.columns[i].name] {
				v = append(v, f)
			} else {
				r = append(r, f)
			}
		}
		rest, values = append(rest, strings.Join(r, " | ")), append(values, strings.Join(v, " | "))
	}
	return rest, values
}

// rowField matches a value in the text of a row.
var rowField = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|NULL`)

// withoutRows tells whether PostgreSQL refuses an ALTER TABLE as Lichen does once the table has no rows.
func withoutRows(ctx context.Context, t *tester, d difference) bool {
	words := strings.Fields(alterTable.FindString(d.sql))
	if len(words) == 0 {
		return false
	}
	theirs := t.postgres.again(ctx, d.before, "TRUNCATE "+words[len(words)-1]+" CASCADE", d.sql)
	return theirs.code == d.ours.code && theirs.message == d.ours.message
}

// volatileKeys tells whether PostgreSQL answers as Lichen does where it can't compute the keys of grouping sets
// when it plans: each of them is put into an expression that yields it and is volatile.
func volatileKeys(ctx context.Context, t *tester, d difference) bool {
	tokens := tokenPattern.FindAllString(d.sql, -1)
	group := slices.Index(tokens, "GROUP")
	for _, p := range partsOf(tokens) {
		if group < 0 || p.open < group || time.Now().After(t.explainUntil) {
			continue
		}
		key := strings.Join(tokens[p.open:p.end+1], "")
		sql := strings.ReplaceAll(d.sql, key, "(CASE WHEN random() < 2 THEN "+key+" END)")
		if theirs := t.postgres.again(ctx, d.before, sql); compare(d.statement, theirs, d.ours) == "" {
			return true
		}
	}
	return false
}
