//go:build !cgo || !linux

package cli

// trimMalloc does nothing: without cgo the cache lies in the Go heap.
func trimMalloc() {}
