package builtin

import "slices"

// catalogfuncsOverloads returns the functions and operators of the package, those of a file after another's.
func catalogfuncsOverloads() []*Overload {
	return slices.Concat(
		catalogFunctions(), limitFunctions(), partitionFunctions(),
		privilegeFunctions(), aclOperators(), domainFunctions(),
		systemOperators(), systemFunctions(), viewFunctions(),
		statisticsFunctions(),
	)
}
