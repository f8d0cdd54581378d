// Package checksum computes checksums of ranges, by which replicas are compared.
//
// Above it, replica begins a check when it applies the command that requests one, and consistency compares
// the results. Below it is the store's engine.
//
// Invariant: all replicas compute a checksum over the state after the same entry, since Compute opens its
// iterators before it returns; later entries do not change it. (TestChecksums in store)
//
// Concurrency: Checks may be used by many goroutines. Begin and Compute belong to the goroutine that
// applies entries.
package checksum
