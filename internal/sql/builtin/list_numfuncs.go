package builtin

import "slices"

// numfuncsOverloads returns the functions and operators of the package, those of a file after another's.
func numfuncsOverloads() []*Overload {
	return slices.Concat(
		integerOperators(), bitOperators(), floatOperators(),
		numericOperators(), mathFunctions(), numericFunctions(),
		seriesFunctions(), moneyOperators(), moneyFunctions(),
	)
}
