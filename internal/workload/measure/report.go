package measure

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report writes the final report of a run in YCSB's text format.
func (s *Set) Report(w io.Writer, operations int64, took time.Duration, percentiles []float64) error {
	b := bufio.NewWriter(w)
	ms := took.Milliseconds()
	fmt.Fprintf(b, "[OVERALL], RunTime(ms), %d\n", ms)
	fmt.Fprintf(b, "[OVERALL], Throughput(ops/sec), %s\n", number(1000*float64(operations)/float64(ms)))
	for _, op := range s.operations() {
		op.report(b, percentiles)
	}
	return b.Flush()
}

func (o *Operation) report(w io.Writer, percentiles []float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ok.report(w, o.name, percentiles)
	for _, r := range o.returns {
		fmt.Fprintf(w, "[%s], Return=%s, %d\n", o.name, r.status, r.n)
	}
	if o.retries > 0 {
		fmt.Fprintf(w, "[%s], Retries, %d\n", o.name, o.retries)
	}
	if o.failed.hist != nil {
		o.failed.report(w, o.name+"-FAILED", percentiles)
	}
}

func (s *series) report(w io.Writer, name string, percentiles []float64) {
	h := s.hist
	if h == nil {
		h = hdrhistogram.New(1, 2, digits)
	}
	n := h.TotalCount()
	fmt.Fprintf(w, "[%s], Operations, %d\n", name, n)
	fmt.Fprintf(w, "[%s], AverageLatency(us), %s\n", name, number(float64(s.sum)/float64(max(n, 1))))
	fmt.Fprintf(w, "[%s], MinLatency(us), %d\n", name, h.Min())
	fmt.Fprintf(w, "[%s], MaxLatency(us), %d\n", name, h.Max())
	for _, p := range percentiles {
		fmt.Fprintf(w, "[%s], %sPercentileLatency(us), %d\n", name, ordinal(p), h.ValueAtPercentile(p))
	}
}

// Summary returns what was measured since the last call, as YCSB's status line has
// it.
func (s *Set) Summary() string {
	var b strings.Builder
	for _, op := range s.operations() {
		op.mu.Lock()
		if h := op.interval; h != nil && h.TotalCount() > 0 {
			fmt.Fprintf(&b, "[%s: Count=%d, Max=%d, Min=%d, Avg=%s", op.name, h.TotalCount(), h.Max(), h.Min(),
				short(float64(op.sum)/float64(h.TotalCount())))
			for _, p := range []float64{50, 90, 99, 99.9, 99.99} {
				fmt.Fprintf(&b, ", %s=%d", short(p), h.ValueAtPercentile(p))
			}
			b.WriteString("] ")
			h.Reset()
			op.sum = 0
		}
		op.mu.Unlock()
	}
	return b.String()
}

// number prints as Java prints a double in the range that matters here, since
// scripts that read YCSB's reports expect it.
func number(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "0.0"
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}

// short prints at most two decimals.
func short(f float64) string {
	s := strconv.FormatFloat(f, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// ordinal returns 1st, 2nd, 95th; a fraction stays as it is.
func ordinal(p float64) string {
	n := int(p)
	if float64(n) != p {
		return number(p)
	}
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// Status writes one line of progress.
func (s *Set) Status(w io.Writer, label string, now time.Time, ran time.Duration, done, todo int64, current float64) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s:%03d %d sec: %d operations; ", label, now.Format("2006-01-02 15:04:05"),
		now.Nanosecond()/1e6, int64(ran.Seconds()), done)
	if done > 0 {
		fmt.Fprintf(&b, "%s current ops/sec; ", short(current))
		if todo > 0 {
			rate := float64(done) / ran.Seconds()
			left := time.Duration(math.Ceil(float64(todo)/rate)) * time.Second
			fmt.Fprintf(&b, "est completion in %s ", left)
		}
	}
	b.WriteString(s.Summary())
	fmt.Fprintln(w, strings.TrimSpace(b.String()))
}
