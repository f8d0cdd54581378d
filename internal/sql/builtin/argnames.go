package builtin

import (
	_ "embed" // for argnames.txt
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// argNamesText lists the names of arguments: "function(types) name,name".
//
//go:embed argnames.txt
var argNamesText string

var argNames = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(argNamesText), "\n") {
		if key, names, ok := strings.Cut(line, " "); ok {
			m[key] = strings.Split(names, ",")
		}
	}
	return m
})

// ArgNames returns the names of o's arguments, nil if they have none.
func ArgNames(o *call.Overload) []string { return argNames()[o.Key()] }
