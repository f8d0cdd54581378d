package crypt

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/must"
)

// keyIDBytes is the length of the id at the start of a key file, which may be shown; the key follows it.
const keyIDBytes = 32

// StoreKey is a key of the operator's, which protects the data keys of a store.
type StoreKey struct {
	ID   [keyIDBytes]byte
	key  []byte
	aead cipher.AEAD
}

// Name is how messages call the key: the start of its id in hexadecimal digits.
func (k *StoreKey) Name() string { return keyName(k.ID) }

func keyName(id [keyIDBytes]byte) string { return hex.EncodeToString(id[:8]) }

// Bits is the length of the key.
func (k *StoreKey) Bits() int { return 8 * len(k.key) }

// GenerateKey returns the content of a new key file for AES with so many bits.
func GenerateKey(bits int) ([]byte, error) {
	if bits != 128 && bits != 192 && bits != 256 {
		return nil, fmt.Errorf("a key has 128, 192 or 256 bits, not %d", bits)
	}
	b := make([]byte, keyIDBytes+bits/8)
	_, err := rand.Read(b)
	must.NoError(err, "crypto/rand")
	return b, nil
}

// LoadKey reads a key file.
func LoadKey(f fs.FS, path string) (*StoreKey, error) {
	b, err := readFile(f, path, keyIDBytes+32+1)
	if err != nil {
		return nil, fmt.Errorf("encryption key: %w (lichen gen encryption-key makes one)", err)
	}
	k, err := parseKey(b)
	if err != nil {
		return nil, fmt.Errorf("encryption key %s: %w", path, err)
	}
	return k, nil
}

func parseKey(b []byte) (*StoreKey, error) {
	if n := len(b) - keyIDBytes; n != 16 && n != 24 && n != 32 {
		return nil, fmt.Errorf("a key file has 48, 56 or 64 bytes: an id of %d and a key for AES; this one is not of that length. "+
			"lichen gen encryption-key makes one", keyIDBytes)
	}
	k := &StoreKey{ID: [keyIDBytes]byte(b), key: b[keyIDBytes:]}
	block, err := aes.NewCipher(k.key)
	if err != nil {
		return nil, err
	}
	k.aead, err = cipher.NewGCM(block)
	return k, err
}

// readFile reads a file of at most limit bytes.
func readFile(f fs.FS, path string, limit int64) ([]byte, error) {
	file, err := f.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err = errors.Join(err, file.Close()); err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return b, err
}

// replaceFile gives a file a new content in one step that survives a crash.
func replaceFile(f fs.FS, path string, content []byte) error {
	temp := path + tempSuffix
	file, err := f.Create(temp, fs.WriteUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.Rename(temp, path)
	}
	if err != nil {
		_ = f.Remove(temp)
		return err
	}
	return fs.SyncDir(f, f.PathDir(path))
}
