package types

import (
	_ "embed" // for icu.txt
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Collation says how strings order and, if it is not deterministic, which of them are
// equal. Types carry it where it is not what values of the type have by themselves; so
// do results of queries.
type Collation struct {
	Oid uint32
	// Name is what it was called when it was referred to; a user-defined one may have
	// been renamed since.
	Name string
	// Locale is the BCP 47 tag whose rules it follows, "" for those that order by bytes.
	Locale string `json:",omitempty"`
	// Nondeterministic collations take strings for equal that their rules do not tell apart.
	Nondeterministic bool `json:",omitempty"`
}

// The collations that values have unless something else is said. NoCollation is what a
// column has whose query could not tell (PostgreSQL's oid 0).
var (
	DefaultCollation = &Collation{Oid: 100, Name: "default"}
	CCollation       = &Collation{Oid: 950, Name: "C"}
	NoCollation      = &Collation{}
)

// firstICU is the oid of the first collation of icu.txt; the others follow.
const firstICU = 12342

// icuNames are the names of the collations that PostgreSQL 15 has for ICU's locales.
//
//go:embed icu.txt
var icuNames string

// suffixICU ends the names of ICU's collations.
const suffixICU = "-x-icu"

// Collations returns the built-in collations by their oids.
var Collations = sync.OnceValue(func() []*Collation {
	list := []*Collation{
		DefaultCollation, CCollation, {Oid: 951, Name: "POSIX"}, {Oid: 12340, Name: "ucs_basic"}, {Oid: 12341, Name: "C.utf8"},
	}
	for i, name := range strings.Fields(icuNames) {
		list = append(list, &Collation{Oid: firstICU + uint32(i), Name: name, Locale: strings.TrimSuffix(name, suffixICU)})
	}
	return list
})

var collationIndex = sync.OnceValue(func() map[string]*Collation {
	m := map[string]*Collation{}
	for _, c := range Collations() {
		m[c.Name] = c
	}
	return m
})

// CollationByName returns a built-in collation, nil if there is none of the name.
func CollationByName(name string) *Collation { return collationIndex()[name] }

// CollationByLocale returns the built-in collation of a locale as operating systems and other
// databases write it ("de", "de_DE", "de_DE.UTF-8"), nil if there is none.
func CollationByLocale(locale string) *Collation {
	base, encoding, _ := strings.Cut(locale, ".")
	switch strings.ToLower(strings.ReplaceAll(encoding, "-", "")) {
	case "", "utf8":
	default:
		return nil
	}
	if base == "C" {
		return CollationByName("C.utf8")
	}
	return localeIndex()[strings.ToLower(strings.ReplaceAll(base, "_", "-"))]
}

// localeIndex holds the collations of ICU by their locales in lower case, as names that are
// not quoted come.
var localeIndex = sync.OnceValue(func() map[string]*Collation {
	m := map[string]*Collation{}
	for _, c := range Collations() {
		if c.Locale != "" {
			m[strings.ToLower(c.Locale)] = c
		}
	}
	return m
})

// CollationByOid returns a built-in collation, nil if there is none with the oid.
func CollationByOid(oid uint32) *Collation {
	for _, c := range Collations()[:5] {
		if c.Oid == oid {
			return c
		}
	}
	if list := Collations()[5:]; oid >= firstICU && oid-firstICU < uint32(len(list)) {
		return list[oid-firstICU]
	}
	return nil
}

// BuiltIn reports whether c comes with the system, in pg_catalog.
func (c *Collation) BuiltIn() bool { return CollationByOid(c.Oid) != nil }

// Bytewise reports whether c orders strings by their bytes.
func (c *Collation) Bytewise() bool { return c.Locale == "" }

// ASCII reports whether c knows the case of ASCII letters only.
func (c *Collation) ASCII() bool { return c == CCollation || c.Name == "POSIX" && c.BuiltIn() }

// UndefinedCollation returns 42704 for a name as it was written.
func UndefinedCollation(name string) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedObject, "collation \"%s\" for encoding \"UTF8\" does not exist", name)
}

// Collation returns the collation that values of t have, nil if they have none.
func (t *T) Collation() *Collation {
	switch {
	case t.collation != nil:
		return t.collation
	case t.IsDomain():
		return t.Def.Base.Collation()
	case t.Elem != nil:
		return t.Elem.Collation()
	case t.Family != StringFamily || t.Oid == Char.Oid:
		return nil
	case t.Oid == Name.Oid:
		return CCollation
	}
	return DefaultCollation
}

// Declared returns the collation that t carries of its own, nil for that of the type.
func (t *T) Declared() *Collation { return t.collation }

// Collatable reports whether values of t have a collation.
func (t *T) Collatable() bool { return t.Collation() != nil }

// WithCollation returns t with the collation c.
func (t *T) WithCollation(c *Collation) *T {
	if t.collation == c || t.collation == nil && c == t.Collation() {
		return t
	}
	u := *t
	u.collation = nil
	if c != u.Collation() {
		u.collation = c
	}
	return &u
}

// Collated reports whether t, or part of it, has a collation whose order is not that of
// bytes.
func (t *T) Collated() bool {
	if c := t.Collation(); c != nil {
		return !c.Bytewise()
	}
	switch {
	case t.Elem != nil:
		return t.Elem.Collated()
	case t.Sub != nil:
		return t.Sub.Collated()
	}
	for _, f := range t.Fields() {
		if f.Type.Collated() {
			return true
		}
	}
	return false
}
