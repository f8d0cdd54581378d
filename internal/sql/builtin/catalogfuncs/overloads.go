package catalogfuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// Overloads returns what the package declares.
func Overloads() []*call.Overload {
	return slices.Concat(
		catalogFunctions(), limitFunctions(), partitionFunctions(),
		privilegeFunctions(), aclOperators(), domainFunctions(),
		systemOperators(), systemFunctions(), viewFunctions(),
		statisticsFunctions(),
	)
}
