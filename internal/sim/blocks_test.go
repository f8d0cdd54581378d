package sim

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/nettest"
)

func writeFile(t *testing.T, f fs.FS, name, content string, sync bool) {
	t.Helper()
	file, err := f.Create(name, fs.WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if sync {
		if err := errors.Join(file.Sync(), fs.SyncDir(f, "/")); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func readFile(f fs.FS, name string) string {
	file, err := f.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	b, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := 0
		for seed := range uint64(20) {
			d := NewDisk(seed)
			old := d.FS()
			writeFile(t, old, "synced", "a", true)
			writeFile(t, old, "not", "b", false)
			d.Kill()
			if f := d.FS(); readFile(f, "synced") != "a" || readFile(f, "not") != "b" {
				t.Fatal("a killed process lost what it had written")
			}
			if _, err := old.Create("x", fs.WriteUnspecified); !errors.Is(err, fs.ErrPowerLoss) {
				t.Fatal("a former incarnation goes on: ", err)
			}
			writeFile(t, d.FS(), "not either", "c", false)
			d.PowerOff()
			f := d.FS()
			if readFile(f, "synced") != "a" {
				t.Fatal("lost what was synced")
			}
			if readFile(f, "not either") != "c" {
				lost++
			}
			if d.Crashes() != 2 {
				t.Fatal(d.Crashes())
			}
		}
		if lost == 0 || lost == 20 {
			t.Fatalf("lost what was not synced %d times of 20", lost)
		}
	})
}

func TestDiskFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDisk(1)
		began := time.Now()
		writeFile(t, d.FS(), "a", "a", true)
		if time.Since(began) != 0 {
			t.Fatal("syncs take time")
		}
		d.SetSlow(time.Second)
		writeFile(t, d.FS(), "b", "b", true) // two syncs
		if took := time.Since(began); took < time.Second || took > 3*time.Second {
			t.Fatal("slow syncs took ", took)
		}
		d.SetSlow(0)
		d.Stall()
		began = time.Now()
		time.AfterFunc(time.Minute, d.Resume)
		if readFile(d.FS(), "a") != "a" || time.Since(began) != 0 {
			t.Fatal("reads stall")
		}
		writeFile(t, d.FS(), "c", "c", false)
		if time.Since(began) != time.Minute {
			t.Fatal("did not stall")
		}
		d.Stall() // a crash ends the waiting, not the stall
		time.AfterFunc(time.Second, d.PowerOff)
		if _, err := d.FS().Create("d", fs.WriteUnspecified); !errors.Is(err, fs.ErrPowerLoss) {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, d.Resume)
		began = time.Now()
		writeFile(t, d.FS(), "d", "d", false)
		if time.Since(began) != time.Second {
			t.Fatal("the crash ended the stall")
		}
		d.Fill(0)
		if _, err := d.FS().Create("e", fs.WriteUnspecified); !fs.IsDiskFull(err) {
			t.Fatal(err)
		}
		d.Free()
		writeFile(t, d.FS(), "e", "e", true)
	})
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock(time.Second)
		h := hlc.New(c.Now, 0)
		var last hlc.Timestamp
		for _, step := range []struct {
			change func()
			offset time.Duration // a minute later
		}{
			{func() {}, time.Second},
			{func() { c.Jump(-3 * time.Second) }, -2 * time.Second},
			{func() { c.Jump(2 * time.Second) }, 0},
			{func() { c.SetDrift(1000) }, 60 * time.Millisecond},
			{func() { c.SetDrift(-500) }, 30 * time.Millisecond},
			{func() { c.SetDrift(0) }, 30 * time.Millisecond},
		} {
			step.change()
			pause(time.Minute)
			if c.Offset() != step.offset {
				t.Fatalf("offset %v, want %v", c.Offset(), step.offset)
			}
			if now := h.Now(); !last.Less(now) {
				t.Fatal("time went back")
			} else {
				last = now
			}
		}
	})
}

// hookLog notes what Run does.
type hookLog struct {
	active map[string]int
	events []string
	most   int
}

func (h *hookLog) Begin(f Fault) {
	h.active[f.String()]++
	h.most = max(h.most, len(h.active))
	h.events = append(h.events, "begin "+f.String())
}

func (h *hookLog) End(f Fault) {
	if h.active[f.String()]--; h.active[f.String()] == 0 {
		delete(h.active, f.String())
	}
	h.events = append(h.events, "end "+f.String())
}

var fiveNodes = []kvpb.NodeID{1, 2, 3, 4, 5}

func TestPlansHeal(t *testing.T) {
	kinds := map[FaultKind]int{}
	for seed := range uint64(100) {
		o := PlanOptions{Nodes: fiveNodes, Length: time.Minute, Pause: time.Second}
		plan := NewPlan(seed, o)
		if !reflect.DeepEqual(plan, NewPlan(seed, o)) {
			t.Fatal("a seed draws different plans")
		}
		if again, err := ParsePlan(plan.String()); err != nil || !reflect.DeepEqual(plan, again) {
			t.Fatalf("%v:\n%v\n%v", err, plan, again)
		}
		for i, f := range plan {
			kinds[f.Kind]++
			if f.For <= 0 || f.At+f.For > o.Length || len(f.Nodes) == 0 {
				t.Fatal("does not end healed: ", f)
			}
			down := 0
			for _, g := range plan[:i] {
				overlap := g.At+g.For >= f.At
				if overlap && g.endsProcess() {
					down += len(g.Nodes)
				}
				if overlap && g.Kind == f.Kind && slices.Contains(g.Nodes, f.Nodes[0]) {
					t.Fatalf("two at once:\n%v\n%v", g, f)
				}
			}
			if f.endsProcess() && f.Kind != PowerOffAll && down > 1 {
				t.Fatal("too many are down: ", f)
			}
		}
	}
	if len(kinds) != int(faultKinds) {
		t.Fatal("some faults never happen: ", kinds)
	}
	for _, bad := range []string{"", "at=1s", "at=1s for=1s quake nodes=1 amount=0", "at=1 for=1s kill nodes=1 amount=0", "at=1s for=1s kill nodes=a amount=0"} {
		if _, err := ParseFault(bad); err == nil {
			t.Fatalf("read %q", bad)
		}
	}
}

func TestRunEndsWhatItBegan(t *testing.T) {
	for _, stop := range []time.Duration{0, 30 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			plan := NewPlan(3, PlanOptions{Nodes: fiveNodes, Length: time.Minute, Pause: time.Second})
			ctx, cancel := context.WithTimeout(t.Context(), stop)
			defer cancel()
			h, began, trace := &hookLog{active: map[string]int{}}, time.Now(), nettest.NewTrace(0)
			Run(ctx, plan, h, trace)
			if len(h.active) != 0 {
				t.Fatal("not healed: ", h.active)
			}
			if took := time.Since(began); took > time.Minute || stop < time.Minute && took != stop {
				t.Fatal("took ", took)
			}
			if stop == time.Hour && (len(h.events) != 2*len(plan) || h.most < 2 || trace.Len() != len(h.events)) {
				t.Fatalf("%d events of %d faults, %d at once at most", len(h.events), len(plan), h.most)
			}
		})
	}
}

// TestPlansLeaveAQuorum counts, instant by instant, how many nodes are in trouble.
func TestPlansLeaveAQuorum(t *testing.T) {
	const step = 50 * time.Millisecond
	for seed := range uint64(50) {
		o := PlanOptions{Nodes: fiveNodes, Length: time.Minute, Pause: 500 * time.Millisecond, MaxDown: 1, Quorum: 0.7}
		plan := NewPlan(seed, o)
		var bad time.Duration
		for at := time.Duration(0); at < o.Length; at += step {
			down := map[kvpb.NodeID]bool{}
			for _, f := range plan {
				nodes, after := f.trouble()
				if f.At <= at && at < f.At+f.For+after {
					for _, n := range nodes {
						down[n] = true
					}
				}
			}
			if len(down) > o.MaxDown {
				bad += step
			}
		}
		if most := time.Duration(0.3*float64(o.Length)) + time.Second; bad > most || len(plan) < 10 {
			t.Fatalf("seed %d: %d faults, no quorum for %v:\n%v", seed, len(plan), bad, plan)
		}
	}
}

func pause(d time.Duration) { <-time.After(d) }
