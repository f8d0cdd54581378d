package generate

import (
	"regexp"
	"strings"
)

// Column is a column, or an expression that stands for one, with its type.
type Column struct{ Name, Type string }

// Scope is what an expression may use.
type Scope struct {
	Cols  []Column // names are qualified
	keys  []string // columns that tell rows apart
	rows  []string // relations whose rows may be named as a whole
	outer *Scope   // of the query around
	// repeats says that rows may be alike in all columns, keys included.
	repeats bool
	// grouped is the scope of the arguments of aggregates, nil where there can be none;
	// Cols are the grouping expressions then.
	grouped *Scope
	windows bool // there may be calls over windows
	// namedWindow is a window that the query defines, "" if there is none.
	namedWindow string
	ctes        []cte
}

// cte is what WITH names.
type cte struct {
	name string
	cols []Column
}

// visible lists the names of all WITH clauses around.
func (s *Scope) visible() []cte {
	var list []cte
	for ; s != nil; s = s.outer {
		list = append(list, s.ctes...)
	}
	return list
}

// column draws a column of a type, "" if there is none.
func (s *Scope) column(r Rand, typ string) string {
	var fit []string
	for _, c := range s.Cols {
		if c.Type == typ {
			fit = append(fit, c.Name)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	return r.Pick(fit...)
}

var plainColumn = regexp.MustCompile(`^\w+\.\w+$`)

// nested is the scope around a query that stands in an expression: a grouping expression other
// than a column does not reach into it.
func (s *Scope) nested() *Scope {
	if s == nil || s.grouped == nil {
		return s
	}
	n := &Scope{outer: s.outer, ctes: s.ctes}
	for _, c := range s.Cols {
		if plainColumn.MatchString(c.Name) {
			n.Cols = append(n.Cols, c)
		}
	}
	return n
}

// beside is the scope of two relations next to each other.
func (s *Scope) beside(other *Scope) *Scope {
	return &Scope{
		Cols: append(append([]Column{}, s.Cols...), other.Cols...), keys: append(append([]string{}, s.keys...), other.keys...),
		rows: append(append([]string{}, s.rows...), other.rows...), repeats: s.repeats || other.repeats, outer: s.outer,
	}
}

// qualified are columns with their relation's name before theirs.
func qualified(cols []Column, alias string) []Column {
	var list []Column
	for _, c := range cols {
		list = append(list, Column{alias + "." + c.Name, c.Type})
	}
	return list
}

// names joins the names of columns.
func names(cols []Column) string {
	var list []string
	for _, c := range cols {
		list = append(list, c.Name)
	}
	return strings.Join(list, ", ")
}
