package builtin

import "slices"

// arrayfuncsOverloads returns the functions and operators of the package, those of a file after another's.
func arrayfuncsOverloads() []*Overload {
	return slices.Concat(
		arrayOperators(), arrayFunctions(), elementAssignments(),
		fieldAssignments(),
	)
}
