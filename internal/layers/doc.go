// Package layers holds the import order of the system, and the style rules that
// matter, as tests. ARCHITECTURE.md explains the order.
package layers
