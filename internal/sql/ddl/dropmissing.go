package ddl

import (
	"regexp"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// neverThere are the statements that drop objects of which there are none, and
// what these are called.
var neverThere = map[string]string{
	"DROP RULE": "rule", "DROP PROCEDURE": "procedure",
	"DROP FUNCTION": "function", "DROP ROUTINE": "routine", "DROP AGGREGATE": "aggregate",
	"DROP SUBSCRIPTION": "subscription", "DROP PUBLICATION": "publication", "DROP STATISTICS": "statistics object",
	"DROP USER MAPPING": "user mapping", "DROP SERVER": "server", "DROP FOREIGN TABLE": "foreign table",
	"DROP FOREIGN DATA WRAPPER": "foreign-data wrapper", "DROP TRANSFORM": "transform",
}

// NothingToDrop returns the notice for a DROP ... IF EXISTS of objects that can't
// exist; ok is false for every other statement.
func NothingToDrop(stmt ast.Statement) (n *pgerr.Error, ok bool) {
	switch s := stmt.(type) {
	case *ast.Unsupported:
		what := neverThere[s.Feature]
		if s.IfExists == "" || what == "" || namesBuiltin(s.IfExists) {
			return nil, false
		}
		return missing(what, s.IfExists), true
	}
	return nil, false
}

func missing(what, names string) *pgerr.Error {
	return pgerr.New(pgerr.SuccessfulCompletion, "%s %s does not exist, skipping", what, names)
}

// called matches the names of the functions in a list of their signatures.
var called = regexp.MustCompile(`([a-zA-Z_][a-zA-Z_0-9$]*|"[^"]*")\s*(?:\(|,|$)`)

// namesBuiltin reports whether a list of signatures may name a function that is
// built in: it looks at the names only.
func namesBuiltin(list string) bool {
	for _, m := range called.FindAllStringSubmatch(list, -1) {
		name := strings.ToLower(strings.Trim(m[1], "\""))
		if len(builtin.Functions(name)) > 0 || len(builtin.Aggregates(name)) > 0 {
			return true
		}
	}
	return false
}
