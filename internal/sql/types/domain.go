package types

// Domain returns the domain that values of t are of, or the array of one, nil if they
// are of t itself. Expressions have the type below a domain, which decides what can be
// done with them; the domain is what pg_typeof and new columns are told.
func (t *T) Domain() *T { return t.domain }

// WithDomain returns t for values of a domain, or an array of one, over t; nil is none.
func (t *T) WithDomain(d *T) *T {
	if t.domain == d {
		return t
	}
	u := *t
	u.domain = d
	switch {
	case d == nil && t.domain.OfDomain() && !t.domain.IsDomain():
		u.Elem = u.Elem.WithDomain(nil)
	case d != nil && !d.IsDomain():
		u.Elem = u.Elem.WithDomain(d.Elem)
	}
	return &u
}

// Shown returns the type that values of t are said to be of: a domain, or t.
func (t *T) Shown() *T {
	if t.domain != nil {
		return t.domain
	}
	return t
}
