package fs

import "errors"

// ErrRewrites says that a file has been written anew too often: its writer goes on in another file.
var ErrRewrites = errors.New("the file has been written anew too often")

// A Rewriter is a file in which no place may be written twice, as one that is encrypted: what the same
// key stream covers twice is no longer secret.
type Rewriter interface {
	// Rewrite gives up what the file holds from an offset on, which its writer no longer needs, and lets
	// this part be written again, from that offset on. Until then it reads as arbitrary bytes, and also after an
	// error.
	Rewrite(from int64) error
}

// Rewrite tells f that it is going to be written from an offset on, one write behind the other, and that
// what is there now is worthless. Whoever opens a file that exists and writes into it calls it before the first
// write, and again after a write that failed. It does nothing for files that may be written as one likes.
func Rewrite(f File, from int64) error {
	if r, ok := f.(Rewriter); ok {
		return r.Rewrite(from)
	}
	return nil
}

// An Encrypter is a file system that encrypts what some directories hold.
type Encrypter interface {
	// Encrypts reports whether it does so in a directory, and those below.
	Encrypts(dir string) bool
}

// Encrypts reports whether f, or a file system that it wraps, encrypts a directory.
func Encrypts(f FS, dir string) bool {
	for ; f != nil; f = f.Unwrap() {
		if e, ok := f.(Encrypter); ok {
			return e.Encrypts(dir)
		}
	}
	return false
}
