package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
)

// minSamePlace is the part of the texts both refuse whose error must be at the
// same position.
const minSamePlace = 0.99

func main() {
	root := flag.String("root", "../..", "the root of Lichen's tree")
	n := flag.Int("n", 60000, "how many mutated statements to compare")
	seed := flag.Uint64("seed", 1, "what the mutations depend on")
	server := flag.String("server", "", "a PostgreSQL 15: statements are also generated from the synopses of psql's \\h")
	check := flag.Bool("check", false, "check pg_query's SQLSTATEs and positions with the server")
	show := flag.Int("show", 20, "how many differences of each class to print")
	flag.Parse()
	ok, err := run(os.Stdout, config{*root, *n, *seed, *server, *check, *show})
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

type config struct {
	root   string
	n      int
	seed   uint64
	server string
	check  bool
	show   int
}

// run compares the corpus and its mutations, prints a report and returns whether
// the parsers agree as they must.
func run(w io.Writer, cfg config) (bool, error) {
	corpus, err := readCorpus(cfg.root)
	if err != nil {
		return false, err
	}
	if cfg.server != "" {
		more, err := synopses(cfg.server, cfg.seed)
		if err != nil {
			return false, err
		}
		corpus = append(corpus, more...)
	}
	var check *serverCheck
	if cfg.check {
		if check, err = dialServer(cfg.server); err != nil {
			return false, err
		}
		defer check.close()
	}
	r := report{byExtension: map[string]int{}}
	take := func(sql string) error {
		c := compare(sql)
		r.add(c)
		if check != nil {
			return check.compare(c)
		}
		return nil
	}
	for _, sql := range corpus {
		if err := take(sql); err != nil {
			return false, err
		}
	}
	m := newMutator(cfg.seed, corpus)
	for i := range cfg.n {
		if err := take(m.mutate(corpus[i%len(corpus)])); err != nil {
			return false, err
		}
	}
	fmt.Fprintf(w, "%d statements and %d mutations of them, seed %d\n", len(corpus), cfg.n, cfg.seed)
	r.print(w, cfg.show)
	if check != nil {
		check.print(w)
	}
	return r.passes(), nil
}

// report counts classes and keeps the differences.
type report struct {
	count       [numClasses]int
	byExtension map[string]int
	differences [numClasses][]comparison
}

func (r *report) add(c comparison) {
	r.count[c.class]++
	if c.class == extension {
		r.byExtension[c.ours.extensions.String()]++
	}
	if c.class.differs() {
		r.differences[c.class] = append(r.differences[c.class], c)
	}
}

// passes reports whether accepting and SQLSTATEs agree always and positions
// almost always.
func (r *report) passes() bool {
	if r.count[onlyTheirs]+r.count[onlyOurs]+r.count[otherCode] > 0 {
		return false
	}
	same := r.count[bothRefuse] + r.count[otherText]
	return float64(same) >= minSamePlace*float64(same+r.count[otherPlace])
}

func (r *report) print(w io.Writer, show int) {
	for c := range numClasses {
		fmt.Fprintf(w, "%8d  %s\n", r.count[c], c)
	}
	fmt.Fprintln(w, "\ndialect forms met:")
	for _, k := range keysByCount(r.byExtension) {
		fmt.Fprintf(w, "%8d  %s\n", r.byExtension[k], k)
	}
	for c := onlyTheirs; c < numClasses; c++ {
		printDifferences(w, c, r.differences[c], show)
	}
}

// printDifferences prints the differences of a class, shrunk, the most frequent first.
func printDifferences(w io.Writer, class class, list []comparison, show int) {
	if len(list) == 0 {
		return
	}
	times := map[string]int{}
	example := map[string]comparison{}
	for _, c := range list {
		s := shrink(c)
		times[s.sql]++
		example[s.sql] = s
	}
	fmt.Fprintf(w, "\n%s:\n", class)
	for i, k := range keysByCount(times) {
		if i == show {
			fmt.Fprintf(w, "  ... and %d others\n", len(times)-show)
			break
		}
		c := example[k]
		fmt.Fprintf(w, "%6d  %q\n        PostgreSQL: %s\n        Lichen:     %s\n", times[k], c.sql, c.theirs, c.ours.outcome)
	}
}

// String tells an outcome in one line.
func (o outcome) String() string {
	if o.code == "" {
		return "accepts"
	}
	return fmt.Sprintf("%s at %d: %s", o.code, o.position, o.message)
}

// keysByCount sorts keys, the highest counts first.
func keysByCount(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if m[keys[i]] != m[keys[j]] {
			return m[keys[i]] > m[keys[j]]
		}
		return keys[i] < keys[j]
	})
	return keys
}
