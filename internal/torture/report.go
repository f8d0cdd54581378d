package torture

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is what came of a run.
type Report struct{ Results []*Result }

// Result is what came of one scenario.
type Result struct {
	Scenario string
	Began    time.Time
	Took     time.Duration
	Events   int // faults
	// Waits are, for each fault, the longest time between two writes that a client of
	// a gateway which was not hurt had to wait.
	Waits []time.Duration
	// Restarts are the times until nodes served again.
	Restarts []time.Duration
	Notes    []string

	Writes, Reads       int // of the load of single rows
	Acknowledged        int // inserts, each of which was looked for
	Operations, Unknown int // of registers and bank, judged one by one
	Errors              map[string]int
	Samples             map[string]string

	Violations []string
	Undecided  []string
}

func (r *Result) violation(format string, args ...any) {
	r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Passed reports whether all promises were kept.
func (r *Report) Passed() bool {
	return !slices.ContainsFunc(r.Results, func(x *Result) bool { return len(x.Violations)+len(x.Undecided) > 0 })
}

// quantile returns the value below which a share of sorted durations lies.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

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
	verdict := "ok"
	switch {
	case len(r.Violations) > 0:
		verdict = "VIOLATION: " + strings.Join(r.Violations, "; ")
	case len(r.Undecided) > 0:
		verdict = "undecided: " + strings.Join(r.Undecided, "; ")
	}
	return fmt.Sprintf("%s: %d faults in %s; longest waits for a write, p50/p90/max: %s; %d writes, %d reads, %d judged (%d of unknown outcome): %s",
		r.Scenario, r.Events, r.Took.Round(time.Second), spread(r.Waits), r.Writes, r.Reads, r.Operations, r.Unknown, verdict)
}

// Write writes the report as a table, with the errors that clients saw below.
func (r *Report) Write(w io.Writer) {
	fmt.Fprintln(w, "| scenario | faults | wait for a write, p50/p90/max | restart, p50/p90/max | writes | reads | acked, looked for | judged | unknown | verdict |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, x := range r.Results {
		verdict := "ok"
		if len(x.Violations) > 0 {
			verdict = "**violation**"
		} else if len(x.Undecided) > 0 {
			verdict = "undecided"
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %d | %d | %d | %d | %d | %s |\n", x.Scenario, x.Events, spread(x.Waits), spread(x.Restarts),
			x.Writes, x.Reads, x.Acknowledged, x.Operations, x.Unknown, verdict)
	}
	for _, x := range r.Results {
		fmt.Fprintf(w, "\n%s\n", x.Scenario)
		for _, n := range x.Notes {
			fmt.Fprintf(w, "  %s\n", n)
		}
		for _, c := range slices.Sorted(maps.Keys(x.Errors)) {
			fmt.Fprintf(w, "  clients saw %d × %s: %s\n", x.Errors[c], c, oneLine(x.Samples[c]))
		}
		for _, v := range slices.Concat(x.Violations, x.Undecided) {
			fmt.Fprintf(w, "  %s\n", v)
		}
	}
}

func oneLine(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return s
}
