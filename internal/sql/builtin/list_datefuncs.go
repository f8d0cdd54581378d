package builtin

import "slices"

// datefuncsOverloads returns the functions and operators of the package, those of a file after another's.
func datefuncsOverloads() []*Overload {
	return slices.Concat(
		datetimeOperators(), clockFunctions(), datetimeFunctions(),
		zoneListFunctions(), extractFunctions(), timeSeriesFunctions(),
	)
}
