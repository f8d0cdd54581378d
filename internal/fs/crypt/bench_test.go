package crypt_test

import (
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
)

// BenchmarkEncryption writes as the log does and reads as the engine does, on files in memory, so that what
// encryption adds is most of the time. The difference to "plain" is its cost.
func BenchmarkEncryption(b *testing.B) {
	mem := fs.NewMem()
	s, err := crypt.Open(mem, options())
	if err != nil {
		b.Fatal(err)
	}
	c := crypt.New(mem, s)
	defer c.Close()
	for name, f := range map[string]fs.FS{"plain": mem, "encrypted": c} {
		for _, size := range []int{256, 4 << 10, 32 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("append/%s/%d", name, size), func(b *testing.B) { benchAppend(b, f, size) })
			b.Run(fmt.Sprintf("read/%s/%d", name, size), func(b *testing.B) { benchRead(b, f, size) })
		}
	}
}

// benchFile is how large a file gets: then another one takes its place.
const benchFile = 16 << 20

func benchAppend(b *testing.B, f fs.FS, size int) {
	p := make([]byte, size)
	var file fs.File
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%(benchFile/size) == 0 {
			if file != nil {
				_ = file.Close()
			}
			var err error
			if file, err = f.OpenReadWrite("store/bench", fs.WriteUnspecified); err != nil {
				b.Fatal(err)
			}
			if err := fs.Rewrite(file, 0); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := file.WriteAt(p, int64(i%(benchFile/size)*size)); err != nil {
			b.Fatal(err)
		}
	}
	_ = file.Close()
}

func benchRead(b *testing.B, f fs.FS, size int) {
	name := "store/read"
	file, err := f.Create(name, fs.WriteUnspecified)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := file.Write(make([]byte, benchFile)); err != nil {
		b.Fatal(err)
	}
	_ = file.Close()
	if file, err = f.Open(name); err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	p := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := file.ReadAt(p, int64(i%(benchFile/size)*size)); err != nil {
			b.Fatal(err)
		}
	}
}
