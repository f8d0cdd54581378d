package datefuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// Overloads returns what the package declares.
func Overloads() []*call.Overload {
	return slices.Concat(
		datetimeOperators(), clockFunctions(), datetimeFunctions(),
		zoneListFunctions(), extractFunctions(), timeSeriesFunctions(), comparableFunctions(),
	)
}
