package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// minStoreSize is the least size= of a store.
const minStoreSize = 64 << 20

// Store says where a store is: a directory, each on a disk of its own.
type Store struct {
	Path string
	// Size is what the disk counts for when replicas are placed, if it is to be less
	// than the disk has; 0: all. Share is the same as a share of the disk.
	Size  int64
	Share float64
}

// Dirs returns stores in directories.
func Dirs(paths ...string) []Store {
	out := make([]Store, len(paths))
	for i, p := range paths {
		out[i].Path = p
	}
	return out
}

// Dirs returns the directories of the node's stores.
func (n *Node) Dirs() []string {
	out := make([]string, len(n.Stores))
	for i := range n.Stores {
		out[i] = n.Stores[i].Path
	}
	return out
}

// Capacity returns what a disk of total bytes counts for.
func (s *Store) Capacity(total int64) int64 {
	switch {
	case s.Size > 0:
		return min(s.Size, total)
	case s.Share > 0:
		return int64(s.Share * float64(total))
	}
	return total
}

// Limited reports whether less than the disk counts.
func (s *Store) Limited() bool { return s.Size > 0 || s.Share > 0 }

// String returns what ParseStore reads.
func (s Store) String() string {
	switch {
	case s.Size > 0:
		return fmt.Sprintf("path=%s,size=%d", s.Path, s.Size)
	case s.Share > 0:
		return fmt.Sprintf("path=%s,size=%s%%", s.Path, strconv.FormatFloat(100*s.Share, 'g', -1, 64))
	}
	return "path=" + s.Path
}

// ParseStore reads one --store: DIR, or path=DIR with size=… after a comma.
func ParseStore(flag string) (s Store, err error) {
	for _, part := range strings.Split(flag, ",") {
		k, v, ok := strings.Cut(part, "=")
		switch {
		case !ok && s.Path == "" && part != "":
			s.Path = part
		case ok && k == "path" && s.Path == "" && v != "":
			s.Path = v
		case ok && k == "size" && !s.Limited():
			if err := s.setSize(v); err != nil {
				return s, fmt.Errorf("--store=%s: %w", flag, err)
			}
		default:
			return s, fmt.Errorf("--store=%s: %q is not supported: give DIR, or path=DIR and size=SIZE with a comma in between", flag, part)
		}
	}
	if s.Path == "" {
		return s, fmt.Errorf("--store=%s: the directory is missing: give path=DIR", flag)
	}
	return s, nil
}

func (s *Store) setSize(v string) error {
	bad := fmt.Errorf("invalid size %q: give bytes, a unit (64MiB, 1TB) or a share of the disk (80%%, .8)", v)
	if p, ok := strings.CutSuffix(v, "%"); ok || strings.HasPrefix(v, ".") || strings.HasPrefix(v, "0.") {
		f, err := strconv.ParseFloat(p, 64)
		if ok {
			f /= 100
		}
		if err != nil || !(f > 0 && f <= 1) {
			return bad
		}
		s.Share = f
		return nil
	}
	n, err := ParseSize(v)
	switch {
	case err != nil:
		return bad
	case n < minStoreSize:
		return fmt.Errorf("size=%s is too small for a store: it must be at least 64MiB", v)
	}
	s.Size = n
	return nil
}

// validStores reports what is wrong with the stores.
func (n *Node) validStores() error {
	seen := map[string]bool{}
	for _, s := range n.Stores {
		switch p := filepath.Clean(s.Path); {
		case s.Path == "":
			return fmt.Errorf("--store must name a directory")
		case seen[p]:
			return fmt.Errorf("--store=%s is given twice: each store needs a directory, and a disk, of its own", s.Path)
		default:
			seen[p] = true
		}
	}
	switch {
	case len(n.Stores) == 0:
		return fmt.Errorf("--store must name a directory")
	case len(n.Stores) > MaxStores:
		return fmt.Errorf("--store is given %d times; a node has at most %d stores", len(n.Stores), MaxStores)
	case n.SingleNode && len(n.Stores) > 1:
		return fmt.Errorf("--store is given %d times, but a node that is a cluster by itself keeps all in one store: give one, or found a cluster (start, init)", len(n.Stores))
	}
	return nil
}

// MaxStores bounds the stores of a node.
const MaxStores = 64
