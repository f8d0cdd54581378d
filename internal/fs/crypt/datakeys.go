package crypt

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/must"
)

const (
	// KeysFile names the file in a store's directory that has its data keys, encrypted by the store key, as
	// lines of text, the last one a checksum.
	KeysFile = "ENCRYPTION_KEYS"

	keysMagic   = "lichen-encryption-keys"
	keysVersion = 2
	// firstKeysVersion has no generation of the registry.
	firstKeysVersion = 1
	maxKeysFile      = 4 << 20
	// maxDataKeys bounds the data keys that the files of a store use; old ones go when no file has them.
	maxDataKeys = 10_000
	plainName   = "plain"
	// What the line about the registry says of its generation: that it is there, or about to be.
	registryReplaced  = "written"
	registryReplacing = "being-written"
	tempSuffix        = ".tmp"
)

// Plain is the number of no data key: what is written under it is not encrypted.
const Plain = 0

// dataKey is a key that files are encrypted with.
type dataKey struct {
	num     uint32
	created time.Time
	key     []byte
	block   cipher.Block
	sealed  string // as the file has it
}

// dataKeys are the data keys of a store, and which one new files get.
type dataKeys struct {
	store  [keyIDBytes]byte // the id of the store key
	id     [16]byte         // what the registry must have as well
	next   uint32           // no number is given twice
	active uint32           // Plain or one of keys
	keys   map[uint32]*dataKey
	// registry is the generation that the registry has; while it is being replaced, by that generation, it may still be the one
	// before. 0: it has none, or is of the first version.
	registry  uint64
	replacing bool
}

// knows reports whether a registry of a generation is the newest one of the store.
func (d *dataKeys) knows(generation uint64) bool {
	return generation == d.registry || d.replacing && generation+1 == d.registry
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// add makes a new data key, as long as the store key, the active one.
func (d *dataKeys) add(k *StoreKey, now time.Time) error {
	if len(d.keys) >= maxDataKeys {
		return fmt.Errorf("the store has %d data keys, as many as it may: give a longer rotation-period", len(d.keys))
	}
	n := &dataKey{num: d.next, created: now.UTC().Truncate(time.Second), key: make([]byte, len(k.key))}
	_, err := rand.Read(n.key)
	must.NoError(err, "crypto/rand")
	if n.block, err = aes.NewCipher(n.key); err != nil {
		return err
	}
	n.seal(d, k)
	d.keys[n.num] = n
	d.active = n.num
	d.next++
	return nil
}

// bound is what the sealed form of a key is bound to, so that no line is taken for another.
func (n *dataKey) bound(d *dataKeys) []byte {
	return fmt.Appendf(nil, "%x %d %d", d.id, n.num, n.created.Unix())
}

func (n *dataKey) seal(d *dataKeys, k *StoreKey) {
	nonce := make([]byte, k.aead.NonceSize())
	_, err := rand.Read(nonce)
	must.NoError(err, "crypto/rand")
	n.sealed = hex.EncodeToString(k.aead.Seal(nonce, nonce, n.key, n.bound(d)))
}

func (n *dataKey) open(d *dataKeys, k *StoreKey) error {
	b, err := hex.DecodeString(n.sealed)
	size := k.aead.NonceSize()
	if err == nil && len(b) < size {
		err = errors.New("it is too short")
	}
	if err == nil {
		n.key, err = k.aead.Open(nil, b[:size], b[size:], n.bound(d))
	}
	if err != nil {
		return fmt.Errorf("data key %d can't be decrypted with store key %s: the key file has that id, but another key (%w)", n.num, k.Name(), err)
	}
	n.block, err = aes.NewCipher(n.key)
	return err
}

// unlock decrypts the data keys.
func (d *dataKeys) unlock(k *StoreKey) error {
	for _, n := range d.keys {
		if err := n.open(d, k); err != nil {
			return err
		}
	}
	return nil
}

// relock encrypts the data keys, which are unlocked, with another store key.
func (d *dataKeys) relock(k *StoreKey) {
	d.store = k.ID
	for _, n := range d.keys {
		n.seal(d, k)
	}
}

func (d *dataKeys) format() []byte {
	var b bytes.Buffer
	state := registryReplaced
	if d.replacing {
		state = registryReplacing
	}
	fmt.Fprintf(&b, "%s\nformat %d\nid %x\nstore-key %x\nnext %d\nactive %d\nregistry %d %s\n", keysMagic, keysVersion, d.id, d.store, d.next, d.active, d.registry, state)
	for num := uint32(1); num < d.next; num++ {
		if n := d.keys[num]; n != nil {
			fmt.Fprintf(&b, "key %d %d %s\n", n.num, n.created.Unix(), n.sealed)
		}
	}
	fmt.Fprintf(&b, "crc32c %08x\n", crc32.Checksum(b.Bytes(), castagnoli))
	return b.Bytes()
}

// parseKeys reads the file of data keys, which stay locked. The version is judged before all else.
func parseKeys(data []byte) (*dataKeys, error) {
	lines := strings.Split(string(data), "\n")
	if len(lines) < 2 || lines[0] != keysMagic {
		return nil, fmt.Errorf("%w: it does not begin as such a file does", ErrDamaged)
	}
	if v, ok := strings.CutPrefix(lines[1], "format "); !ok {
		return nil, fmt.Errorf("%w: no format version", ErrDamaged)
	} else if v != strconv.Itoa(keysVersion) && v != strconv.Itoa(firstKeysVersion) {
		return nil, fmt.Errorf("%w: the file has version %s, this program reads versions %d to %d: run the release that wrote it", ErrVersion, v, firstKeysVersion, keysVersion)
	}
	body, sum, ok := bytes.Cut(data, []byte("crc32c "))
	if !ok || fmt.Sprintf("%08x\n", crc32.Checksum(body, castagnoli)) != string(sum) {
		return nil, fmt.Errorf("%w: its checksum does not match", ErrDamaged)
	}
	d := &dataKeys{keys: map[uint32]*dataKey{}}
	for _, line := range lines[2:] {
		if err := d.parseLine(line); err != nil {
			return nil, fmt.Errorf("%w: line %q: %w", ErrDamaged, line, err)
		}
	}
	if d.active != Plain && d.keys[d.active] == nil {
		return nil, fmt.Errorf("%w: the active data key %d is not there", ErrDamaged, d.active)
	}
	return d, nil
}

func (d *dataKeys) parseLine(line string) error {
	name, value, _ := strings.Cut(line, " ")
	number := func(s string) (uint32, error) {
		n, err := strconv.ParseUint(s, 10, 32)
		return uint32(n), err
	}
	var err error
	switch name {
	case "id":
		err = parseHex(d.id[:], value)
	case "store-key":
		err = parseHex(d.store[:], value)
	case "next":
		d.next, err = number(value)
	case "active":
		d.active, err = number(value)
	case "registry":
		generation, state, _ := strings.Cut(value, " ")
		if d.replacing = state == registryReplacing; !d.replacing && state != registryReplaced {
			return errors.New("no such state of the registry is known")
		}
		d.registry, err = strconv.ParseUint(generation, 10, 64)
	case "key":
		f := strings.Fields(value)
		if len(f) != 3 || len(d.keys) >= maxDataKeys {
			return errors.New("malformed, or one too many")
		}
		num, err1 := number(f[0])
		at, err2 := strconv.ParseInt(f[1], 10, 64)
		if num == Plain || num >= d.next || d.keys[num] != nil {
			return errors.New("no such number is due")
		}
		d.keys[num] = &dataKey{num: num, created: time.Unix(at, 0).UTC(), sealed: f[2]}
		return errors.Join(err1, err2)
	}
	return err
}

func parseHex(dst []byte, s string) error {
	b, err := hex.DecodeString(s)
	if err == nil && len(b) != len(dst) {
		err = errors.New("wrong length")
	}
	copy(dst, b)
	return err
}

// loadKeys reads the file of data keys of a store; nil if there is none.
func loadKeys(f fs.FS, dir string) (*dataKeys, error) {
	path := f.PathJoin(dir, KeysFile)
	b, err := readFile(f, path, maxKeysFile)
	if notExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("encryption of %s: %w", dir, err)
	}
	d, err := parseKeys(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

func (d *dataKeys) save(f fs.FS, dir string) error {
	if err := replaceFile(f, f.PathJoin(dir, KeysFile), d.format()); err != nil {
		return fmt.Errorf("write of the data keys of %s: %w", dir, err)
	}
	return nil
}
