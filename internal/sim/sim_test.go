package sim

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// simLength is how long a run of the ordinary tests lasts, in virtual time; runs of
// many seeds (LICHEN_SIM_SEEDS=from-to) last soakLength, or LICHEN_SIM_LENGTH.
const (
	simLength  = 20 * time.Second
	soakLength = time.Minute
)

// seeds returns the seeds to run, of every test the given ones unless told otherwise.
func seeds(t *testing.T, usual ...uint64) (out []uint64, length time.Duration) {
	s := os.Getenv("LICHEN_SIM_SEEDS")
	if s == "" {
		return usual, simLength
	}
	var from, to uint64
	if _, err := fmt.Sscanf(s, "%d-%d", &from, &to); err != nil {
		t.Fatal(err)
	}
	for i := from; i <= to; i++ {
		out = append(out, i)
	}
	length = soakLength
	if s := os.Getenv("LICHEN_SIM_LENGTH"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	return out, length
}

// sizeOf is the size of the cluster of a seed.
func sizeOf(seed uint64) int { return 3 + int(seed%3) }

func TestBankWithoutFaults(t *testing.T) {
	b := bank{accounts: 12}
	simulated(t, 1, setting{
		nodes: 3, length: 10 * time.Second, faults: map[FaultKind]int{SlowLinks: 1}, cuts: []string{account(4), account(8)},
	}, b)
}

// workloads are all that run under all faults, with what each is made of.
var workloads = []struct {
	name  string
	usual []uint64 // seeds of the ordinary test run
	make  func() (w workload, cuts, points []string)
}{
	{"Bank", []uint64{1}, func() (workload, []string, []string) {
		b := bank{accounts: 12}
		return b, []string{account(4), account(8)}, b.points()
	}},
	{"Ring", []uint64{3}, func() (workload, []string, []string) {
		r := newRing(12)
		return r, []string{r.Keys[4], r.Keys[8]}, r.Keys
	}},
	{"Registers", []uint64{4}, func() (workload, []string, []string) {
		r := registers{n: 8}
		return r, []string{register(3), register(6)}, r.points()
	}},
	{"Lists", []uint64{9}, func() (workload, []string, []string) {
		l := newLists()
		return l, l.cuts(), l.points()
	}},
}

// runWorkload runs the workload at a place of the list.
func runWorkload(t *testing.T, at int, seed uint64, length time.Duration) {
	w, cuts, points := workloads[at].make()
	simulated(t, seed, setting{nodes: sizeOf(seed), length: length, faults: everything(), cuts: cuts, points: points}, w)
}

func eachSeed(t *testing.T, at int) {
	all, length := seeds(t, workloads[at].usual...)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runWorkload(t, at, seed, length) })
	}
}

// TestBadDisks stalls and fills disks besides everything else.
func TestBadDisks(t *testing.T) {
	all, length := seeds(t, 8)
	for _, seed := range all {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runBadDisks(t, seed, length) })
	}
}

func runBadDisks(t *testing.T, seed uint64, length time.Duration) {
	b := bank{accounts: 12}
	faults := everything()
	faults[StallDisk], faults[FullDisk], faults[SlowDisk] = 6, 6, 3
	simulated(t, seed, setting{
		nodes: sizeOf(seed), length: length, faults: faults, cuts: []string{account(4), account(8)}, points: b.points(), least: leastOps / 2,
	}, b)
}

func TestBank(t *testing.T)      { eachSeed(t, 0) }
func TestRing(t *testing.T)      { eachSeed(t, 1) }
func TestRegisters(t *testing.T) { eachSeed(t, 2) }
func TestLists(t *testing.T)     { eachSeed(t, 3) }

// TestSoak runs seed after seed of all workloads for the time that LICHEN_SIM_SOAK
// names, from LICHEN_SIM_FROM on (make soak).
func TestSoak(t *testing.T) {
	s := os.Getenv("LICHEN_SIM_SOAK")
	if s == "" {
		t.Skip("LICHEN_SIM_SOAK does not say for how long")
	}
	limit, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(1)
	if s := os.Getenv("LICHEN_SIM_FROM"); s != "" {
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for began := time.Now(); time.Since(began) < limit; seed++ {
		for i, w := range workloads {
			t.Run(fmt.Sprintf("%s/%d", w.name, seed), func(t *testing.T) { runWorkload(t, i, seed, soakLength) })
		}
		t.Run(fmt.Sprintf("BadDisks/%d", seed), func(t *testing.T) { runBadDisks(t, seed, soakLength) })
		t.Run(fmt.Sprintf("Aging/%d", seed), func(t *testing.T) { runAging(t, seed, soakLength) })
		t.Run(fmt.Sprintf("AgingRegisters/%d", seed), func(t *testing.T) { runAgingRegisters(t, seed, soakLength) })
		t.Run(fmt.Sprintf("Schemas/%d", seed), func(t *testing.T) { runSchemas(t, seed, soakLength) })
		t.Run(fmt.Sprintf("Statements/%d", seed), func(t *testing.T) { runStatements(t, seed, soakLength) })
		t.Run(fmt.Sprintf("Members/%d", seed), func(t *testing.T) { runMembers(t, seed, soakLength) })
		t.Run(fmt.Sprintf("MembersRunStatements/%d", seed), func(t *testing.T) { runMembersStatements(t, seed, soakLength) })
		t.Run(fmt.Sprintf("LocksSurvive/%d", seed), func(t *testing.T) { runHeld(t, seed, soakLength) })
		t.Run(fmt.Sprintf("Past/%d", seed), func(t *testing.T) { runPast(t, seed, soakLength) })
		t.Run(fmt.Sprintf("Feed/%d", seed), func(t *testing.T) { runFeed(t, seed, soakLength, false) })
		t.Run(fmt.Sprintf("PromptFeed/%d", seed), func(t *testing.T) { runFeed(t, seed, soakLength, true) })
	}
}
