package builtin

import "slices"

// netfuncsOverloads returns the functions and operators of the package, those of a file after another's.
func netfuncsOverloads() []*Overload {
	return slices.Concat(
		networkOperators(), networkFunctions(),
	)
}
