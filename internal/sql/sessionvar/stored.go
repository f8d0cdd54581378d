package sessionvar

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/settings"
)

// SetStored gives a new session the values that ALTER DATABASE and ALTER ROLE have stored. Values
// for all sessions come first, so that they yield to those of the database, of the role, and of the
// role in the database. A value that is no longer valid is skipped with a warning.
func (v *Vars) SetStored(role uint32, everywhere, database []catalog.RoleSettings, warn func(*pgerr.Error)) {
	for _, from := range []struct {
		list   []catalog.Setting
		source string
	}{
		{catalog.SettingsOf(everywhere, 0), "global"},
		{catalog.SettingsOf(database, 0), "database"},
		{catalog.SettingsOf(everywhere, role), "user"},
		{catalog.SettingsOf(database, role), "database user"},
	} {
		for _, x := range from.list {
			if err := v.values.SetDefault(x.Name, x.Value, from.source); err != nil {
				warn(pgerr.From(err))
			}
		}
	}
}

// SetGiven gives a new session the parameters of its client's startup message.
func (v *Vars) SetGiven(params map[string]string) error {
	for name, value := range params {
		if strings.EqualFold(name, rulesOff) {
			if err := checkRules(value); err != nil {
				return err
			}
		}
		if err := v.mayChange(name); err != nil {
			return err
		}
		if err := v.values.SetDefault(name, value, "client"); err != nil {
			return err
		}
	}
	return nil
}

// Stored returns the setting for ALTER DATABASE or ALTER ROLE to store. It has no value if the
// stored one is to be deleted.
func (v *Vars) Stored(st *ast.SetVar, notices Notices) (catalog.Setting, error) {
	out := catalog.Setting{Name: spelling(st.Name)}
	var err error
	switch {
	case ofNoDefault(st.Name):
		return out, pgerr.Unsupported("storing a default of parameter \"%s\" is not supported", st.Name)
	case st.Default || st.Reset:
		return out, settings.CheckName(st.Name)
	case st.Current:
		var ok bool
		if out.Value, ok = v.Show(st.Name); !ok {
			return out, settings.Unrecognized(st.Name)
		}
	default:
		if out.Value, err = valuesText(st); err != nil {
			return out, err
		}
	}
	if strings.EqualFold(st.Name, rulesOff) {
		if err := checkRules(out.Value); err != nil {
			return out, err
		}
	}
	if err := v.mayChange(st.Name); err != nil {
		return out, err
	}
	n, err := settings.CheckStored(st.Name, out.Value)
	notices.send("NOTICE", n)
	return out, err
}

// ofNoDefault reports whether a parameter can't have a stored value, because it belongs to a
// transaction or is a state of the session itself.
func ofNoDefault(name string) bool {
	switch settings.Canonical(name) {
	case "transaction_isolation", "transaction_read_only", "transaction_deferrable", "role", "session_authorization", "seed", "database":
		return true
	}
	return false
}
