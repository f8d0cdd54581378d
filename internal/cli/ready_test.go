//go:build linux

package cli

import (
	"io"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// A node that first waits for its cluster reports twice that it is there. The second time
// the descriptor is another file's, which must neither be written to nor closed.
func TestReportReadyOnce(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fd, err := syscall.Dup(int(w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Setenv(readyVar, strconv.Itoa(fd))
	reportReady()
	if said, err := io.ReadAll(r); err != nil || string(said) != "ready" {
		t.Errorf("the parent hears %q, %v", said, err)
	}
	other, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Dup3(int(other.Fd()), fd, 0); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	reportReady()
	if st, err := other.Stat(); err != nil || st.Size() != 0 {
		t.Errorf("the second report wrote %d bytes into another file, %v", st.Size(), err)
	}
	if _, err := syscall.Write(fd, []byte("x")); err != nil {
		t.Errorf("the second report has closed another file: %v", err)
	}
}
