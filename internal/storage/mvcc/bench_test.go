package mvcc

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/storage"
)

const benchKeys = 100_000

func benchKey(dst []byte, i uint64) []byte {
	dst = keys.AppendIndexPrefix(dst, 1, 100, 1)
	return binary.BigEndian.AppendUint64(dst, i)
}

func benchEngine(b *testing.B, versions int, flush bool) *storage.Engine {
	b.Helper()
	eng, err := storage.Open(storage.Options{FS: vfs.NewMem(), Dir: "store"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = eng.Close() })
	value := make([]byte, 100)
	for v := range versions {
		batch := eng.NewBatch()
		for i := range uint64(benchKeys) {
			for j := range value {
				value[j] = byte(rand.Uint32())
			}
			ts := hlc.Timestamp{WallTime: int64(1000 + v)}
			if err := PutVersion(batch, benchKey(nil, i), ts, value); err != nil {
				b.Fatal(err)
			}
		}
		if err := batch.Commit(); err != nil {
			b.Fatal(err)
		}
		batch.Close()
	}
	if flush {
		if err := eng.Flush(); err != nil {
			b.Fatal(err)
		}
		if err := eng.CompactAll(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	return eng
}

func BenchmarkGet(b *testing.B) {
	for _, versions := range []int{1, 3} {
		for _, flush := range []bool{false, true} {
			eng := benchEngine(b, versions, flush)
			name := fmt.Sprintf("versions=%d/flushed=%t", versions, flush)
			b.Run(name+"/quiet", func(b *testing.B) { benchGet(b, eng, false) })
			b.Run(name+"/writes", func(b *testing.B) { benchGet(b, eng, true) })
			b.Run(name+"/absent", func(b *testing.B) {
				b.ReportAllocs()
				var key, buf []byte
				ts := hlc.Timestamp{WallTime: 2000}
				for range b.N {
					key = append(benchKey(key[:0], uint64(rand.IntN(benchKeys))), 'x')
					_, found, err := Get(eng, key, ts, buf[:0])
					if err != nil || found {
						b.Fatal(found, err)
					}
				}
			})
		}
	}
}

// benchGet reads random keys; with writes, every read finds the pool stale.
func benchGet(b *testing.B, eng *storage.Engine, writes bool) {
	b.ReportAllocs()
	var key, buf []byte
	ts := hlc.Timestamp{WallTime: 2000}
	empty := eng.NewBatch()
	defer empty.Close()
	for range b.N {
		if writes {
			if err := empty.Commit(); err != nil {
				b.Fatal(err)
			}
			empty.Reset()
		}
		key = benchKey(key[:0], uint64(rand.IntN(benchKeys)))
		v, found, err := Get(eng, key, ts, buf[:0])
		if err != nil || !found {
			b.Fatal(found, err)
		}
		buf = v.Data
	}
}

func BenchmarkScan100(b *testing.B) {
	for _, versions := range []int{1, 3} {
		eng := benchEngine(b, versions, true)
		for _, reverse := range []bool{false, true} {
			b.Run(fmt.Sprintf("versions=%d/reverse=%t", versions, reverse), func(b *testing.B) {
				b.ReportAllocs()
				var res ScanResult
				var key []byte
				ctx := context.Background()
				ts := hlc.Timestamp{WallTime: 2000}
				for range b.N {
					i := uint64(rand.IntN(benchKeys - 200))
					key = benchKey(key[:0], i)
					end := benchKey(nil, i+150)
					res.Reset()
					err := scanOnce(ctx, eng, keys.Span{Start: key, End: end}, ts,
						ScanOptions{MaxKeys: 100, Reverse: reverse}, &res)
					if err != nil || res.Len() != 100 {
						b.Fatal(res.Len(), err)
					}
				}
			})
		}
	}
}

func BenchmarkPut(b *testing.B) {
	eng := benchEngine(b, 1, false)
	b.ReportAllocs()
	value := make([]byte, 100)
	var key []byte
	for i := range b.N {
		batch := eng.NewBatch()
		key = benchKey(key[:0], uint64(rand.IntN(benchKeys)))
		if err := PutVersion(batch, key, hlc.Timestamp{WallTime: int64(2000 + i)}, value); err != nil {
			b.Fatal(err)
		}
		if err := batch.Commit(); err != nil {
			b.Fatal(err)
		}
		batch.Close()
	}
}
