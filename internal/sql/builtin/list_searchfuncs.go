package builtin

import "slices"

// searchfuncsOverloads returns the functions and operators of the package, those of a file after another's.
func searchfuncsOverloads() []*Overload {
	return slices.Concat(
		textSearchOperators(), textSearchFunctions(), textSearchDebugFunctions(),
		trigramFunctions(),
	)
}
