package raftlog

import (
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
	"github.com/lichendb/lichen/internal/fs/crypt/crypttest"
)

// sealed has the tests open logs that are encrypted, if it is set, and checks key streams.
var sealed *crypttest.Streams

// stride is how many operations, or histories, the tests step over: with encryption they take longer.
func stride() int64 {
	if sealed != nil {
		return 5
	}
	return 1
}

func sealedFS(f fs.FS) fs.FS {
	if sealed == nil {
		return f
	}
	return crypttest.NewSealed(f, sealed, func() crypt.Options { return crypt.Options{Dir: "store", Key: crypttest.Key(1)} })
}

// TestEncrypted runs the tests of crashes, full disks and failed syncs with an encrypted log: they find
// what they find without, and no key stream is used twice, however often segments are reused and their ends are
// written anew.
func TestEncrypted(t *testing.T) {
	sealed = crypttest.NewStreams()
	defer func() { sealed = nil }()
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"AppendReopen", TestAppendReopen}, {"RotateRecycle", TestRotateRecycle}, {"Tail", TestTail}, {"Model", TestModel},
		{"DiskFullEverywhere", TestDiskFullEverywhere}, {"ControlReserve", TestControlReserve},
		{"SyncErrorIsFinal", TestSyncErrorIsFinal}, {"FailedActivation", TestFailedActivation}, {"CrashEverywhere", TestCrashEverywhere}, {"BitFlips", TestBitFlips},
	} {
		t.Run(test.name, test.run)
		blocks, err := sealed.Err()
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if blocks == 0 {
			t.Fatalf("%s: nothing was encrypted", test.name)
		}
		sealed = crypttest.NewStreams()
	}
}

// TestManyRestarts opens an encrypted log so often, with a write each time, that its segment can't be written anew any
// more: the log goes on in another one.
func TestManyRestarts(t *testing.T) {
	sealed = crypttest.NewStreams()
	defer func() { sealed = nil }()
	f := newTestFS(t)
	const restarts = 300 // more than a file has parts
	for i := range uint64(restarts) {
		o := testOptions(f)
		o.SegmentBytes = 64 << 10
		l, err := Open(o)
		if err != nil {
			t.Fatal(i, err)
		}
		appendN(t, l, 1, i+1, 1, 1, 10)
		if rotated := l.Stats().Rotations > 0; rotated && i > 0 {
			if i < 200 {
				t.Errorf("a new segment after %d restarts", i)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := sealed.Err(); err != nil {
				t.Error(err)
			}
			return
		}
		if err := l.Close(); err != nil {
			t.Fatal(i, err)
		}
	}
	t.Errorf("%d restarts, and still the same segment", restarts)
}
