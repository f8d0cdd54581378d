package catalogfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// DomainName is what errors call a domain.
type DomainName struct {
	Schema, Name string
	SQLName      string // with the schema where the search path does not lead to it
}

// DomainError says that a value breaks a constraint of a domain; without a name
// it is the domain's NOT NULL.
func DomainError(d DomainName, constraint string) error {
	e := pgerr.New(pgerr.NotNullViolation, "domain %s does not allow null values", d.SQLName)
	if constraint != "" {
		e = pgerr.New(pgerr.CheckViolation, "value for domain %s violates check constraint \"%s\"", d.SQLName, constraint)
	}
	e.Schema, e.DataType, e.Constraint = d.Schema, d.Name, constraint
	return e
}

// domainFunctions declares what casts to domains call when a value does not
// belong there.
func domainFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("lichen_domain_error(text,text,text,text) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.Null, DomainError(DomainName{a[0].Str(), a[1].Str(), a[2].Str()}, a[3].Str())
		}),
	}
}
