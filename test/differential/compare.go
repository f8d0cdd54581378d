package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// statement is a generated statement.
type statement struct {
	sql     string
	ordered bool     // its rows have a total order
	key     string   // what it tries: differences with the same key are told once
	changes bool     // a difference makes the two databases diverge
	before  []string // what ran before it in the same block
}

// difference is a statement that two databases answer differently.
type difference struct {
	statement
	seed         uint64
	what         string
	theirs, ours answer
}

// compare returns how ours differs from theirs, "" if it does not.
func compare(s statement, theirs, ours answer) string {
	switch {
	case ours.code == "lost":
		return "connection lost"
	case strings.HasPrefix(ours.code, "XX"):
		return "internal error"
	case theirs.code != ours.code && theirs.code == "":
		return "error " + ours.code
	case theirs.code != ours.code && ours.code == "":
		return "no error " + theirs.code
	case theirs.code != ours.code:
		return "SQLSTATE " + ours.code + " for " + theirs.code
	case inRoutine.MatchString(s.key) && !slices.Equal(theirs.notices, ours.notices):
		return "notices"
	case theirs.code != "":
		return compareErrors(s, theirs, ours)
	case !sameTypes(theirs.columns, ours.columns):
		return "types"
	case !sameRows(theirs.rows, ours.rows, s.ordered):
		return "rows"
	case !slices.EqualFunc(theirs.columns, ours.columns, func(a, b column) bool { return a.typmod == b.typmod }):
		return "type modifiers"
	case !slices.EqualFunc(theirs.columns, ours.columns, func(a, b column) bool { return a.name == b.name }):
		return "column names"
	case theirs.tag != ours.tag:
		return "command tag"
	}
	return ""
}

// inRoutine matches the keys of statements that run routines: what these tell counts.
var inRoutine = regexp.MustCompile(`^(routine|trigger|policy)`)

// compareErrors compares errors of the same code: their texts where the statement has made them, and in which routines they came up.
func compareErrors(s statement, theirs, ours answer) string {
	switch {
	case !inRoutine.MatchString(s.key):
	case strings.HasPrefix(theirs.code, "P0") && theirs.message != ours.message:
		return "message"
	case theirs.context != ours.context:
		return "context"
	}
	return ""
}

// firstUserOid is where the oids of objects begin that users create, which
// differ between databases.
const firstUserOid = 16384

func sameTypes(a, b []column) bool {
	return slices.EqualFunc(a, b, func(x, y column) bool {
		return x.oid == y.oid || x.oid >= firstUserOid && y.oid >= firstUserOid
	})
}

// sameRows compares rows as multisets and, if they are ordered, their order too,
// in which numbers that are equal and look different may change places.
func sameRows(a, b []string, ordered bool) bool {
	if !slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) {
		return false
	}
	return !ordered || slices.EqualFunc(a, b, func(x, y string) bool { return x == y || plainNumbers(x) == plainNumbers(y) })
}

// trailingZeros matches what of a number's text has no value.
var trailingZeros = regexp.MustCompile(`"-0"|(\.\d*?)0+"`)

// plainNumbers removes differences between equal numbers from a row's text.
func plainNumbers(row string) string {
	return trailingZeros.ReplaceAllStringFunc(row, func(s string) string {
		if s == `"-0"` {
			return `"0"`
		}
		return strings.TrimSuffix(strings.TrimRight(strings.TrimSuffix(s, `"`), "0"), ".") + `"`
	})
}

// String tells an answer in a few lines.
func (a answer) String() string {
	if a.code != "" {
		return a.code + ": " + a.message + inContext(a)
	}
	var types []string
	for _, c := range a.columns {
		types = append(types, fmt.Sprintf("%s:%d/%d", c.name, c.oid, c.typmod))
	}
	const most = 4
	rows := a.rows
	more := ""
	if len(rows) > most {
		rows, more = rows[:most], fmt.Sprintf(" ... %d rows", len(a.rows))
	}
	return fmt.Sprintf("%s (%s) %s%s%s", a.tag, strings.Join(types, ", "), strings.Join(rows, " // "), more, inContext(a))
}

// inContext tells what an answer says beside its rows or its error.
func inContext(a answer) string {
	text := ""
	if a.context != "" {
		text += fmt.Sprintf(" (context %q)", a.context)
	}
	if len(a.notices) > 0 {
		text += fmt.Sprintf(" (notices %q)", a.notices)
	}
	return text
}
