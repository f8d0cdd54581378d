package settings

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// pgsettings.txt says under which category PostgreSQL lists a parameter and who may change it
// there (pg_settings.context): name|context|category.
//
//go:embed pgsettings.txt
var pgSettingsText string

var pgSettings = sync.OnceValue(func() map[string][2]string {
	m := map[string][2]string{}
	for line := range strings.Lines(pgSettingsText) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		m[strings.ToLower(f[0])] = [2]string{f[1], f[2]}
	}
	return m
})

// Unlisted reports whether SHOW ALL and pg_settings leave p out, as PostgreSQL does with what
// has a statement or a function of its own.
func (p *Param) Unlisted() bool {
	switch p.Name {
	case "is_superuser", "role", "seed", "session_authorization":
		return true
	}
	return false
}

// About returns what pg_settings says of who may change p, and its category.
func (p *Param) About() (context, category string) {
	if a, ok := pgSettings()[strings.ToLower(p.Name)]; ok {
		return a[0], a[1]
	}
	if p.ReadOnly {
		return "internal", "Customized Options"
	}
	return "user", "Customized Options"
}

// NeedsSuperuser reports whether only superusers may change a parameter.
func NeedsSuperuser(name string) bool {
	p := lookup(Canonical(name))
	if p == nil {
		return false
	}
	context, _ := p.About()
	return context == "superuser"
}

// cantChange is the error of a change to a read-only parameter: when it can be changed.
func (p *Param) cantChange() error {
	when := ""
	switch context, _ := p.About(); context {
	case "postmaster":
		when = " without restarting the server"
	case "sighup":
		when = " now"
	}
	return pgerr.New(CantChange, "parameter \"%s\" cannot be changed%s", p.Name, when)
}

// Source returns what gave a parameter its value: "default", "session", or what SetDefault was
// told.
func (v *Values) Source(name string) string {
	name = Canonical(name)
	if s, ok := v.set[name]; ok && s != v.Default(name) { // RESET leaves the default there
		return "session"
	}
	if i, ok := v.resetTo[name]; ok {
		return i.source
	}
	return "default"
}
