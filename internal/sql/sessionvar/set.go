package sessionvar

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/transaction"
)

// Notices receives notices and warnings; nil drops them.
type Notices func(severity string, n *pgerr.Error)

func (n Notices) send(severity string, e *pgerr.Error) {
	if n != nil && e != nil {
		n(severity, e)
	}
}

// Set executes SET and RESET of a parameter, and returns the command tag.
func (v *Vars) Set(ctx context.Context, st *ast.SetVar, notices Notices) (tag string, err error) {
	tag = "SET"
	if st.Reset {
		tag = "RESET"
		if st.Name == "" || st.Name == "all" {
			v.values.ResetAll()
			return tag, nil
		}
	}
	local := st.Scope == ast.ScopeLocal
	if err := v.mayChange(st.Name); err != nil {
		return "", err
	}
	if local && !v.txn.InAnyBlock() {
		notices.send("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "SET LOCAL can only be used in transaction blocks"))
		return tag, nil
	}
	if local {
		v.txn.Ensure() // its end ends the value
	}
	if st.Current {
		return tag, nil
	}
	if st.Default || st.Reset {
		if strings.EqualFold(st.Name, "session_authorization") {
			if err := v.values.Reset("role", local); err != nil {
				return tag, err
			}
		}
		return tag, v.values.Reset(st.Name, local)
	}
	value, err := valuesText(st)
	if err != nil {
		return "", err
	}
	_, err = v.SetText(ctx, st.Name, value, local, notices)
	return tag, err
}

// SetText sets a parameter to a value given as text, for SET and set_config, and returns the new
// value. Modes of the transaction, the database and the seed are set on the transaction or the
// session.
func (v *Vars) SetText(ctx context.Context, name, value string, local bool, notices Notices) (string, error) {
	if err := v.mayChange(name); err != nil {
		return "", err
	}
	switch settings.Canonical(name) {
	case "transaction_isolation", "transaction_read_only", "transaction_deferrable":
		value, err := settings.Check(name, value)
		if err != nil {
			return "", err
		}
		return v.setMode(settings.Canonical(name), value)
	case "role":
		if value != "none" {
			if err := v.session.SetRole(value); err != nil {
				return "", err
			}
		}
	case "database":
		if local {
			return "", pgerr.Unsupported("SET LOCAL database is not supported")
		}
		return value, v.session.UseDatabase(ctx, value)
	case "session_authorization":
		if err := v.session.SetSessionAuthorization(value); err != nil {
			return "", err
		}
		if _, err := v.values.Set("role", "none", local); err != nil {
			return "", err
		}
	case "seed":
		text, _ := v.values.Get(name)
		return text, setSeed(v.session, value)
	case rulesOff:
		if err := checkRules(value); err != nil {
			return "", err
		}
	}
	n, err := v.values.Set(name, value, local)
	if err != nil {
		return "", err
	}
	notices.send("NOTICE", n)
	text, _ := v.values.Get(name)
	return text, nil
}

// mayChange returns 42501 for a parameter that is the superusers' to change, or that a routine that runs forbids.
func (v *Vars) mayChange(name string) error {
	if name = settings.Canonical(name); name == "role" || name == "session_authorization" {
		return v.session.MayChangeRole(name)
	}
	if !settings.NeedsSuperuser(name) || v.session.Superuser() || v.session.MaySet(name) {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set parameter \"%s\"", name)
}

// setSeed executes SET seed, which affects only random().
func setSeed(s Session, value string) error {
	seed, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"seed\": \"%s\"", value)
	}
	if !(seed >= -1 && seed <= 1) {
		return pgerr.New(pgerr.InvalidParameterValue, "%s is outside the valid range for parameter \"seed\" (-1 .. 1)", value)
	}
	s.SeedRandom(seed)
	return nil
}

// rulesOff is the parameter that disables rules of the optimizer.
const rulesOff = "optimizer_rules_off"

// checkRules rejects names that no rule of the optimizer has.
func checkRules(list string) error {
	names, _ := settings.SplitList(list)
	for _, n := range names {
		if !slices.Contains(optimizer.Rules(), n) {
			return pgerr.New(pgerr.InvalidParameterValue, "unknown optimizer rule \"%s\"", n).
				WithHint("The rules are %s.", strings.Join(optimizer.Rules(), ", "))
		}
	}
	return nil
}

// setMode sets a parameter that is a mode of the transaction, and returns the new mode.
func (v *Vars) setMode(name, value string) (string, error) {
	var m ast.TxnModes
	on := ast.No
	if value == "on" {
		on = ast.Yes
	}
	switch name {
	case "transaction_isolation":
		m.Isolation = transaction.IsolationNamed(value)
	case "transaction_read_only":
		m.ReadOnly = on
	case "transaction_deferrable":
		m.Deferrable = on
	}
	v.txn.Ensure()
	return value, v.txn.SetModes(&m, hlc.Timestamp{})
}

// SetCharacteristics executes SET SESSION CHARACTERISTICS, which sets the modes of later
// transactions.
func (v *Vars) SetCharacteristics(m *ast.TxnModes) error {
	set := func(name, value string) error { _, err := v.values.Set(name, value, false); return err }
	if m.AsOf != nil {
		return pgerr.Unsupported("AS OF SYSTEM TIME is not a session characteristic")
	}
	if m.Isolation != ast.IsolationDefault {
		if err := set("default_transaction_isolation", m.Isolation.String()); err != nil {
			return err
		}
	}
	if m.ReadOnly != ast.Unset {
		if err := set("default_transaction_read_only", onOff(m.ReadOnly == ast.Yes)); err != nil {
			return err
		}
	}
	if m.Deferrable != ast.Unset {
		return set("default_transaction_deferrable", onOff(m.Deferrable == ast.Yes))
	}
	return nil
}
