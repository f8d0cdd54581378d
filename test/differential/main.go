package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/sql/generate"
	"github.com/lichendb/lichen/internal/sql/metamorphic"
)

// perRound is how many statements run over one schema.
const perRound = 1000

func main() {
	postgres := flag.String("postgres", "postgres://postgres@127.0.0.1:5432/postgres", "a PostgreSQL 15")
	lichen := flag.String("lichen", "postgres://root@127.0.0.1:26257/defaultdb", "a Lichen node")
	n := flag.Int("n", 100000, "how many statements to compare")
	seed := flag.Uint64("seed", 1, "the seed of the first round")
	only := flag.String("only", "", "draw from these productions of statements only, separated by commas; catalog for calls of functions; with -relations check these")
	limit := flag.Duration("time", time.Hour, "end the run after this time")
	show := flag.Int("show", 200, "how many differences to print")
	samples := flag.Int("known", 0, "how many differences to print of each known kind and way to differ")
	alone := flag.Bool("alone", false, "run the statements, half of them mutated, on Lichen only, and look for internal errors, lost connections and what goes on after its time limit")
	relations := flag.Bool("relations", false, "check on Lichen only that answers relate to each other as they must (package metamorphic)")
	scripts := flag.String("grammar", "", "ask no database: tell which productions of the parser's grammar the logic tests of this directory have and generated statements do not")
	start := flag.String("start", "", "the program of a Lichen node to start for the run, instead of -lichen")
	flag.Parse()
	if *scripts != "" {
		os.Exit(reportGrammar(*scripts, *n, *seed))
	}
	kinds, err := kindsOf(*only, *relations)
	if err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(2)
	}
	os.Exit(withNode(*start, lichen, func() int {
		if *relations {
			return runRelations(*lichen, kinds, *n, *seed, *limit)
		}
		return runAll(*postgres, *lichen, kinds, *n, *seed, *limit, *show, *samples, *alone)
	}))
}

// catalogCalls names, beside the productions of statements, the calls of all functions.
const catalogCalls = "catalog"

// kindsOf reads the flag -only, which names productions of statements, or relations.
func kindsOf(only string, relations bool) ([]string, error) {
	if only == "" {
		return nil, nil
	}
	all := append(generate.Productions(), catalogCalls)
	if relations {
		all = metamorphic.Relations()
	}
	kinds := strings.Split(only, ",")
	for _, k := range kinds {
		if !slices.Contains(all, k) {
			return nil, fmt.Errorf("-only %q: there are %s", k, strings.Join(all, ", "))
		}
	}
	return kinds, nil
}

// withNode runs fn with a node of its own, if a program is named. A node that does not end as it
// should fails the run.
func withNode(program string, url *string, fn func() int) int {
	if program == "" {
		return fn()
	}
	n, err := startNode(program)
	if err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		return 2
	}
	*url = n.url
	code := fn()
	if err := n.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "differential: the node:", err)
		return 2
	}
	return code
}

// runAll runs statements and reports what it finds; it returns the program's exit code.
func runAll(postgres, lichen string, only []string, n int, seed uint64, limit time.Duration, show, samples int, alone bool) int {
	t := &tester{
		postgres: &server{name: "PostgreSQL", url: postgres}, lichen: &server{name: "Lichen", url: lichen},
		only: only, until: time.Now().Add(limit), known: map[string]int{}, samples: samples, sampled: map[string][]difference{}, found: map[string]*finding{}, shrunk: map[string]int{}, coverage: generate.NewCoverage(),
	}
	if alone {
		r := generate.NewRand(seed)
		t.mutations = &r
	}
	if err := t.run(context.Background(), n, seed); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		return 2
	}
	t.report(os.Stdout, show)
	if len(t.found) > 0 || t.tooManyUnneeded() {
		return 1
	}
	return 0
}

// finding is a difference and how often it was met.
type finding struct {
	difference
	times int
}

type tester struct {
	postgres, lichen *server
	only             []string
	until            time.Time
	explainUntil     time.Time // see explainTime
	shared           *shared
	calls            generate.Rand  // draws calls of functions: other statements do not depend on which there are
	setup            []string       // of the round
	mutations        *generate.Rand // if not nil Lichen is alone
	coverage         *generate.Coverage
	asked            int
	failed           int // statements both refused
	known            map[string]int
	samples          int                     // how many known differences to keep of a kind and way to differ
	sampled          map[string][]difference // these
	found            map[string]*finding
	shrunk           map[string]int // how many of a kind
}

// run compares n statements in rounds.
func (t *tester) run(ctx context.Context, n int, seed uint64) error {
	if t.mutations != nil {
		t.postgres = t.lichen // nothing is asked of it but its catalog
	}
	for _, s := range []*server{t.postgres, t.lichen} {
		if err := s.connect(ctx); err != nil {
			return err
		}
	}
	var err error
	if t.shared, err = readShared(ctx, t.postgres, t.lichen); err != nil {
		return err
	}
	fmt.Printf("%d types, %d functions, %d operators, %d casts in common\n", len(t.shared.types), len(t.shared.functions), len(t.shared.operators), len(t.shared.casts))
	for t.asked < n && time.Now().Before(t.until) {
		if err := t.round(ctx, seed, perRound); err != nil {
			return err
		}
		seed++
		if seed%10 == 0 {
			fmt.Printf("%d statements, before seed %d; %d known kinds of difference, %d new\n", t.asked, seed, len(t.known), len(t.found))
		}
	}
	return nil
}

// round makes a schema and compares cases over it, until one that changes
// rows made the databases differ.
func (t *tester) round(ctx context.Context, seed uint64, n int) error {
	g := generate.New(seed)
	t.calls = generate.NewRand(^seed)
	defer t.coverage.Merge(g.Coverage)
	t.setup = g.Schema.Setup
	for _, sql := range g.Schema.Setup {
		if diverged, err := t.take(ctx, seed, g, alone("setup", sql, true)); err != nil || diverged {
			return err
		}
	}
	for before := t.asked; t.asked-before < n && time.Now().Before(t.until); {
		c := t.draw(g)
		diverged, err := t.take(ctx, seed, g, c)
		if err != nil || diverged {
			return err
		}
	}
	for _, tab := range g.Schema.Tables {
		if _, err := t.take(ctx, seed, g, alone("contents", "SELECT * FROM "+tab.Name, false)); err != nil {
			return err
		}
	}
	return nil
}

// alone is a case of one statement.
func alone(key, sql string, changes bool) generate.Case {
	return generate.Case{Key: key, Steps: []generate.Step{{SQL: sql}}, Changes: changes}
}

// draw draws a case of some kind.
func (t *tester) draw(g *generate.Generator) generate.Case {
	kind := ""
	if len(t.only) > 0 {
		kind = g.Pick(t.only...)
	}
	if kind == catalogCalls || kind == "" && g.OneIn(4) {
		st := t.shared.catalogStatement(t.calls)
		return generate.Case{Key: st.key, Steps: []generate.Step{{SQL: st.sql, Ordered: st.ordered}}}
	}
	if kind == "" {
		return g.Case()
	}
	return g.Case(kind)
}

// take compares a case, statement by statement, and reports whether the databases differ from then on.
// What changes rows stays if both databases answer alike.
func (t *tester) take(ctx context.Context, seed uint64, g *generate.Generator, c generate.Case) (diverged bool, err error) {
	block := !c.Blocks && (c.Changes || len(c.Steps) > 1)
	if block {
		t.both(ctx, "BEGIN")
	}
	var before []string
	different := false
	for _, st := range c.Steps {
		s := statement{sql: st.SQL, ordered: st.Ordered, key: c.Key, changes: c.Blocks, before: before}
		if different, err = t.takeOne(ctx, seed, s, block || c.Blocks); err != nil || different {
			break
		}
		before = append(before, st.SQL)
	}
	switch {
	case block && c.Changes && !different && err == nil:
		return t.commit(ctx, seed, c, g)
	case block || c.Blocks:
		t.both(ctx, "ROLLBACK")
	}
	if c.Blocks || different { // settings and prepared statements outlive a transaction
		t.both(ctx, "DISCARD ALL")
	}
	return different && c.Blocks, err
}

// commit makes a case's changes stay and reports whether the tables differ from then on, which
// they do where the case changed rows that it did not show.
func (t *tester) commit(ctx context.Context, seed uint64, c generate.Case, g *generate.Generator) (diverged bool, err error) {
	last := statement{sql: "COMMIT", key: c.Key, changes: true}
	for _, st := range c.Steps {
		last.before = append(last.before, st.SQL)
	}
	theirs, ours := t.both(ctx, "COMMIT")
	for i := 0; ; i++ {
		if what := compare(last, theirs, ours); what != "" {
			t.note(ctx, difference{statement: last, seed: seed, what: what, theirs: theirs, ours: ours})
			return true, t.revive(ctx)
		}
		if c.Key == "setup" || i == len(g.Schema.Tables) {
			return false, nil
		}
		last.sql = "SELECT * FROM " + g.Schema.Tables[i].Name
		theirs, ours = t.both(ctx, last.sql)
	}
}

// takeOne compares one statement and reports whether the answers differ.
func (t *tester) takeOne(ctx context.Context, seed uint64, s statement, inBlock bool) (different bool, err error) {
	t.asked++
	if t.mutations != nil && s.key != "setup" && t.mutations.OneIn(2) {
		s.sql, s.key = mutate(*t.mutations, s.sql), "mutated"
	}
	var theirs, ours answer
	if inBlock {
		theirs, ours = t.both(ctx, s.sql)
	} else {
		theirs, ours = t.isolated(ctx, s)
	}
	what := compare(s, theirs, ours)
	if err := t.revive(ctx); err != nil {
		return false, err
	}
	if what == "" {
		if theirs.code != "" {
			t.failed++
		}
		return false, nil
	}
	d := difference{statement: s, seed: seed, what: what, theirs: theirs, ours: ours}
	if k := t.knownAs(ctx, d); k != "" {
		t.known[k]++
		if kind := k + ": " + d.what; len(t.sampled[kind]) < t.samples {
			t.sampled[kind] = append(t.sampled[kind], d)
		}
		return true, nil
	}
	t.note(ctx, d)
	return true, t.revive(ctx)
}

// maxShrunk is how many differences of a kind, by what differs, are shrunk.
const maxShrunk = 4

// byCall matches the keys of statements that try one function, operator, cast or form of DDL,
// which tell differences apart.
var byCall = regexp.MustCompile(`^(function|operator|cast|aggregate|ddl) `)

// note keeps a difference, shrunk if it is among the first of its kind.
func (t *tester) note(ctx context.Context, d difference) {
	key := d.key + ": " + d.what
	if !byCall.MatchString(d.key) {
		// Where only the order differs, leaving out a part of it would leave no difference.
		order := d.what == "rows" && sameRows(d.theirs.rows, d.ours.rows, false)
		if !d.changes && !order && !inRoutine.MatchString(d.key) && t.shrunk[key] < maxShrunk {
			t.shrunk[key]++
			d = t.shrink(ctx, d)
		}
		key += ": " + messageKey(d)
	}
	if f := t.found[key]; f != nil {
		f.times++
		return
	}
	t.found[key] = &finding{d, 1}
	fmt.Printf("new, seed %d: %s\n", d.seed, key)
	d.print(os.Stdout) // a long run may be stopped
}

// messageKey tells differences of queries apart by the error's text, or by the
// shrunk statement.
func messageKey(d difference) string {
	if d.theirs.code+d.ours.code != "" {
		return d.theirs.message + d.ours.message
	}
	return d.sql
}

// both asks both databases at once.
func (t *tester) both(ctx context.Context, sql string) (theirs, ours answer) {
	if t.mutations != nil {
		ours = t.lichen.ask(ctx, sql)
		return ours, ours
	}
	var wg sync.WaitGroup
	wg.Go(func() { theirs = t.postgres.ask(ctx, sql) })
	ours = t.lichen.ask(ctx, sql)
	wg.Wait()
	return theirs, ours
}

// changing matches queries of which a part may change rows.
var changing = regexp.MustCompile(`INSERT|UPDATE|DELETE|MERGE`)

// isolated asks both databases; what the statement changes is rolled back.
func (t *tester) isolated(ctx context.Context, s statement) (theirs, ours answer) {
	if len(s.before) == 0 && (strings.HasPrefix(s.sql, "SELECT") || strings.HasPrefix(s.sql, "WITH") && !changing.MatchString(s.sql)) {
		return t.both(ctx, s.sql)
	}
	t.both(ctx, "BEGIN")
	for _, sql := range s.before {
		t.both(ctx, sql)
	}
	theirs, ours = t.both(ctx, s.sql)
	t.both(ctx, "ROLLBACK")
	return theirs, ours
}

func (t *tester) revive(ctx context.Context) error {
	if err := t.postgres.revive(ctx); err != nil {
		return err
	}
	return t.lichen.revive(ctx)
}

// report prints what was found, the most frequent first.
func (t *tester) report(w io.Writer, show int) {
	fmt.Fprintf(w, "%d statements, of which both refused %d; %d known kinds of difference, %d new\n", t.asked, t.failed, len(t.known), len(t.found))
	for _, name := range slices.Sorted(maps.Keys(t.known)) {
		fmt.Fprintf(w, "known: %6d  %s\n", t.known[name], name)
	}
	fmt.Fprintf(w, "at most %d of 10,000 may be %s\n", mostUnneeded, unneeded)
	var keys []string
	for k := range t.found {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if a, b := t.found[keys[i]].times, t.found[keys[j]].times; a != b {
			return a > b
		}
		return keys[i] < keys[j]
	})
	t.coverage.Report(w)
	for _, kind := range slices.Sorted(maps.Keys(t.sampled)) {
		for _, d := range t.sampled[kind] {
			fmt.Fprintf(w, "\nknown as %s (%s, seed %d)\n", kind, d.key, d.seed)
			d.print(w)
		}
	}
	for i, k := range keys {
		if i == show {
			break
		}
		f := t.found[k]
		fmt.Fprintf(w, "\n%d x %s: %s (seed %d)\n", f.times, f.key, f.what, f.seed)
		f.print(w)
	}
}

// print tells the statement, what ran before it, and the answers.
func (d difference) print(w io.Writer) {
	for _, sql := range d.before {
		fmt.Fprintf(w, "  %s;\n", sql)
	}
	fmt.Fprintf(w, "  %s\n  PostgreSQL: %s\n  Lichen:     %s\n", d.sql, d.theirs, d.ours)
}
