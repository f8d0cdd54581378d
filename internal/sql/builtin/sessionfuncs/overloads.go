package sessionfuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// Overloads returns what the package declares.
func Overloads() []*call.Overload {
	return slices.Concat(
		sessionFunctions(), settingFunctions(), absentFunctions(),
		sequenceFunctions(), uniqueIDFunctions(), advisoryFunctions(), notificationFunctions(),
		transactionFunctions(), followerFunctions(), recoveryFunctions(),
	)
}
