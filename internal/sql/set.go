package sql

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/transaction"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// set executes SET and RESET of a parameter.
func (x *execution) set(ctx context.Context, st *ast.SetVar) (string, error) {
	s, res := x.s, x.res
	tag := "SET"
	if st.Reset {
		tag = "RESET"
		if st.Name == "" || st.Name == "all" {
			s.vals.ResetAll()
			return tag, nil
		}
	}
	local := st.Scope == ast.ScopeLocal
	if local && !s.txn.InBlock() {
		res.Notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "SET LOCAL can only be used in transaction blocks"))
		return tag, nil
	}
	if st.Current {
		return tag, nil
	}
	if st.Default || st.Reset {
		return tag, s.vals.Reset(st.Name, local)
	}
	value, err := settingText(st)
	if err != nil {
		return "", err
	}
	_, err = s.setSetting(ctx, st.Name, value, local, res.Notice)
	return tag, err
}

// setSetting is SET; the transaction's own parameters act on it.
func (s *Session) setSetting(
	ctx context.Context, name, value string, local bool, notice func(string, *pgerr.Error),
) (string, error) {
	switch strings.ToLower(name) {
	case "transaction_isolation", "transaction_read_only", "transaction_deferrable":
		value, err := settings.Check(name, value)
		if err != nil {
			return "", err
		}
		return s.setModeText(ctx, strings.ToLower(name), value)
	case "role":
		if value != "none" && value != s.user {
			return "", pgerr.New(pgerr.InvalidParameterValue, "role %q does not exist", value)
		}
	case "database":
		if local {
			return "", pgerr.Unsupported("SET LOCAL database is not supported")
		}
		return value, s.use(ctx, value)
	case "session_authorization":
		if value != s.user {
			return "", pgerr.New(pgerr.InvalidParameterValue, "role %q does not exist", value)
		}
	case "seed":
		v, _ := s.vals.Get(name)
		return v, s.setSeed(value)
	case "optimizer_rules_off":
		if err := checkRules(value); err != nil {
			return "", err
		}
	}
	n, err := s.vals.Set(name, value, local)
	if err != nil {
		return "", err
	}
	if n != nil && notice != nil {
		notice("NOTICE", n)
	}
	v, _ := s.vals.Get(name)
	return v, nil
}

// setSeed is SET seed, which nothing but random() sees.
func (s *Session) setSeed(value string) error {
	seed, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"seed\": \"%s\"", value)
	}
	if !(seed >= -1 && seed <= 1) {
		return pgerr.New(pgerr.InvalidParameterValue, "%s is outside the valid range for parameter \"seed\" (-1 .. 1)", value)
	}
	s.bctx.SeedRandom(seed)
	return nil
}

// checkRules refuses names that no rule of the optimizer has.
func checkRules(list string) error {
	names, _ := settings.SplitList(list)
	for _, n := range names {
		if !slices.Contains(optimizer.Rules(), n) {
			return pgerr.New(pgerr.InvalidParameterValue, "unknown optimizer rule %q", n).
				WithHint("The rules are %s.", strings.Join(optimizer.Rules(), ", "))
		}
	}
	return nil
}

// settingText joins the values of SET as the parameter keeps them.
func settingText(st *ast.SetVar) (string, error) {
	list, quoted := settings.IsList(st.Name)
	if len(st.Values) > 1 && !list {
		return "", pgerr.New(pgerr.InvalidParameterValue, "SET %s takes only one argument", st.Name)
	}
	var parts []string
	for _, v := range st.Values {
		text, err := valueText(v)
		if err != nil {
			return "", err
		}
		if quoted {
			text = ast.QuoteIdent(ast.Name(text))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", "), nil
}

// valueText returns a value of SET as text. An interval is one of SET TIME ZONE.
func valueText(x ast.Expr) (string, error) {
	if c, ok := x.(*ast.Cast); ok && c.Type.Names[len(c.Type.Names)-1] == types.Interval.Name {
		return intervalZone(c)
	}
	return ast.LiteralText(x)
}

// intervalZone returns the time zone that SET TIME ZONE INTERVAL names.
func intervalZone(c *ast.Cast) (string, error) {
	t, err := planner.ResolveType(c.Type, 8)
	if err != nil {
		return "", err
	}
	text, err := ast.LiteralText(c.X)
	if err != nil {
		return "", err
	}
	d, err := typeio.ParseText(t, text, &types.FormatContext{})
	if err != nil {
		return "", err
	}
	v := d.Interval()
	bad := pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"TimeZone\": \"INTERVAL '%s'\"", typeio.FormatDatum(t, d, &types.FormatContext{}))
	switch {
	case v.Months != 0:
		return "", bad.WithDetail("Cannot specify months in time zone interval.")
	case v.Days != 0:
		return "", bad.WithDetail("Cannot specify days in time zone interval.")
	}
	return datetime.OffsetZone(int(v.Micros / 1e6)), nil
}

// setTransaction executes SET TRANSACTION and SET SESSION CHARACTERISTICS.
func (x *execution) setTransaction(ctx context.Context, st *ast.SetTransaction) error {
	s, res := x.s, x.res
	if st.Session {
		return s.setCharacteristics(&st.Modes)
	}
	if !s.txn.InBlock() {
		res.Notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "SET TRANSACTION can only be used in transaction blocks"))
		return nil
	}
	if st.Snapshot != "" {
		return s.txn.ImportSnapshot(st.Snapshot)
	}
	return s.setTxnModes(ctx, &st.Modes)
}

// setModeText is SET of a parameter that is a mode of the transaction. It returns what the mode
// is then.
func (s *Session) setModeText(ctx context.Context, name, value string) (string, error) {
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
	s.txn.Ensure()
	return value, s.setTxnModes(ctx, &m)
}

func (s *Session) setCharacteristics(m *ast.TxnModes) error {
	set := func(name, value string) error { _, err := s.vals.Set(name, value, false); return err }
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

// showValue is what SHOW prints; parameters of the transaction come from it.
func (s *Session) showValue(name string) (string, bool) {
	switch strings.ToLower(name) {
	case "transaction_isolation":
		return s.txn.Isolation(), true
	case "transaction_read_only":
		return onOff(s.txn.ReadOnly()), true
	case "transaction_deferrable":
		return onOff(s.txn.Modes().Deferrable), true
	case "session_authorization":
		return s.user, true
	case "database":
		return s.db.Name, true
	}
	return s.vals.Get(name)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func textColumn(name string) plan.Column { return plan.Column{Name: name, Type: types.Text} }

// show executes SHOW of a parameter, and SHOW ALL.
func (x *execution) show(st *ast.Show) error {
	s := x.s
	if strings.EqualFold(st.Name, "all") {
		return x.showAll()
	}
	v, ok := s.showValue(st.Name)
	if !ok {
		return settings.Unrecognized(st.Name)
	}
	if err := x.announce([]plan.Column{textColumn(settingName(st.Name))}); err != nil {
		return err
	}
	return x.res.Row([]types.Datum{types.NewString(v)})
}

// settingName is the name as the parameter itself spells it.
func settingName(name string) string {
	for _, p := range settings.All() {
		if strings.EqualFold(p.Name, name) {
			return p.Name
		}
	}
	return name
}

func (x *execution) showAll() error {
	s := x.s
	if err := x.announce([]plan.Column{textColumn("name"), textColumn("setting"), textColumn("description")}); err != nil {
		return err
	}
	for _, p := range settings.All() {
		if p.Unlisted() {
			continue
		}
		v, _ := s.showValue(p.Name)
		doc := p.Doc
		if p.NoEffect {
			doc = "no effect: " + p.Why
		}
		row := []types.Datum{types.NewString(p.Name), types.NewString(v), types.NewString(doc)}
		if err := x.res.Row(row); err != nil {
			return err
		}
	}
	return nil
}

// use is USE database.
func (s *Session) use(ctx context.Context, name string) error {
	if s.txn.InBlock() {
		return pgerr.New(pgerr.ActiveSQLTransaction, "the database cannot be changed inside a transaction block")
	}
	db, err := s.srv.cfg.Catalog.DatabaseByName(ctx, name)
	if err != nil {
		return err
	}
	s.mu.Lock() // Activity reads it
	s.db = db
	s.mu.Unlock()
	s.coll.SetSession(db, s)
	s.planner.SetDatabase(db.ID)
	return nil
}
