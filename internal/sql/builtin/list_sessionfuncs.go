package builtin

import "slices"

// sessionfuncsOverloads returns the functions and operators of the package, those of a file after another's.
func sessionfuncsOverloads() []*Overload {
	return slices.Concat(
		sessionFunctions(), settingFunctions(), absentFunctions(),
		sequenceFunctions(), uniqueIDFunctions(), advisoryFunctions(),
		transactionFunctions(), followerFunctions(), recoveryFunctions(),
	)
}
