package clustersetting

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// Source gives access to the settings of the cluster. The statements write the records
// themselves.
type Source interface {
	// Live returns the values that hold on this node.
	Live() *setting.Live
	// Changed is called after a commit that changed settings. When it returns they hold
	// on this node; the others follow within a few seconds.
	Changed(context.Context)
}

// Get returns the values that hold on this node: the defaults if src is nil.
func Get(src Source) *setting.Values {
	if src == nil {
		v := setting.Default()
		return &v
	}
	return src.Live().Get()
}

func errNoSource() error { return pgerr.Unsupported("this server has no cluster settings") }

// Pending counts the changes of a transaction, which take effect after its commit.
type Pending struct{ changes int }

// Mark returns the present state, for RollbackTo.
func (p *Pending) Mark() int { return p.changes }

// RollbackTo forgets the changes since mark; 0 forgets all.
func (p *Pending) RollbackTo(mark int) { p.changes = min(mark, p.changes) }

// Committed makes the changes take effect: their transaction has committed.
func (p *Pending) Committed(ctx context.Context, src Source) {
	if p.changes > 0 {
		p.changes = 0
		src.Changed(ctx)
	}
}

var settingColumns = []plan.Column{
	{Name: "variable", Type: types.Text}, {Name: "value", Type: types.Text}, {Name: "setting_type", Type: types.Text},
	{Name: "description", Type: types.Text}, {Name: "default_value", Type: types.Text}, {Name: "origin", Type: types.Text},
}

// findSetting returns the cluster setting of a name.
func findSetting(name string, at ast.Loc) (*setting.Setting, error) {
	s, ok := setting.Find(name)
	if ok {
		return s, nil
	}
	err := pgerr.New(pgerr.UndefinedObject, "unknown cluster setting \"%s\"", name).At(at.Pos)
	if like := setting.Suggest(name); like != "" {
		return nil, err.WithHint("Did you mean \"%s\"? SHOW CLUSTER SETTINGS lists them all.", like)
	}
	return nil, err.WithHint("SHOW CLUSTER SETTINGS lists them all.")
}

// Columns returns the columns of a statement that shows cluster settings; nil for any other
// statement.
func Columns(stmt ast.Statement) []plan.Column {
	st, ok := stmt.(*ast.ShowObjects)
	switch {
	case !ok:
		return nil
	case st.Kind == ast.ShowClusterSettings:
		return settingColumns
	case st.Kind == ast.ShowClusterSetting:
		return []plan.Column{{Name: st.Setting, Type: types.Text}}
	}
	return nil
}

// Set executes SET CLUSTER SETTING and RESET CLUSTER SETTING: a write of the transaction.
func (p *Pending) Set(txn *kv.Txn, src Source, st *ast.SetClusterSetting, format *types.FormatContext) error {
	if src == nil {
		return errNoSource()
	}
	s, err := findSetting(st.Name, st.Loc)
	if err != nil {
		return err
	}
	if st.Value == nil {
		err = kv.DeleteSetting(txn, s.Name)
	} else {
		var text string
		if text, err = valueText(s, st.Value, format); err == nil {
			err = kv.PutSetting(txn, s.Name, text)
		}
	}
	if err == nil {
		p.changes++
	}
	return err
}

// valueText reads the value of SET CLUSTER SETTING: a literal. A duration may be written as an
// interval too.
func valueText(c *setting.Setting, x ast.Expr, format *types.FormatContext) (string, error) {
	given, err := ast.LiteralText(x)
	if err != nil {
		return "", pgerr.New(pgerr.SyntaxError, "SET CLUSTER SETTING takes a literal only").At(x.Position())
	}
	text, err := c.Parse(given)
	if err != nil && c.Type == setting.Duration && strings.TrimSpace(given) != "" {
		if d, ok := intervalText(given, format); ok {
			text, err = c.Parse(d.String())
		}
	}
	if err != nil {
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for cluster setting \"%s\": %v", c.Name, err).At(x.Position())
	}
	return text, nil
}

// intervalText reads an interval without months.
func intervalText(text string, format *types.FormatContext) (time.Duration, bool) {
	d, err := typeio.ParseText(types.Interval, text, format)
	if err != nil {
		return 0, false
	}
	iv := d.Interval()
	const maxDays = 100000
	if iv.Months != 0 || iv.Days < -maxDays || iv.Days > maxDays || iv.Micros/1e6 > maxDays*86400 || iv.Micros/1e6 < -maxDays*86400 {
		return 0, false
	}
	return time.Duration(iv.Days)*24*time.Hour + time.Duration(iv.Micros)*time.Microsecond, true
}

// Show executes SHOW CLUSTER SETTING and SHOW CLUSTER SETTINGS: it returns the settings as the
// transaction sees them.
func Show(ctx context.Context, src Source, txn *kv.Txn, st *ast.ShowObjects) ([][]types.Datum, error) {
	if src == nil {
		return nil, errNoSource()
	}
	list := setting.All()
	if st.Kind == ast.ShowClusterSetting {
		s, err := findSetting(st.Setting, st.Loc)
		if err != nil {
			return nil, err
		}
		list = []*setting.Setting{s}
	}
	stored, err := kv.Settings(ctx, txn)
	if err != nil {
		return nil, err
	}
	base := src.Live().Base()
	v, _ := base.With(stored)
	normal := setting.Default()
	rows := make([][]types.Datum, len(list))
	for i, s := range list {
		if st.Kind == ast.ShowClusterSetting {
			rows[i] = []types.Datum{types.NewString(s.Text(&v))}
			continue
		}
		origin := "default"
		if _, ok := stored[s.Name]; ok {
			origin = "cluster"
		} else if s.Text(&base) != s.Text(&normal) {
			origin = "flag of this node"
		}
		rows[i] = []types.Datum{
			types.NewString(s.Name), types.NewString(s.Text(&v)), types.NewString(string(s.Type)),
			types.NewString(s.Doc), types.NewString(s.Text(&normal)), types.NewString(origin),
		}
	}
	return rows, nil
}

// SetDefaults gives the parameters of a new session the defaults that the cluster settings say.
func SetDefaults(src Source, vals *settings.Values) error {
	if src == nil {
		return nil
	}
	v, normal := src.Live().Get(), setting.Default()
	for _, d := range []struct{ param, setting string }{
		{"statement_timeout", "sql.defaults.statement_timeout"},
		{"idle_in_transaction_session_timeout", "sql.defaults.idle_in_transaction_session_timeout"},
		{"idle_session_timeout", "sql.defaults.idle_in_session_timeout"},
		{"default_int_size", "sql.defaults.default_int_size"},
		{"datestyle", "sql.defaults.datestyle"},
		{"intervalstyle", "sql.defaults.intervalstyle"},
	} {
		c, ok := setting.Find(d.setting)
		if !ok || c.Text(v) == c.Text(&normal) {
			continue
		}
		if err := vals.SetDefault(d.param, sessionText(c, v), "configuration file"); err != nil {
			return err
		}
	}
	return nil
}

// sessionText writes the value of a setting as a session writes its parameter.
func sessionText(c *setting.Setting, v *setting.Values) string {
	text := c.Text(v)
	if d, err := time.ParseDuration(text); c.Type == setting.Duration && err == nil {
		return strconv.FormatInt(d.Milliseconds(), 10) // the unit of a plain number
	}
	return text
}
