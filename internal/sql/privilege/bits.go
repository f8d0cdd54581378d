package privilege

import "strings"

// Role is the oid of a role; Public, where a list has a grantee, is everybody.
type Role uint32

// Public is everybody.
const Public Role = 0

// Bits is a set of privileges, in the order of the letters of aclitem.
type Bits uint16

// The privileges.
const (
	Insert Bits = 1 << iota
	Select
	Update
	Delete
	Truncate
	References
	Trigger
	Execute
	Usage
	Create
	Temporary
	Connect
	Set
	AlterSystem
)

// names are the privileges in lower case, by bit.
var names = [...]string{
	"insert", "select", "update", "delete", "truncate", "references", "trigger", "execute", "usage", "create",
	"temporary", "connect", "set", "alter system",
}

// Named returns the privilege of a name in lower case; false if there is none.
func Named(name string) (Bits, bool) {
	if name == "temp" {
		return Temporary, true
	}
	for i, n := range names {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// String lists the names of the privileges.
func (b Bits) String() string {
	var list []string
	for i, n := range names {
		if b>>i&1 != 0 {
			list = append(list, n)
		}
	}
	return strings.Join(list, ", ")
}

// Kind is a kind of object, by the letter that acldefault has for it.
type Kind byte

// The kinds.
const (
	Table      Kind = 'r' // views as well
	Column     Kind = 'c'
	Sequence   Kind = 's'
	Database   Kind = 'd'
	Function   Kind = 'f'
	Language   Kind = 'l'
	Type       Kind = 'T'
	Schema     Kind = 'n'
	Tablespace Kind = 't'
	Parameter  Kind = 'p'
)

// All returns the privileges that objects of a kind have.
func (k Kind) All() Bits {
	switch k {
	case Table:
		return Insert | Select | Update | Delete | Truncate | References | Trigger
	case Column:
		return Insert | Select | Update | References
	case Sequence:
		return Usage | Select | Update
	case Database:
		return Create | Temporary | Connect
	case Function:
		return Execute
	case Language, Type:
		return Usage
	case Schema:
		return Usage | Create
	case Tablespace:
		return Create
	case Parameter:
		return Set | AlterSystem
	}
	return 0
}

// public returns what everybody may do with an object of a kind at first.
func (k Kind) public() Bits {
	switch k {
	case Database:
		return Temporary | Connect
	case Function:
		return Execute
	case Language, Type:
		return Usage
	}
	return 0
}

// Default returns the list that an object of the kind has at first.
func (k Kind) Default(owner Role) ACL {
	var a ACL
	if p := k.public(); p != 0 {
		a = append(a, Item{Grantee: Public, Grantor: owner, Privileges: p})
	}
	if k != Column {
		a = append(a, Item{Grantee: owner, Grantor: owner, Privileges: k.All()})
	}
	return a
}
