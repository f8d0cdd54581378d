package stringfuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// Overloads returns what the package declares.
func Overloads() []*call.Overload {
	return slices.Concat(
		stringOperators(), patternOperators(), stringFunctions(),
		asciiFunctions(), byteFunctions(), encodingFunctions(),
		quoteFunctions(), keywordFunctions(), regexpFunctions(),
		collationFunctions(), uuidFunctions(), cryptoFunctions(), bitStringOperators(),
		bitStringFunctions(),
	)
}
