package diag

import (
	"archive/zip"
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Limits of a Store.
const (
	MaxBundles = 16
	MaxBytes   = 32 << 20
)

// Bundle is what was put together of a statement.
type Bundle struct {
	ID                    string // made by Add
	User, Database, Query string
	At                    time.Time
	Zip                   []byte
}

// Store has the bundles of a node. The zero value is empty. It is safe for concurrent use.
type Store struct {
	mu    sync.Mutex
	list  []*Bundle // the last one is the last
	bytes int
	next  int
}

// Add keeps a bundle, in place of those that are kept for longest, and returns its id; an error if it is too large.
func (s *Store) Add(node uint64, b Bundle) (string, error) {
	if len(b.Zip) > MaxBytes {
		return "", fmt.Errorf("the bundle has %d bytes, more than the %d that a node keeps", len(b.Zip), MaxBytes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	b.ID = fmt.Sprintf("%d-%x-%d", node, b.At.Unix(), s.next)
	for len(s.list) > 0 && (len(s.list) >= MaxBundles || s.bytes+len(b.Zip) > MaxBytes) {
		s.bytes -= len(s.list[0].Zip)
		s.list = slices.Delete(s.list, 0, 1)
	}
	s.list = append(s.list, &b)
	s.bytes += len(b.Zip)
	return b.ID, nil
}

// List returns the bundles, the last one first.
func (s *Store) List() []*Bundle {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.list)
	slices.Reverse(out)
	return out
}

// File is a file of a bundle.
type File struct{ Name, Text string }

// Zip makes a bundle of files.
func Zip(files []File, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: at})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(f.Text)); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}
