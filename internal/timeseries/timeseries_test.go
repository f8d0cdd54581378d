package timeseries_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/timeseries"
)

var begin = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func open(t *testing.T, disk fs.FS, retain time.Duration) *timeseries.DB {
	t.Helper()
	d, err := timeseries.Open(timeseries.Options{FS: disk, Dir: "metrics", Retain: retain})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func appendRow(t *testing.T, d *timeseries.DB, at time.Time, gauge, counter float64) {
	t.Helper()
	if err := d.Append(at, []string{"gauge", "counter_total"}, []float64{gauge, counter}); err != nil {
		t.Fatal(err)
	}
}

func query(t *testing.T, d *timeseries.DB, from, to time.Time, step time.Duration) map[string][]float64 {
	t.Helper()
	a, err := d.Query(context.Background(), timeseries.Request{
		Names: []string{"gau*", "counter_total", "absent"}, From: from, To: to, Step: step, Rate: map[string]bool{"counter_total": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]float64{}
	for _, s := range a.Series {
		out[s.Name] = s.Values
	}
	return out
}

// TestQuery reads values and rates, over a restart that resets a counter, and a gap.
func TestQuery(t *testing.T) {
	disk := fs.NewMem()
	d := open(t, disk, 0)
	for i := range 6 {
		appendRow(t, d, begin.Add(time.Duration(i)*timeseries.Step), float64(i), float64(100*i))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, disk, 0)
	appendRow(t, d, begin.Add(6*timeseries.Step), 6, 30) // the counter begins anew
	appendRow(t, d, begin.Add(60*timeseries.Step), 7, 60)
	got := query(t, d, begin, begin.Add(59*timeseries.Step), 20*time.Second)
	if g := got["gauge"]; g[0] != 0.5 || g[1] != 2.5 || g[3] != 6 || !math.IsNaN(g[4]) {
		t.Errorf("values %v", g[:5])
	}
	if c := got["counter_total"]; c[1] != 10 || c[3] != 3 || !math.IsNaN(c[4]) {
		t.Errorf("rates %v", c[:5])
	}
	if late := query(t, d, begin.Add(59*timeseries.Step), begin.Add(61*timeseries.Step), 0)["counter_total"]; !math.IsNaN(late[1]) {
		t.Errorf("a rate across a gap: %v", late)
	}
	if _, err := d.Query(context.Background(), timeseries.Request{From: begin, To: begin}); err == nil {
		t.Error("an empty time span has an answer")
	}
}

// TestPoints: there are never more points than MaxPoints.
func TestPoints(t *testing.T) {
	d := open(t, fs.NewMem(), 0)
	appendRow(t, d, begin, 1, 1)
	for _, span := range []time.Duration{time.Minute, time.Hour, 7 * 24 * time.Hour, 365 * 24 * time.Hour} {
		got := query(t, d, begin, begin.Add(span), timeseries.Step)
		if n := len(got["gauge"]); n > timeseries.MaxPoints || n == 0 {
			t.Errorf("%v: %d points", span, n)
		}
	}
}

// files returns the names of the files.
func files(t *testing.T, disk fs.FS) []string {
	t.Helper()
	list, err := disk.List("metrics")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRetention: old files go, and so do many (2).
func TestRetention(t *testing.T) {
	disk := fs.NewMem()
	d := open(t, disk, 24*time.Hour)
	for i := range 3 * 24 {
		appendRow(t, d, begin.Add(time.Duration(i)*time.Hour), 1, 1)
	}
	if n := len(files(t, disk)); n > 6 {
		t.Errorf("%d files of six hours for a day", n)
	}
	for i := range 300 {
		if err := d.Append(begin.Add(80*time.Hour+time.Duration(i)*time.Second), []string{fmt.Sprint(i)}, []float64{1}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(files(t, disk)); n > 128 {
		t.Errorf("%d files", n)
	}
}

// change replaces the bytes of the only file.
func change(t *testing.T, disk fs.FS, f func([]byte) []byte) {
	t.Helper()
	path := disk.PathJoin("metrics", files(t, disk)[0])
	r, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	w, err := disk.Create(path, fs.WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(f(b)); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
}

// TestTorn: what a crash has cut off costs its row only (1).
func TestTorn(t *testing.T) {
	disk := fs.NewMem()
	d := open(t, disk, 0)
	for i := range 3 {
		appendRow(t, d, begin.Add(time.Duration(i)*timeseries.Step), float64(i)+1, 1)
	}
	_ = d.Close()
	change(t, disk, func(b []byte) []byte { return b[:len(b)-1] })
	got := query(t, d, begin, begin.Add(time.Minute), 0)["gauge"]
	if got[0] != 1 || got[1] != 2 || !math.IsNaN(got[2]) {
		t.Errorf("values %v", got)
	}
}

// TestVersion: a file of another version is refused by name (3).
func TestVersion(t *testing.T) {
	disk := fs.NewMem()
	d := open(t, disk, 0)
	appendRow(t, d, begin, 1, 1)
	_ = d.Close()
	change(t, disk, func(b []byte) []byte { b[8]++; return b })
	_, err := d.Query(context.Background(), timeseries.Request{Names: []string{"*"}, From: begin, To: begin.Add(time.Hour)})
	if err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("another version: %v", err)
	}
}
