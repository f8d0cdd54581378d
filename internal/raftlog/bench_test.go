package raftlog

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// BenchmarkAppend appends 300-byte entries from several goroutines to a log on
// a real disk, in zero-filled segments and in ones that grow.
func BenchmarkAppend(b *testing.B) {
	for _, grow := range []bool{false, true} {
		for _, workers := range []int{1, 8, 32} {
			name := fmt.Sprintf("zeroed/workers=%d", workers)
			if grow {
				name = fmt.Sprintf("growing/workers=%d", workers)
			}
			b.Run(name, func(b *testing.B) { benchAppend(b, workers, grow) })
		}
	}
}

func benchAppend(b *testing.B, workers int, grow bool) {
	l, err := Open(Options{FS: fs.Disk(), Dir: b.TempDir() + "/log", NoZeroFill: grow})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	data := make([]byte, 300)
	// Get past the small first segments, and past the making of the spare.
	large := make([]byte, 1<<20)
	for i := uint64(1); l.Stats().Spares == 0 || l.Stats().DiskBytes < 2*DefaultSegmentBytes; i++ {
		if err := l.Append([]Write{{Group: 99, Replica: 1, Entries: []Entry{{Index: i, Data: large}}}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := l.Stats()
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			ents := make([]Entry, 1)
			ws := []Write{{Group: GroupID(w + 1), Replica: 1, Entries: ents}}
			for i := uint64(1); next.Add(1) <= int64(b.N); i++ {
				ents[0] = Entry{Index: i, Term: 1, Data: data}
				if err := l.Append(ws); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	syncs := l.Stats().Syncs - before.Syncs
	secs := b.Elapsed().Seconds()
	b.ReportMetric(float64(b.N)/secs, "appends/s")
	b.ReportMetric(float64(syncs)/secs, "syncs/s")
	b.ReportMetric(float64(b.N)/float64(syncs), "appends/sync")
}
