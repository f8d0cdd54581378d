package sql

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/types"
)

// execSessionStmt executes the statements that act on the session alone, which
// are not planned; handled is false for all others.
func (s *Session) execSessionStmt(ctx context.Context, x *execution, stmt ast.Statement) (tag string, handled bool, err error) {
	switch st := stmt.(type) {
	case *ast.Begin, *ast.Commit, *ast.Rollback, *ast.Savepoint, *ast.Release, *ast.RollbackTo:
		tag, err = s.execTxnControl(ctx, stmt, x.res)
	case *ast.SetVar:
		tag, err = s.execSet(ctx, st, x.res)
	case *ast.Use:
		tag, err = "SET", s.execUse(ctx, string(st.Database))
	case *ast.SetTransaction:
		tag, err = "SET", s.execSetTransaction(ctx, st, x.res)
	case *ast.SetConstraints:
		tag, err = "SET CONSTRAINTS", s.execSetConstraints(ctx, st, x.res)
	case *ast.Show:
		tag, err = "SHOW", s.execShow(x, st)
	case *ast.Prepare:
		tag, err = "PREPARE", s.execPrepare(ctx, st)
	case *ast.Deallocate:
		tag, err = s.execDeallocate(st)
	case *ast.Discard:
		if st.Kind == ast.DiscardTemp {
			return "", false, nil // changes the catalog
		}
		tag, err = s.execDiscard(ctx, st)
	case *ast.DeclareCursor:
		tag, err = "DECLARE CURSOR", s.declareCursor(ctx, x, st)
	case *ast.Fetch:
		tag, err = s.execFetch(ctx, x, st)
	case *ast.Cancel:
		tag, err = s.execCancel(ctx, st)
	case *ast.CloseCursor:
		tag, err = st.Tag(), s.closeCursor(st)
	case *ast.Unlisten:
		tag = st.Tag() // LISTEN is refused, so there is nothing to end
	default:
		if what := outsideBlocks(stmt); what != "" && s.txn.block != blockNone {
			return "", true, pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", what)
		}
		if _, ok := stmt.(*ast.LockTable); ok && s.txn.block == blockNone {
			return "", true, pgerr.New(pgerr.NoActiveSQLTransaction, "LOCK TABLE can only be used in transaction blocks")
		}
		if ddl.Handles(stmt) {
			return "", false, nil
		}
		if n, ok := ddl.NothingToDrop(stmt); ok {
			x.res.Notice("NOTICE", n)
			return stmt.Tag(), true, nil
		}
		if n, ok := ddl.NoEffect(stmt); ok {
			x.res.Notice("NOTICE", n)
			return stmt.Tag(), true, nil
		}
		return "", false, nil
	}
	return tag, true, err
}

func (s *Session) execSet(ctx context.Context, st *ast.SetVar, res Results) (string, error) {
	tag := "SET"
	if st.Reset {
		tag = "RESET"
		if st.Name == "" || st.Name == "all" {
			s.vals.ResetAll()
			return tag, nil
		}
	}
	local := st.Scope == ast.ScopeLocal
	if local && s.txn.block == blockNone {
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
		return value, s.execUse(ctx, value)
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
		text, err := literalText(v)
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

func literalText(e ast.Expr) (string, error) {
	switch v := e.(type) {
	case *ast.StrLit:
		return v.Val, nil
	case *ast.IntLit:
		return strconv.FormatInt(v.Val, 10), nil
	case *ast.NumLit:
		return v.Text, nil
	case *ast.BoolLit:
		if v.Val {
			return "on", nil
		}
		return "off", nil
	case *ast.UnaryOp:
		text, err := literalText(v.X)
		return v.Op.Name + text, err
	case *ast.Cast:
		if v.Type.Names[len(v.Type.Names)-1] == types.Interval.Name {
			return intervalZone(v)
		}
		return literalText(v.X)
	case *ast.ColumnRef:
		return ast.Format(v), nil
	}
	return "", pgerr.New(pgerr.SyntaxError, "SET takes literals only").At(e.Position())
}

// intervalZone returns the time zone that SET TIME ZONE INTERVAL names.
func intervalZone(c *ast.Cast) (string, error) {
	t, err := planner.ResolveType(c.Type, 8)
	if err != nil {
		return "", err
	}
	text, err := literalText(c.X)
	if err != nil {
		return "", err
	}
	d, err := types.ParseText(t, text, &types.FormatContext{})
	if err != nil {
		return "", err
	}
	v := d.Interval()
	bad := pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"TimeZone\": \"INTERVAL '%s'\"", types.FormatDatum(t, d, &types.FormatContext{}))
	switch {
	case v.Months != 0:
		return "", bad.WithDetail("Cannot specify months in time zone interval.")
	case v.Days != 0:
		return "", bad.WithDetail("Cannot specify days in time zone interval.")
	}
	return types.OffsetZone(int(v.Micros / 1e6)), nil
}

func (s *Session) execSetTransaction(ctx context.Context, st *ast.SetTransaction, res Results) error {
	if st.Session {
		return s.setCharacteristics(&st.Modes)
	}
	if s.txn.block == blockNone {
		res.Notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "SET TRANSACTION can only be used in transaction blocks"))
		return nil
	}
	if st.Snapshot != "" {
		return s.importSnapshot(st.Snapshot)
	}
	return s.setTxnModes(ctx, &st.Modes)
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
		return s.isolationName(), true
	case "transaction_read_only":
		return onOff(s.readOnly()), true
	case "transaction_deferrable":
		return onOff(s.currentModes().deferrable), true
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

func (s *Session) execShow(x *execution, st *ast.Show) error {
	if strings.EqualFold(st.Name, "all") {
		return s.showAll(x)
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

func (s *Session) showAll(x *execution) error {
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

func (s *Session) execDeallocate(st *ast.Deallocate) (string, error) {
	if st.All {
		s.forgetStatements()
		return "DEALLOCATE ALL", nil
	}
	if s.statements[string(st.Name)] == nil {
		return "", pgerr.New(pgerr.InvalidSQLStatementName, "prepared statement %q does not exist", string(st.Name))
	}
	s.CloseStatement(string(st.Name))
	return "DEALLOCATE", nil
}

// outsideBlocks returns what errors call a statement that runs in no transaction block, "" for
// others.
func outsideBlocks(stmt ast.Statement) string {
	switch st := stmt.(type) {
	case *ast.Vacuum:
		if !st.AnalyzeOnly {
			return "VACUUM"
		}
	case *ast.CreateIndex:
		if st.Concurrently {
			return "CREATE INDEX CONCURRENTLY"
		}
	case *ast.Drop:
		if st.Concurrently {
			return "DROP INDEX CONCURRENTLY"
		}
	case *ast.Reindex:
		switch {
		case st.Concurrently:
			return "REINDEX CONCURRENTLY"
		case st.Kind == ast.ObjDatabase || st.Kind == ast.ObjSchema || st.System:
			return st.Tag() + " " + reindexed(st)
		}
	case *ast.Cluster:
		if st.Table == nil {
			return "CLUSTER"
		}
	}
	return ""
}

// reindexed is the word for what REINDEX is of.
func reindexed(st *ast.Reindex) string {
	if st.System {
		return "SYSTEM"
	}
	return st.Kind.String()
}

func (s *Session) execDiscard(ctx context.Context, st *ast.Discard) (string, error) {
	switch st.Kind {
	case ast.DiscardAll:
		if s.txn.block != blockNone {
			return "", pgerr.New(pgerr.ActiveSQLTransaction, "DISCARD ALL cannot run inside a transaction block")
		}
		s.closePortals()
		s.advisory.UnlockAll(ctx)
		s.forgetStatements()
		s.vals.ResetAll()
		s.sequences.reset()
		if name := s.coll.TempSchemaName(); name != "" {
			if s.txn.open {
				return "DISCARD ALL", s.dropTempHere(ctx, name)
			}
			return "DISCARD ALL", s.dropTempSchema(ctx, name)
		}
		return "DISCARD ALL", nil
	case ast.DiscardPlans:
		return "DISCARD PLANS", nil
	case ast.DiscardSequences:
		s.sequences.reset()
		return "DISCARD SEQUENCES", nil
	}
	return "", pgerr.New(pgerr.InternalError, "DISCARD of an unknown kind")
}

// asOf evaluates the expression of AS OF SYSTEM TIME: a timestamp, an interval
// before now ('-10s'), or a hybrid logical timestamp as a decimal number.
func (s *Session) asOf(ctx context.Context, e ast.Expr) (hlc.Timestamp, error) {
	d, t, err := s.evalConst(ctx, e)
	if err != nil {
		return hlc.Timestamp{}, err
	}
	now := s.srv.cfg.DB.Clock().Now()
	ts, err := s.asOfDatum(d, t, now)
	bad := ""
	switch {
	case err != nil:
		return hlc.Timestamp{}, err
	case now.Less(ts):
		bad = "cannot specify timestamp in the future"
	case ts.WallTime == 0:
		bad = "zero timestamp is invalid"
	case ts.WallTime < 0:
		bad = "timestamp before 1970-01-01T00:00:00Z is invalid"
	default:
		return ts, nil
	}
	return hlc.Timestamp{}, pgerr.New(pgerr.InvalidParameterValue, "AS OF SYSTEM TIME: %s", bad).At(e.Position())
}

func (s *Session) asOfDatum(d types.Datum, t *types.T, now hlc.Timestamp) (hlc.Timestamp, error) {
	const epoch = 946684800_000_000 // 2000-01-01 in microseconds of Unix time
	at := func(micros int64) hlc.Timestamp { return wallTime(float64(micros)+epoch, (micros+epoch)*1000) }
	back := func(iv types.IntervalValue) hlc.Timestamp {
		days := int64(iv.Days) + 30*int64(iv.Months)
		rough := float64(now.WallTime)/1000 + float64(iv.Micros) + float64(days)*86400e6
		return wallTime(rough, now.WallTime+(iv.Micros+days*86400_000_000)*1000)
	}
	bad := pgerr.New(pgerr.InvalidParameterValue, "AS OF SYSTEM TIME: expected a timestamp, an interval or a decimal number")
	switch t.Family {
	case types.TimestampTZFamily, types.TimestampFamily:
		return at(d.Int()), nil
	case types.IntervalFamily:
		return back(d.Interval()), nil
	case types.IntFamily:
		return hlc.Timestamp{WallTime: d.Int()}, nil
	case types.DecimalFamily:
		return parseHLC(string(types.AppendText(nil, types.Numeric, d, &s.vals.Format)), bad)
	case types.StringFamily:
		if ts, err := parseHLC(d.Str(), bad); err == nil {
			return ts, nil
		}
		if v, err := types.ParseText(types.Interval, d.Str(), &s.vals.Format); err == nil {
			return back(v.Interval()), nil
		}
		v, err := types.ParseText(types.TimestampTZ, d.Str(), &s.vals.Format)
		if err != nil {
			return hlc.Timestamp{}, bad
		}
		return at(v.Int()), nil
	}
	return hlc.Timestamp{}, bad
}

// wallTime is a time in nanoseconds, which did not overflow if it is near micros; what is too
// far away lies at the end of time.
func wallTime(micros float64, nanos int64) hlc.Timestamp {
	const most = math.MaxInt64 / 1000
	if micros >= most || micros <= -most {
		nanos = math.MaxInt64
		if micros < 0 {
			nanos = math.MinInt64
		}
	}
	return hlc.Timestamp{WallTime: nanos}
}

// parseHLC reads nanoseconds with the logical part as ten decimals.
func parseHLC(s string, bad error) (ts hlc.Timestamp, err error) {
	wall, logical, _ := strings.Cut(s, ".")
	if ts.WallTime, err = strconv.ParseInt(wall, 10, 64); err != nil || ts.WallTime < 0 {
		return ts, bad
	}
	if logical != "" {
		n, err := strconv.ParseUint((logical + "0000000000")[:10], 10, 32)
		if err != nil {
			return ts, bad
		}
		ts.Logical = uint32(n)
	}
	return ts, nil
}

// execUse is the dialect's USE database.
func (s *Session) execUse(ctx context.Context, name string) error {
	if s.txn.block != blockNone {
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
	return nil
}
