package builtin

import "slices"

// formatfuncsOverloads returns the functions and operators of the package, those of a file after another's.
func formatfuncsOverloads() []*Overload {
	return slices.Concat(
		formattingFunctions(),
	)
}
