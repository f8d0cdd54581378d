package config

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// PlainKey stands for no encryption in place of a key file.
	PlainKey = "plain"
	// EveryStore stands for all stores of a node in place of a directory.
	EveryStore = "*"
	// minRotation is the least time for which a data key is used: each takes a write of the file of keys.
	minRotation = time.Second
)

// Encryption says how the files of a store are encrypted.
type Encryption struct {
	// Path is the store's directory, or EveryStore.
	Path string
	// Key is the file of the store key, OldKey that of the one of before, or PlainKey.
	Key, OldKey string
	// Rotation is how long a data key is given to new files; 0 means the default.
	Rotation time.Duration
}

// ParseEncryption reads one --encryption: path=DIR,key=FILE with old-key=FILE and rotation-period=DURATION after
// commas.
func ParseEncryption(flag string) (e Encryption, err error) {
	for _, part := range strings.Split(flag, ",") {
		k, v, _ := strings.Cut(part, "=")
		switch {
		case v == "":
			err = fmt.Errorf("%q has no value", part)
		case k == "path" && e.Path == "":
			e.Path = v
		case k == "key" && e.Key == "":
			e.Key = v
		case k == "old-key" && e.OldKey == "":
			e.OldKey = v
		case k == "rotation-period" && e.Rotation == 0:
			if e.Rotation, err = time.ParseDuration(v); err == nil && e.Rotation < minRotation {
				err = fmt.Errorf("rotation-period=%s is less than %s", v, minRotation)
			}
		default:
			err = fmt.Errorf("%q is unknown, or there twice", k)
		}
		if err != nil {
			return e, badEncryption(flag, err)
		}
	}
	switch {
	case e.Path == "" || e.Key == "":
		return e, badEncryption(flag, errors.New("path and key are needed"))
	case e.OldKey == "":
		e.OldKey = PlainKey
	}
	if e.Key == PlainKey && e.OldKey == PlainKey {
		return e, badEncryption(flag, errors.New("key=plain ends the encryption of a store, which needs its key as old-key=FILE"))
	}
	return e, nil
}

func badEncryption(flag string, err error) error {
	return fmt.Errorf("--encryption=%s: %w; give path=DIR,key=FILE (path=* is every store; key=plain ends encryption), and if need be "+
		"old-key=FILE and rotation-period=168h, with commas in between", flag, err)
}

// EncryptionOf returns how a store is encrypted; nil: not at all.
func (n *Node) EncryptionOf(dir string) *Encryption {
	for i := range n.Encryption {
		if e := &n.Encryption[i]; e.Path == dir || e.Path == EveryStore {
			return e
		}
	}
	return nil
}

// validEncryption reports what is wrong with it.
func (n *Node) validEncryption() error {
	seen := map[string]bool{}
	for _, e := range n.Encryption {
		switch {
		case seen[e.Path], len(seen) > 0 && (seen[EveryStore] || e.Path == EveryStore):
			return fmt.Errorf("--encryption is given twice for one store")
		case e.Path != EveryStore && !n.has(e.Path):
			return fmt.Errorf("--encryption=path=%s names no --store of this node", e.Path)
		}
		seen[e.Path] = true
	}
	return nil
}

func (n *Node) has(dir string) bool {
	for _, s := range n.Stores {
		if s.Path == dir {
			return true
		}
	}
	return false
}
