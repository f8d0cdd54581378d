package builtin

func formattingFunctions() []*Overload { return nil }
