package catalogfuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// Overloads returns what the package declares.
func Overloads() []*call.Overload {
	return slices.Concat(
		catalogFunctions(), descriptionFunctions(), encodingFunctions(),
		definitionFunctions(), objectFunctions(), eventTriggerFunctions(), indexPropertyFunctions(), sizeFunctions(), aclFunctions(),
		limitFunctions(), partitionFunctions(),
		privilegeFunctions(), aclOperators(), domainFunctions(),
		systemOperators(), systemFunctions(), viewFunctions(),
		statisticsFunctions(), counterFunctions(),
	)
}
