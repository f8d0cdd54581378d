package builtin

import (
	_ "embed" // for oprcodes.txt
	"strings"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// operatorCodes lists the functions behind PostgreSQL's operators: "=(text,text) texteq".
//
//go:embed oprcodes.txt
var operatorCodes string

// functionAliases are further names of functions, as PostgreSQL has them in pg_proc.
var functionAliases = map[string][]string{
	"exp(float8)":          {"dexp"},
	"ln(float8)":           {"dlog1"},
	"log(float8)":          {"dlog10"},
	"round(float8)":        {"dround"},
	"trunc(float8)":        {"dtrunc"},
	"exp(numeric)":         {"numeric_exp"},
	"ln(numeric)":          {"numeric_ln"},
	"log(numeric,numeric)": {"numeric_log"},
	"sqrt(numeric)":        {"numeric_sqrt"},
	"div(numeric,numeric)": {"numeric_div_trunc"},
	"length(text)":         {"textlen"},
	"~~(text,text)":        {"like"},
	"~~(name,text)":        {"like"},
	"~~(bytea,bytea)":      {"like"},
	"!~~(text,text)":       {"notlike"},
	"!~~(name,text)":       {"notlike"},
	"!~~(bytea,bytea)":     {"notlike"},
}

// addAliases gives operators the names under which they can be called as functions, and
// functions their further names.
func (r *registry) addAliases() {
	names := map[string][]string{}
	for key, list := range functionAliases {
		names[key] = append(names[key], list...)
	}
	for line := range strings.Lines(operatorCodes) {
		key, code, ok := strings.Cut(strings.TrimSpace(line), ") ")
		must.True(ok, "builtin: oprcodes.txt: line %q", line)
		names[key+")"] = append(names[key+")"], code)
	}
	have := map[string]*call.Overload{}
	for _, o := range r.all {
		have[o.Key()] = o
	}
	var aliases []*call.Overload
	for _, o := range r.all {
		for _, name := range names[o.Key()] {
			alias := *o
			alias.Name, alias.Operator, alias.BehindOperator = name, false, o.Operator
			key := alias.Key()
			if have[key] == nil {
				have[key] = &alias
				aliases = append(aliases, &alias)
			}
			if o.Operator {
				r.codes[o.Key()] = have[key]
			}
		}
	}
	r.add(aliases)
}

// OperatorCode returns the function behind an operator, nil if it has no name.
func OperatorCode(o *call.Overload) *call.Overload { return builtins().codes[o.Key()] }
