//go:build cgo && linux

package cli

// #include <malloc.h>
// #include <unistd.h>
//
// // Blocks of the cache are allocated by one thread and freed by another: with an
// // arena for each thread, every arena keeps memory that the others lack. The
// // allocator must hear of it before it makes the second, so before main.
// __attribute__((constructor)) static void limit_arenas(void) {
// #ifdef __GLIBC__
// 	long n = sysconf(_SC_NPROCESSORS_ONLN) / 8;
// 	mallopt(M_ARENA_MAX, n < 1 ? 1 : (int)n);
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
