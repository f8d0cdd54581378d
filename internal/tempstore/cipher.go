package tempstore

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/must"
)

// keyBytes is the length of the key of temporary files.
const keyBytes = 32

// blockCipher encrypts the blocks of the temporary files of a process, with a key that is nowhere but in its
// memory. Each write of a block has a number of its own, also where it takes the place of another: the counters
// of AES-CTR are that number and the number of 16 bytes within the block.
type blockCipher struct {
	aes  cipher.Block
	last atomic.Uint64
}

func newBlockCipher() *blockCipher {
	key := make([]byte, keyBytes)
	_, err := rand.Read(key)
	must.NoError(err, "crypto/rand")
	b, err := aes.NewCipher(key)
	must.NoError(err, "aes")
	return &blockCipher{aes: b}
}

// encrypt encrypts p in place, and returns the number by which decrypt does the opposite.
func (c *blockCipher) encrypt(p []byte) uint64 {
	n := c.last.Add(1)
	c.apply(p, n)
	return n
}

func (c *blockCipher) decrypt(p []byte, n uint64) { c.apply(p, n) }

func (c *blockCipher) apply(p []byte, n uint64) {
	var counter [aes.BlockSize]byte
	binary.BigEndian.PutUint64(counter[:8], n)
	cipher.NewCTR(c.aes, counter[:]).XORKeyStream(p, p)
}
