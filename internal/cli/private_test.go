package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestCloseStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if err := closeStore(dir); err != nil {
		t.Fatal("a store that will be made:", err)
	}
	for _, step := range []error{
		os.MkdirAll(filepath.Join(dir, "logs"), 0o755), os.Chmod(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "logs", "lichen.log"), []byte("text"), 0o644),
		os.Symlink("logs", filepath.Join(dir, "link")),
		closeStore(dir),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	for name, want := range map[string]fs.FileMode{".": 0o700, "logs": 0o700, "logs/lichen.log": 0o600} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, st.Mode().Perm(), err, want)
		}
	}
}
