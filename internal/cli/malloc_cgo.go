//go:build cgo && linux

package cli

// #include <malloc.h>
// #include <unistd.h>
//
// // Blocks of the cache are allocated by one thread and freed by another: with an
// // arena for each thread, every arena keeps memory that the others lack. The
// // allocator must hear of it before it makes the second, so before main.
// // A block as large as a large value gets memory of its own, which the system has back
// // with free: the allocator would begin to keep such blocks when it sees the first freed.
// __attribute__((constructor)) static void limit_arenas(void) {
// #ifdef __GLIBC__
// 	long n = sysconf(_SC_NPROCESSORS_ONLN) / 8;
// 	mallopt(M_ARENA_MAX, n < 1 ? 1 : (int)n);
// 	mallopt(M_MMAP_THRESHOLD, 1 << 20);
// #endif
// }
//
// static void trim(void) {
// #ifdef __GLIBC__
// 	malloc_trim(0);
// #endif
// }
import "C"

// trimMalloc gives free memory of the C allocator back to the system.
func trimMalloc() { C.trim() }
