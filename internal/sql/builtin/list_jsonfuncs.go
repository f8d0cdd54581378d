package builtin

import "slices"

// jsonfuncsOverloads returns the functions and operators of the package, those of a file after another's.
func jsonfuncsOverloads() []*Overload {
	return slices.Concat(
		jsonOperators(), jsonFunctions(), jsonPathOperators(),
		jsonPartFunctions(), jsonAssignments(), jsonpathFunctions(),
	)
}
