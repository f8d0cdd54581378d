package typeio

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// oidBootstrapUser is the role that is taken for the grantor where none is given.
const oidBootstrapUser = 10

// parseACLItem reads "grantee=privileges/grantor".
func parseACLItem(s string, fc *types.FormatContext) (types.Datum, error) {
	v := types.ACLItemValue{Grantor: oidBootstrapUser}
	name, rest := scanRole(s)
	if !strings.HasPrefix(rest, "=") { // a word from before there were roles
		if name != "group" && name != "user" {
			return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "unrecognized key word: \"%s\"", name).
				WithHint("ACL key word must be \"group\" or \"user\".")
		}
		if name, rest = scanRole(rest); name == "" {
			return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "missing name").
				WithHint("A name must follow the \"group\" or \"user\" key word.")
		}
	}
	rest, ok := strings.CutPrefix(rest, "=")
	if !ok {
		return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "missing \"=\" sign")
	}
	for last := uint16(0); rest != "" && (ascii.IsLetter(rest[0]) || rest[0] == '*'); rest = rest[1:] {
		if rest[0] == '*' {
			v.Grantables |= last
			continue
		}
		if last = types.ACLBits(rest[:1]); last == 0 {
			return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "invalid mode character: must be one of \"%s\"", types.ACLLetters)
		}
		v.Privileges |= last
	}
	var err error
	if v.Grantee, err = roleOid(name, fc); err != nil {
		return types.Null, err
	}
	if rest, ok = strings.CutPrefix(rest, "/"); ok {
		if name, rest = scanRole(rest); name == "" {
			return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "a name must follow the \"/\" sign")
		}
		if v.Grantor, err = roleOid(name, fc); err != nil {
			return types.Null, err
		}
	}
	if ascii.TrimSpace(rest) != "" {
		return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "extra garbage at the end of the ACL specification")
	}
	return types.NewACLItem(v), nil
}

// isRoleByte reports whether a role's name may have c without quotes.
func isRoleByte(c byte) bool { return ascii.IsLetter(c) || ascii.IsDigit(c) || c == '_' }

// scanRole reads a name, in double quotes where it has other than letters, digits and underscores.
func scanRole(s string) (name, rest string) {
	for s != "" && ascii.IsSpace(s[0]) {
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
	for s != "" && ascii.IsSpace(s[0]) {
		s = s[1:]
	}
	return b.String(), s
}

// roleOid finds a role, without a catalog by its number; no name is everybody.
func roleOid(name string, fc *types.FormatContext) (uint32, error) {
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
	return fc.Names.OidOf(types.Regrole, `"`+strings.ReplaceAll(name, `"`, `""`)+`"`)
}

func appendACLItem(dst []byte, v types.ACLItemValue, fc *types.FormatContext) []byte {
	if v.Grantee != 0 {
		dst = appendRole(dst, v.Grantee, fc)
	}
	dst = append(dst, '=')
	for i := range len(types.ACLLetters) {
		if v.Privileges>>i&1 != 0 {
			dst = append(dst, types.ACLLetters[i])
		}
		if v.Grantables>>i&1 != 0 {
			dst = append(dst, '*')
		}
	}
	return appendRole(append(dst, '/'), v.Grantor, fc)
}

// appendRole prints a role's name, or its oid if there is no such role (any more).
func appendRole(dst []byte, oid uint32, fc *types.FormatContext) []byte {
	if fc == nil || fc.Names == nil {
		return strconv.AppendUint(dst, uint64(oid), 10)
	}
	ident, ok := fc.Names.NameOf(types.Regrole, oid)
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
