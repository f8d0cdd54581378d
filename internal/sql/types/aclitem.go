package types

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
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

// oidBootstrapUser is the role that is taken for the grantor where none is given.
const oidBootstrapUser = 10

// parseACLItem reads "grantee=privileges/grantor".
func parseACLItem(s string, fc *FormatContext) (Datum, error) {
	v := ACLItemValue{Grantor: oidBootstrapUser}
	name, rest := scanRole(s)
	if !strings.HasPrefix(rest, "=") { // a word from before there were roles
		if name != "group" && name != "user" {
			return Null, pgerr.New(pgerr.InvalidTextRepresentation, "unrecognized key word: \"%s\"", name).
				WithHint("ACL key word must be \"group\" or \"user\".")
		}
		if name, rest = scanRole(rest); name == "" {
			return Null, pgerr.New(pgerr.InvalidTextRepresentation, "missing name").
				WithHint("A name must follow the \"group\" or \"user\" key word.")
		}
	}
	rest, ok := strings.CutPrefix(rest, "=")
	if !ok {
		return Null, pgerr.New(pgerr.InvalidTextRepresentation, "missing \"=\" sign")
	}
	for last := uint16(0); rest != "" && (isLetter(rest[0]) || rest[0] == '*'); rest = rest[1:] {
		if rest[0] == '*' {
			v.Grantables |= last
			continue
		}
		if last = ACLBits(rest[:1]); last == 0 {
			return Null, pgerr.New(pgerr.InvalidTextRepresentation, "invalid mode character: must be one of \"%s\"", ACLLetters)
		}
		v.Privileges |= last
	}
	var err error
	if v.Grantee, err = roleOid(name, fc); err != nil {
		return Null, err
	}
	if rest, ok = strings.CutPrefix(rest, "/"); ok {
		if name, rest = scanRole(rest); name == "" {
			return Null, pgerr.New(pgerr.InvalidTextRepresentation, "a name must follow the \"/\" sign")
		}
		if v.Grantor, err = roleOid(name, fc); err != nil {
			return Null, err
		}
	}
	if trimSpace(rest) != "" {
		return Null, pgerr.New(pgerr.InvalidTextRepresentation, "extra garbage at the end of the ACL specification")
	}
	return NewACLItem(v), nil
}

func isLetter(c byte) bool { return c|' ' >= 'a' && c|' ' <= 'z' }

// isRoleByte reports whether a role's name may have c without quotes.
func isRoleByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

// scanRole reads a name, in double quotes where it has other than letters, digits and underscores.
func scanRole(s string) (name, rest string) {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	var b strings.Builder
	quoted := false
	for ; s != "" && (quoted || isRoleByte(s[0]) || s[0] == '"'); s = s[1:] {
		switch {
		case s[0] == '"' && quoted && strings.HasPrefix(s, `""`):
			b.WriteByte('"')
			s = s[1:]
		case s[0] == '"':
			quoted = !quoted
		default:
			b.WriteByte(s[0])
		}
	}
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	return b.String(), s
}

// roleOid finds a role, without a catalog by its number; no name is everybody.
func roleOid(name string, fc *FormatContext) (uint32, error) {
	if name == "" {
		return 0, nil
	}
	if fc == nil || fc.Names == nil {
		oid, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			return 0, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", name)
		}
		return uint32(oid), nil
	}
	return fc.Names.OidOf(Regrole, `"`+strings.ReplaceAll(name, `"`, `""`)+`"`)
}

func appendACLItem(dst []byte, v ACLItemValue, fc *FormatContext) []byte {
	if v.Grantee != 0 {
		dst = appendRole(dst, v.Grantee, fc)
	}
	dst = append(dst, '=')
	for i := range len(ACLLetters) {
		if v.Privileges>>i&1 != 0 {
			dst = append(dst, ACLLetters[i])
		}
		if v.Grantables>>i&1 != 0 {
			dst = append(dst, '*')
		}
	}
	return appendRole(append(dst, '/'), v.Grantor, fc)
}

// appendRole prints a role's name, or its oid if there is no such role (any more).
func appendRole(dst []byte, oid uint32, fc *FormatContext) []byte {
	if fc == nil || fc.Names == nil {
		return strconv.AppendUint(dst, uint64(oid), 10)
	}
	ident, ok := fc.Names.NameOf(Regrole, oid)
	if !ok {
		return strconv.AppendUint(dst, uint64(oid), 10)
	}
	name := ident
	if strings.HasPrefix(ident, `"`) {
		name = strings.ReplaceAll(ident[1:len(ident)-1], `""`, `"`)
	}
	for i := range len(name) {
		if !isRoleByte(name[i]) {
			return append(dst, `"`+strings.ReplaceAll(name, `"`, `""`)+`"`...)
		}
	}
	return append(dst, name...)
}
