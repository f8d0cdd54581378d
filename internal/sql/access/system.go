package access

import (
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// What is built in has no descriptor: its access control lists are those of the database or the cluster.

// SystemRoutine is a function that is built in, or that an extension of the database has brought.
type SystemRoutine struct {
	Oid       uint32
	Name      string
	Signature string // with its arguments
	Args      []*types.T
	// Restricted says that only superusers may call it at first.
	Restricted bool
}

// Language is what functions are written in.
type Language struct {
	Oid  uint32
	Name string
	// Procedural: it has statements of its own. Trusted: its functions can do no more than SQL.
	Procedural, Trusted bool
}

// Languages are those that there are.
var Languages = []Language{{12, "internal", false, false}, {14, catalog.LanguageSQL, false, true}, {13575, catalog.LanguagePLpgSQL, true, true}}

// LanguageNamed returns the language of a name, nil if there is none.
func LanguageNamed(name string) *Language {
	for i := range Languages {
		if Languages[i].Name == name {
			return &Languages[i]
		}
	}
	return nil
}

// OnSystem returns which privileges a role has on an object that has no descriptor, whose list is nil if it is the one that it has at
// first, and which of them it may grant on.
func OnSystem(a *catalog.Authority, acl privilege.ACL, kind privilege.Kind, owner catalog.Owner, want privilege.Bits) (has, options privilege.Bits) {
	return mask(a, acl.Or(kind, owner.Role()), owner, want)
}

// restrictedACL is who may call a built-in function that is not for everybody at first.
var restrictedACL = privilege.ACL{{Grantee: catalog.RootOid, Grantor: catalog.RootOid, Privileges: privilege.Execute}}

// FunctionACL returns who may call a built-in function.
func FunctionACL(all []privilege.SystemACL, oid uint32, restricted bool) privilege.ACL {
	list := privilege.FindSystemACL(all, privilege.Function, oid)
	switch {
	case list != nil:
		return list
	case restricted:
		return restrictedACL
	}
	return privilege.Function.Default(catalog.RootOid)
}

// OnFunction returns which privileges a role has on a built-in function, and which of them it may grant on.
func OnFunction(a *catalog.Authority, all []privilege.SystemACL, oid uint32, restricted bool, want privilege.Bits) (has, options privilege.Bits) {
	return mask(a, FunctionACL(all, oid, restricted), catalog.RootOid, want)
}

// OnParameter returns which privileges a role has on a parameter, by its name in lower case, and which of them it may grant on.
func OnParameter(a *catalog.Authority, c *catalog.Collection, name string, want privilege.Bits) (has, options privilege.Bits) {
	var list privilege.ACL
	if p := privilege.FindParameterACL(c.ClusterACLs(), name); p != nil {
		list = p.ACL
	}
	return OnSystem(a, list, privilege.Parameter, catalog.RootOid, want)
}

// MustUseLanguage returns 42501 unless the session's user may write routines in a language.
func MustUseLanguage(c *catalog.Collection, name string) error {
	l := LanguageNamed(name)
	if l == nil {
		return nil // which is told elsewhere
	}
	list := privilege.FindSystemACL(c.DatabaseACLs(), privilege.Language, l.Oid)
	if has, _ := OnSystem(c.Me(), list, privilege.Language, catalog.RootOid, privilege.Usage); has == 0 {
		return Denied("language", name)
	}
	return nil
}
