package measure

import (
	"strings"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	var s Set
	read := s.Operation("READ")
	update := s.Operation("UPDATE")
	s.Operation("READ").Record(100*time.Microsecond, "OK", true)
	for range 3 {
		read.Record(300*time.Microsecond, "OK", true)
	}
	update.Record(50*time.Microsecond, "OK", true)
	update.Record(70*time.Microsecond, "ERROR", false)
	update.Record(90*time.Microsecond, "NOT_FOUND", false)
	update.Retried(4)
	var b strings.Builder
	if err := s.Report(&b, 7, 3*time.Second, []float64{95, 99, 99.9}); err != nil {
		t.Fatal(err)
	}
	want := `[OVERALL], RunTime(ms), 3000
[OVERALL], Throughput(ops/sec), 2.3333333333333335
[READ], Operations, 4
[READ], AverageLatency(us), 250.0
[READ], MinLatency(us), 100
[READ], MaxLatency(us), 300
[READ], 95thPercentileLatency(us), 300
[READ], 99thPercentileLatency(us), 300
[READ], 99.9PercentileLatency(us), 300
[READ], Return=OK, 4
[UPDATE], Operations, 1
[UPDATE], AverageLatency(us), 50.0
[UPDATE], MinLatency(us), 50
[UPDATE], MaxLatency(us), 50
[UPDATE], 95thPercentileLatency(us), 50
[UPDATE], 99thPercentileLatency(us), 50
[UPDATE], 99.9PercentileLatency(us), 50
[UPDATE], Return=OK, 1
[UPDATE], Return=ERROR, 1
[UPDATE], Return=NOT_FOUND, 1
[UPDATE], Retries, 4
[UPDATE-FAILED], Operations, 2
[UPDATE-FAILED], AverageLatency(us), 80.0
[UPDATE-FAILED], MinLatency(us), 70
[UPDATE-FAILED], MaxLatency(us), 90
[UPDATE-FAILED], 95thPercentileLatency(us), 90
[UPDATE-FAILED], 99thPercentileLatency(us), 90
[UPDATE-FAILED], 99.9PercentileLatency(us), 90
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if ok, failed := s.Counts(); ok != 5 || failed != 2 {
		t.Errorf("Counts: %d, %d", ok, failed)
	}
}

func TestStatusShowsWhatIsNew(t *testing.T) {
	var s Set
	s.Operation("READ").Record(200*time.Microsecond, "OK", true)
	line := func() string {
		var b strings.Builder
		s.Status(&b, "x ", time.Date(2026, 1, 2, 3, 4, 5, 67e6, time.UTC), 10*time.Second, 1, 9, 0.1)
		return b.String()
	}
	want := "x 2026-01-02 03:04:05:067 10 sec: 1 operations; 0.1 current ops/sec; est completion in 1m30s " +
		"[READ: Count=1, Max=200, Min=200, Avg=200, 50=200, 90=200, 99=200, 99.9=200, 99.99=200]\n"
	if got := line(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := line(); strings.Contains(got, "READ") {
		t.Errorf("nothing new, but %q", got)
	}
}

func TestOrdinal(t *testing.T) {
	for p, want := range map[float64]string{1: "1st", 2: "2nd", 3: "3rd", 11: "11th", 50: "50th", 95: "95th", 99: "99th", 99.99: "99.99"} {
		if got := ordinal(p); got != want {
			t.Errorf("%g: %s, want %s", p, got, want)
		}
	}
}
