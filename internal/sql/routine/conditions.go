package routine

import (
	_ "embed" // for conditions.txt
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
)

// conditionsText lists PostgreSQL's names of errors: SQLSTATE and name.
//
//go:embed conditions.txt
var conditionsText string

var conditions = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(conditionsText) {
		state, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		m[name] = append(m[name], state)
	}
	return m
})

// statesOf returns the SQLSTATEs of a condition; 42704 if none has the name.
func statesOf(c plpgsql.Condition) ([]string, error) {
	if c.State != "" {
		return []string{c.State}, nil
	}
	if s := conditions()[c.Name]; s != nil {
		return s, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "unrecognized exception condition \"%s\"", c.Name)
}

// handles reports whether a condition is met by an error: by its SQLSTATE, or by that of its class.
func handles(c plpgsql.Condition, code pgerr.Code) bool {
	if c.Name == "others" {
		return code != pgerr.QueryCanceled && code != assertFailure
	}
	states, _ := statesOf(c)
	for _, s := range states {
		if s == string(code) || strings.HasSuffix(s, "000") && s[:2] == string(code)[:2] {
			return true
		}
	}
	return false
}

// SQLSTATEs of PL/pgSQL.
const (
	raiseException pgerr.Code = "P0001"
	noDataFound    pgerr.Code = "P0002"
	tooManyRows    pgerr.Code = "P0003"
	assertFailure  pgerr.Code = "P0004"
	noReturn       pgerr.Code = "2F005"
	caseNotFound   pgerr.Code = "20000"
)
