package zone

import (
	"strconv"
	"strings"
)

// String returns the constraint as SQL spells it.
func (c Constraint) String() string {
	if c.Prohibited {
		return "-" + c.Key + "=" + c.Value
	}
	return "+" + c.Key + "=" + c.Value
}

func join(list []Constraint, sep string) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = c.String()
	}
	return strings.Join(parts, sep)
}

// FormatConstraints prints constraints so that ParseConstraints reads them.
func FormatConstraints(list []Conjunction) string {
	if len(list) == 0 {
		return "[]"
	}
	if len(list) == 1 && list[0].NumReplicas == 0 {
		return "[" + join(list[0].Constraints, ", ") + "]"
	}
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = `"` + join(c.Constraints, ",") + `": ` + strconv.Itoa(c.NumReplicas)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// FormatPreferences prints lease preferences so that ParsePreferences reads them.
func FormatPreferences(list [][]Constraint) string {
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = "[" + join(p, ", ") + "]"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
