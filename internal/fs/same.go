package fs

import "syscall"

// Same reports whether what was found at a path now is what was found there before. A file
// system that gives its files no numbers, as that in memory, tells them by their kind alone.
func Same(before, now FileInfo) bool {
	a, ok := before.Sys().(*syscall.Stat_t)
	b, also := now.Sys().(*syscall.Stat_t)
	if !ok || !also {
		return before.IsDir() == now.IsDir()
	}
	return a.Dev == b.Dev && a.Ino == b.Ino
}
