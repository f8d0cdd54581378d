package types

import (
	"encoding/binary"
	"strings"
)

// ACLItemValue is what one role granted another: privileges by their bits, and which of them
// may be granted on. Grantee 0 is everybody.
type ACLItemValue struct {
	Grantee, Grantor       uint32
	Privileges, Grantables uint16
}

// ACLLetters are the letters of the privileges by bit, ACLPrivileges their names.
const ACLLetters = "arwdDxtXUCTcsA"

// ACLPrivileges are the names of the privileges by bit.
var ACLPrivileges = [len(ACLLetters)]string{
	"INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "EXECUTE", "USAGE", "CREATE",
	"TEMPORARY", "CONNECT", "SET", "ALTER SYSTEM",
}

// ACLBits returns the bits of privileges given by their letters.
func ACLBits(letters string) (bits uint16) {
	for i := range len(letters) {
		if n := strings.IndexByte(ACLLetters, letters[i]); n >= 0 {
			bits |= 1 << n
		}
	}
	return bits
}

// NewACLItem returns an aclitem.
func NewACLItem(v ACLItemValue) Datum {
	be := binary.BigEndian
	b := be.AppendUint32(be.AppendUint32(nil, v.Grantee), v.Grantor)
	b = be.AppendUint16(be.AppendUint16(b, v.Grantables), v.Privileges)
	return Datum{fam: OpaqueFamily, s: string(b)}
}

// ACLItem returns the value of an aclitem.
func (d Datum) ACLItem() ACLItemValue {
	var b [12]byte
	copy(b[:], d.s)
	be := binary.BigEndian
	return ACLItemValue{
		Grantee: be.Uint32(b[0:]), Grantor: be.Uint32(b[4:]), Grantables: be.Uint16(b[8:]), Privileges: be.Uint16(b[10:]),
	}
}
