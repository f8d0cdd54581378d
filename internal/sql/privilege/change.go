package privilege

import (
	"errors"
	"slices"
)

// The ways in which a change of a list is refused.
var (
	// ErrCircular says that a grant option would go back to who it comes from.
	ErrCircular = errors.New("grant options cannot be granted back to your own grantor")
	// ErrDependent says that others were granted what is revoked.
	ErrDependent = errors.New("dependent privileges exist")
)

// find returns the place of what grantor has granted grantee, -1 if that is nothing.
func (a ACL) find(grantee, grantor Role) int {
	return slices.IndexFunc(a, func(it Item) bool { return it.Grantee == grantee && it.Grantor == grantor })
}

// Grant returns the list with what grantor, who may, grants grantee.
func (a ACL) Grant(owner, grantor, grantee Role, privileges, options Bits) (ACL, error) {
	if options != 0 && grantee != owner && a.circular(owner, grantor, grantee, options) {
		return nil, ErrCircular
	}
	out := slices.Clone(a)
	i := out.find(grantee, grantor)
	if i < 0 {
		out = append(out, Item{Grantee: grantee, Grantor: grantor})
		i = len(out) - 1
	}
	out[i].Privileges |= privileges
	out[i].Options |= options & privileges
	return out, nil
}

// circular reports whether grantor could no longer grant the options on if grantee had them from
// nobody.
func (a ACL) circular(owner, grantor, grantee Role, options Bits) bool {
	if grantor == owner {
		return false
	}
	out := slices.Clone(a)
	for i := 0; i < len(out); i++ {
		if it := out[i]; it.Grantee == grantee && it.Options != 0 {
			next, err := out.Revoke(owner, it.Grantor, grantee, it.Options, true, true)
			if err != nil {
				return true
			}
			out, i = next, -1
		}
	}
	return options&^out.optionsOf(owner, grantor) != 0
}

// Revoke returns the list without what grantor has granted grantee, or without the options to grant
// it on only. What grantee has granted by them is revoked as well if cascade says so, or refused.
func (a ACL) Revoke(owner, grantor, grantee Role, privileges Bits, optionOnly, cascade bool) (ACL, error) {
	i := a.find(grantee, grantor)
	if i < 0 {
		return a, nil
	}
	out := slices.Clone(a)
	out[i].Options &^= privileges
	if !optionOnly {
		out[i].Privileges &^= privileges
	}
	if out[i].Privileges == 0 {
		out = slices.Delete(out, i, i+1)
	}
	if grantee == Public || grantee == owner {
		return out, nil
	}
	return out.revokeDependent(owner, grantee, privileges&^out.optionsOf(owner, grantee), cascade)
}

// revokeDependent revokes what a role has granted without being able to any more.
func (a ACL) revokeDependent(owner, role Role, lost Bits, cascade bool) (ACL, error) {
	for i := 0; i < len(a); i++ {
		it := a[i]
		if it.Grantor != role || it.Privileges&lost == 0 {
			continue
		}
		if !cascade {
			return nil, ErrDependent
		}
		next, err := a.Revoke(owner, role, it.Grantee, it.Privileges&lost, false, true)
		if err != nil {
			return nil, err
		}
		a, i = next, -1
	}
	return a, nil
}

// WithOwner returns the list once the object has another owner, who has then granted what the old one
// had.
func (a ACL) WithOwner(old, owner Role) ACL {
	if a == nil || old == owner {
		return a
	}
	out := make(ACL, 0, len(a))
	for _, it := range a {
		if it.Grantee == old {
			it.Grantee = owner
		}
		if it.Grantor == old {
			it.Grantor = owner
		}
		if i := out.find(it.Grantee, it.Grantor); i >= 0 {
			out[i].Privileges |= it.Privileges
			out[i].Options |= it.Options
			continue
		}
		out = append(out, it)
	}
	return out
}

// Without returns the list without what a role, who is not the owner, was granted, and without what it
// has granted.
func (a ACL) Without(owner, role Role) ACL {
	for i := 0; i < len(a); i++ {
		if it := a[i]; it.Grantee == role || it.Grantor == role {
			a, _ = a.Revoke(owner, it.Grantor, it.Grantee, it.Privileges, false, true) // cascading never fails
			i = -1
		}
	}
	return a
}
