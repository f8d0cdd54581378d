package builtin

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// DomainError says that a value breaks a constraint of a domain; without a name
// it is the domain's NOT NULL.
func DomainError(domain, constraint string) error {
	if constraint == "" {
		return pgerr.New(pgerr.NotNullViolation, "domain %s does not allow null values", domain)
	}
	e := pgerr.New(pgerr.CheckViolation, "value for domain %s violates check constraint \"%s\"", domain, constraint)
	e.Constraint = constraint
	return e
}

// domainFunctions declares what casts to domains call when a value does not
// belong there.
func domainFunctions() []*Overload {
	return []*Overload{
		fn("lichen_domain_error(text,text) text", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.Null, DomainError(a[0].Str(), a[1].Str())
		}).volatile(),
	}
}
