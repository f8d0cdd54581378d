package torture

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Report is what came of a run.
type Report struct{ Results []*Result }

// Result is what came of one scenario.
type Result struct {
	Scenario string
	Began    time.Time
	Took     time.Duration
	Load     string // the machine's load average in the end, "" if it is not known
	Events   int    // faults
	// Waits are, for each fault, the longest time between two writes that a client of
	// a gateway which was not hurt had to wait.
	Waits []time.Duration
	// Restarts are the times until nodes served again.
	Restarts []time.Duration
	Notes    []string

	Writes, Reads       int // of the load of single rows
	Acknowledged        int // inserts, each of which was looked for
	Operations, Unknown int // of registers, bank and lists, judged one by one
	Lists               []ListCount
	Compared            string // ranges whose replicas are all identical
	Errors              map[string]int
	Samples             map[string]string

	Violations []string
	Undecided  []string
}

// ListCount says what the transactions on lists of one isolation level showed.
type ListCount struct {
	Level         string
	Committed, Of int
	Anomalies     []string // that were seen, allowed or not
}

func (r *Result) violation(format string, args ...any) {
	r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
}

func (r *Result) undecided(format string, args ...any) {
	r.Undecided = append(r.Undecided, fmt.Sprintf(format, args...))
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// mustJudge has a scenario that judged nothing count as undecided.
func (r *Result) mustJudge() {
	if r.Events == 0 || r.Operations == 0 {
		r.undecided("nothing was judged: %d faults, %d operations", r.Events, r.Operations)
	}
}

// verdict is the result in a word.
func (r *Result) verdict() string {
	switch {
	case len(r.Violations) > 0:
		return "VIOLATION"
	case len(r.Undecided) > 0:
		return "undecided"
	}
	return "ok"
}

// Passed reports whether all promises were kept.
func (r *Report) Passed() bool {
	return !slices.ContainsFunc(r.Results, func(x *Result) bool { return len(x.Violations)+len(x.Undecided) > 0 })
}

// loadAverage returns the machine's load average, "" where there is none.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

// quantile returns the value below which a share of sorted durations lies.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// spread is a distribution as people read it: p50/p90/max.
func spread(ds []time.Duration) string {
	if len(ds) == 0 {
		return "-"
	}
	s := slices.Sorted(slices.Values(ds))
	f := func(q float64) string { return fmt.Sprintf("%.2f", quantile(s, q).Seconds()) }
	return fmt.Sprintf("%s/%s/%s s", f(0.5), f(0.9), f(1))
}

// line is the result in one line.
func (r *Result) line() string {
	verdict := r.verdict()
	if all := slices.Concat(r.Violations, r.Undecided); len(all) > 0 {
		verdict += ": " + strings.Join(all, "; ")
	}
	return fmt.Sprintf("%s: %d faults in %s; longest waits for a write, p50/p90/max: %s; %d writes, %d reads, %d judged (%d of unknown outcome): %s",
		r.Scenario, r.Events, r.Took.Round(time.Second), spread(r.Waits), r.Writes, r.Reads, r.Operations, r.Unknown, verdict)
}

// Write writes the report as a table, with what is to be said of each scenario below.
func (r *Report) Write(w io.Writer) {
	rows := [][]string{{
		"scenario", "faults", "took", "wait for a write, p50/p90/max", "restart, p50/p90/max", "writes", "reads", "acked inserts",
		"judged", "unknown", "ranges identical", "load", "verdict",
	}}
	n := func(i int) string { return fmt.Sprint(i) }
	dash := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	for _, x := range r.Results {
		rows = append(rows, []string{
			x.Scenario, n(x.Events), x.Took.Round(time.Second).String(), spread(x.Waits), spread(x.Restarts), n(x.Writes), n(x.Reads),
			n(x.Acknowledged), n(x.Operations), n(x.Unknown), dash(x.Compared), dash(x.Load), x.verdict(),
		})
	}
	writeTable(w, rows)
	for _, x := range r.Results {
		fmt.Fprintf(w, "\n%s\n", x.Scenario)
		x.writeDetails(w)
	}
}

// writeTable writes rows, the first of which is the head, in columns.
func writeTable(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, v := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(v))
		}
	}
	for k, row := range rows {
		for i, v := range row {
			fmt.Fprintf(w, "| %-*s ", widths[i], v)
		}
		fmt.Fprintln(w, "|")
		if k == 0 {
			for _, n := range widths {
				fmt.Fprintf(w, "|-%s-", strings.Repeat("-", n))
			}
			fmt.Fprintln(w, "|")
		}
	}
}

func (r *Result) writeDetails(w io.Writer) {
	for _, n := range r.Notes {
		fmt.Fprintf(w, "  %s\n", n)
	}
	for _, l := range r.Lists {
		fmt.Fprintf(w, "  lists at %s: %d of %d transactions committed; anomalies seen: %s\n", l.Level, l.Committed, l.Of, strings.Join(l.Anomalies, ", "))
	}
	for _, c := range slices.Sorted(maps.Keys(r.Errors)) {
		fmt.Fprintf(w, "  clients saw %d × %s: %s\n", r.Errors[c], c, oneLine(r.Samples[c]))
	}
	for _, v := range r.Violations {
		fmt.Fprintf(w, "  VIOLATION: %s\n", v)
	}
	for _, v := range r.Undecided {
		fmt.Fprintf(w, "  undecided: %s\n", v)
	}
}

// JSON writes the report for programs; times are in seconds.
func (r *Report) JSON(w io.Writer) error {
	seconds := func(ds []time.Duration) []float64 {
		out := make([]float64, len(ds))
		for i, d := range ds {
			out[i] = d.Seconds()
		}
		return out
	}
	var all []map[string]any
	for _, x := range r.Results {
		all = append(all, map[string]any{
			"scenario": x.Scenario, "began": x.Began.UTC(), "took": x.Took.Seconds(), "load": x.Load, "faults": x.Events,
			"waits": seconds(x.Waits), "restarts": seconds(x.Restarts), "notes": x.Notes, "writes": x.Writes, "reads": x.Reads,
			"acknowledged_inserts": x.Acknowledged, "judged": x.Operations, "unknown": x.Unknown, "lists": x.Lists,
			"ranges_identical": x.Compared, "errors": x.Errors, "error_samples": x.Samples,
			"violations": x.Violations, "undecided": x.Undecided, "verdict": x.verdict(),
		})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"passed": r.Passed(), "scenarios": all})
}

func oneLine(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return s
}
