package tempstore

import (
	"bytes"
	"io"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// TestEncrypted: streams read back what was appended, no file has it, and the same records in the same place
// become other bytes when they are written again.
func TestEncrypted(t *testing.T) {
	disk := fs.NewMem()
	s := open(t, Options{FS: disk, Encrypt: true})
	var sp Space
	sp.Bind(s)
	defer sp.Close()
	secret := []byte("the known plaintext of a record")
	write := func() []byte {
		st := sp.NewStream()
		for range 100 {
			if err := st.Append(secret); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Flush(); err != nil {
			t.Fatal(err)
		}
		r := st.Read()
		for i := range 100 {
			if p, err := r.Next(); err != nil || !bytes.Equal(p, secret) {
				t.Fatalf("record %d: %q, %v", i, p, err)
			}
		}
		st.Free()
		f, err := disk.Open(sp.path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil || bytes.Contains(b, secret[:8]) {
			t.Fatalf("the file has the plaintext; %v", err)
		}
		return b
	}
	first, second := write(), write()
	if len(first) != len(second) {
		t.Fatalf("%d and %d bytes: the blocks are not reused", len(first), len(second))
	}
	// With a shared key stream the two would be equal, in the places of their blocks at least.
	for at := 0; at+16 <= len(first); at += 16 {
		if bytes.Contains(second, first[at:at+16]) {
			t.Fatalf("16 bytes at %d are there in both", at)
		}
	}
}
