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
		{"SyncErrorIsFinal", TestSyncErrorIsFinal}, {"FailedActivation", TestFailedActivation}, {"CrashEverywhere", TestCrashEverywhere},
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
