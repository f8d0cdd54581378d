package sql

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/settings"
)

// setStored gives a new session what ALTER DATABASE and ALTER ROLE say that it begins with:
// what is said of all goes before what is said of the database, of the role, and of both. A
// value that can no longer be had is left out, with a warning.
func (s *Session) setStored() {
	var role uint32
	if r := catalog.RoleByName(s.user); r != nil {
		role = r.Oid
	}
	everywhere := s.srv.cfg.Catalog.ClusterSettings()
	for _, from := range []struct {
		list   []catalog.Setting
		source string
	}{
		{catalog.SettingsOf(everywhere, 0), "global"},
		{catalog.SettingsOf(s.db.Settings, 0), "database"},
		{catalog.SettingsOf(everywhere, role), "user"},
		{catalog.SettingsOf(s.db.Settings, role), "database user"},
	} {
		for _, v := range from.list {
			if err := s.vals.SetDefault(v.Name, v.Value, from.source); err != nil {
				s.warnSoon(pgerr.From(err))
			}
		}
	}
}

// storedSetting returns the setting that ALTER DATABASE or ALTER ROLE stores; without a value
// if it is to be stored no longer.
func (s *Session) storedSetting(st *ast.SetVar, notice func(string, *pgerr.Error)) (catalog.Setting, error) {
	out := catalog.Setting{Name: settingName(st.Name)}
	var err error
	switch {
	case ofNoDefault(st.Name):
		return out, pgerr.Unsupported("storing a default of parameter %q is not supported", st.Name)
	case st.Default || st.Reset:
		return out, settings.CheckName(st.Name)
	case st.Current:
		var ok bool
		if out.Value, ok = s.showValue(st.Name); !ok {
			return out, settings.Unrecognized(st.Name)
		}
	default:
		if out.Value, err = settingText(st); err != nil {
			return out, err
		}
	}
	if strings.EqualFold(st.Name, "optimizer_rules_off") {
		if err := checkRules(out.Value); err != nil {
			return out, err
		}
	}
	n, err := settings.CheckStored(st.Name, out.Value)
	if n != nil && notice != nil {
		notice("NOTICE", n)
	}
	return out, err
}

// ofNoDefault reports whether a parameter is of a transaction, or is the session itself rather
// than something that it begins with.
func ofNoDefault(name string) bool {
	switch strings.ToLower(name) {
	case "transaction_isolation", "transaction_read_only", "transaction_deferrable", "role", "session_authorization", "seed", "database":
		return true
	}
	return false
}
