package stringfuncs

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"hash"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxRandomBytes bounds gen_random_bytes, as in PostgreSQL.
const maxRandomBytes = 1024

// digests are the hash functions of pgcrypto, by their names in lower case.
var digests = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New,
	"sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
	"sha3-224": func() hash.Hash { return sha3.New224() }, "sha3-256": func() hash.Hash { return sha3.New256() },
	"sha3-384": func() hash.Hash { return sha3.New384() }, "sha3-512": func() hash.Hash { return sha3.New512() },
}

// cryptoFunctions are the hash functions of PostgreSQL's extension pgcrypto, and its source of random bytes.
func cryptoFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("digest(bytea,text) bytea", digest), call.Fn("digest(text,text) bytea", digest),
		call.Fn("hmac(bytea,bytea,text) bytea", keyedDigest), call.Fn("hmac(text,text,text) bytea", keyedDigest),
		call.Fn("gen_random_bytes(int4) bytea", randomBytes).Volatile(),
	}
}

func digestNamed(name string) (func() hash.Hash, error) {
	h := digests[strings.ToLower(name)]
	if h == nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "Cannot use \"%s\": No such hash algorithm", name)
	}
	return h, nil
}

func digest(c *call.Context, a []types.Datum) (types.Datum, error) {
	h, err := digestNamed(a[1].Str())
	if err != nil {
		return types.Null, err
	}
	sum, err := hashOf(c, h(), a[0].Str())
	return types.NewBytes(string(sum)), err
}

func keyedDigest(c *call.Context, a []types.Datum) (types.Datum, error) {
	h, err := digestNamed(a[2].Str())
	if err != nil {
		return types.Null, err
	}
	sum, err := hashOf(c, hmac.New(h, []byte(a[1].Str())), a[0].Str())
	return types.NewBytes(string(sum)), err
}

func randomBytes(_ *call.Context, a []types.Datum) (types.Datum, error) {
	n := a[0].Int()
	if n < 1 || n > maxRandomBytes {
		return types.Null, pgerr.New(pgerr.ExternalRoutineInvocationException, "Length not in range")
	}
	b := make([]byte, n)
	_, _ = rand.Read(b) // ends the process rather than fail
	return types.NewBytes(string(b)), nil
}
