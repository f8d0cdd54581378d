package builtin

import "slices"

// comparefuncsOverloads returns the functions and operators of the package, those of a file after another's.
func comparefuncsOverloads() []*Overload {
	return slices.Concat(
		comparisonOperators(), imageOperators(), nullCountFunctions(),
		enumFunctions(), hashFunctions(),
	)
}
