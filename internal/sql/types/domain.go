package types

import "github.com/lichendb/lichen/internal/sql/pgerr"

// Domain returns the domain that values of t are of, or the array of one, nil if they
// are of t itself. Expressions have the type below a domain, which decides what can be
// done with them; only pg_typeof and new columns see the domain.
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

// ShownAs reports whether values of t and u are said to be of the same type, a domain or not.
func (t *T) ShownAs(u *T) bool { return t.Shown().Is(u.Shown()) }

// Described returns the type of values of t in the description that clients receive. They know nothing of
// domains, but an array of a domain has a type of its own.
func (t *T) Described() *T {
	if t.domain != nil && !t.domain.IsDomain() {
		return t.domain
	}
	return t
}

// CheckField returns an error if d may not be the value of a field of type t: the domain that
// t was declared as forbids it.
func CheckField(fc *FormatContext, t *T, d Datum) error {
	switch {
	case t.domain == nil:
		return nil
	case fc == nil || fc.CheckDomain == nil:
		return pgerr.Unsupported("values of domain %s cannot be checked here", t.domain.SQLName)
	}
	return fc.CheckDomain(t.domain, d)
}

// CheckFields returns an error if a field of a record within d, a value of type t, has a value
// that its domain forbids. It is for values that were read without a context.
func CheckFields(t *T, d Datum, fc *FormatContext) error {
	switch {
	case d.IsNull():
	case t.Family == ArrayFamily && t.Elem != nil && t.Elem.Family == RecordFamily:
		for _, e := range d.ArrayElems() {
			if err := fc.CountSteps(1); err != nil {
				return err
			}
			if err := CheckFields(t.Elem, e, fc); err != nil {
				return err
			}
		}
	case t.Family == RecordFamily:
		for _, f := range TypedFields(t, d) {
			if err := CheckFields(f.Type, f.Datum, fc); err != nil {
				return err
			}
			if err := CheckField(fc, f.Type, f.Datum); err != nil {
				return err
			}
		}
	}
	return nil
}
