package kv_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
)

// TestSecret: a secret is made once, however many ask for it at a time, and stays.
func TestSecret(t *testing.T) {
	n := clustertest.Open(t, fs.NewMem())
	defer n.Close()
	var wg sync.WaitGroup
	got := make([][]byte, 8)
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = n.DB.Secret(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range got {
		if len(s) != 32 || !bytes.Equal(s, got[0]) {
			t.Errorf("secrets %x and %x", got[0], s)
		}
	}
	other, err := n.DB.Secret(t.Context(), "b")
	if err != nil || bytes.Equal(other, got[0]) {
		t.Errorf("another secret: %x, %v", other, err)
	}
}
