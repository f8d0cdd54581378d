package builtin

import "slices"

// stringfuncsOverloads returns the functions and operators of the package, those of a file after another's.
func stringfuncsOverloads() []*Overload {
	return slices.Concat(
		stringOperators(), patternOperators(), stringFunctions(),
		asciiFunctions(), byteFunctions(), encodingFunctions(),
		quoteFunctions(), keywordFunctions(), regexpFunctions(),
		collationFunctions(), uuidFunctions(), bitStringOperators(),
		bitStringFunctions(),
	)
}
