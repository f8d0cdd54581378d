package builtin

import "slices"

// rangefuncsOverloads returns the functions and operators of the package, those of a file after another's.
func rangefuncsOverloads() []*Overload {
	return slices.Concat(
		rangeOperators(), rangeFunctions(), rangeSupportFunctions(),
	)
}
