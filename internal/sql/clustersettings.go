package sql

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
	"github.com/lichendb/lichen/internal/sql/types"
)

// ClusterSettings is what SQL needs of the settings of the cluster, whose records it
// writes itself.
type ClusterSettings interface {
	// Live are the values that hold on this node.
	Live() *setting.Live
	// Changed is called after a commit that changed settings; when it returns they hold
	// on this node. The others follow within a few seconds.
	Changed(context.Context)
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
	err := pgerr.New(pgerr.UndefinedObject, "unknown cluster setting %q", name).At(at.Pos)
	if like := setting.Suggest(name); like != "" {
		return nil, err.WithHint("Did you mean %q? SHOW CLUSTER SETTINGS lists them all.", like)
	}
	return nil, err.WithHint("SHOW CLUSTER SETTINGS lists them all.")
}

func (s *Server) clusterSettings() (ClusterSettings, error) {
	if s.cfg.Settings == nil {
		return nil, pgerr.Unsupported("this server has no cluster settings")
	}
	return s.cfg.Settings, nil
}

// setClusterSetting is SET CLUSTER SETTING and RESET CLUSTER SETTING: a write of the
// transaction, which takes effect when that has been committed.
func (x *execution) setClusterSetting(ctx context.Context, st *ast.SetClusterSetting) error {
	if _, err := x.s.srv.clusterSettings(); err != nil {
		return err
	}
	if err := x.writable(st.Tag()); err != nil {
		return err
	}
	s, err := findSetting(st.Name, st.Loc)
	if err != nil {
		return err
	}
	txn := x.s.txn.txn
	if st.Value == nil {
		err = kv.DeleteSetting(txn, s.Name)
	} else {
		var text string
		if text, err = x.s.clusterSettingText(s, st); err == nil {
			err = kv.PutSetting(txn, s.Name, text)
		}
	}
	if err != nil {
		return err
	}
	x.s.rangeOps = append(x.s.rangeOps, rangeOp{settings: true})
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	x.warn()
	return x.res.Complete(st.Tag())
}

// clusterSettingText reads the value of SET CLUSTER SETTING: a literal. Durations may be
// written as intervals too.
func (s *Session) clusterSettingText(c *setting.Setting, st *ast.SetClusterSetting) (string, error) {
	given, err := literalText(st.Value)
	if err != nil {
		return "", pgerr.New(pgerr.SyntaxError, "SET CLUSTER SETTING takes a literal only").At(st.Value.Position())
	}
	text, err := c.Parse(given)
	if err != nil && c.Type == setting.Duration && strings.TrimSpace(given) != "" {
		if d, ok := s.intervalText(given); ok {
			text, err = c.Parse(d.String())
		}
	}
	if err != nil {
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid value for cluster setting %q: %v", c.Name, err).At(st.Value.Position())
	}
	return text, nil
}

// intervalText reads an interval without months.
func (s *Session) intervalText(text string) (time.Duration, bool) {
	d, err := types.ParseText(types.Interval, text, s.Format())
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

// showClusterSettings is SHOW CLUSTER SETTING and SHOW CLUSTER SETTINGS: the settings as
// the transaction sees them.
func (x *execution) showClusterSettings(ctx context.Context, st *ast.ShowObjects) ([][]types.Datum, error) {
	c, err := x.s.srv.clusterSettings()
	if err != nil {
		return nil, err
	}
	list := setting.All()
	if st.Kind == ast.ShowClusterSetting {
		s, err := findSetting(st.Setting, st.Loc)
		if err != nil {
			return nil, err
		}
		list = []*setting.Setting{s}
	}
	stored, err := kv.Settings(ctx, x.s.txn.txn)
	if err != nil {
		return nil, err
	}
	base := c.Live().Base()
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

// setDefaults gives a new session the parameters that the cluster settings say.
func (s *Session) setDefaults() error {
	if s.srv.cfg.Settings == nil {
		return nil
	}
	live := s.srv.cfg.Settings.Live()
	v, normal := live.Get(), setting.Default()
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
		if err := s.vals.SetDefault(d.param, sessionText(c, v), "configuration file"); err != nil {
			return err
		}
	}
	return nil
}

// sessionText is a setting's value as a session's parameter is written.
func sessionText(c *setting.Setting, v *setting.Values) string {
	text := c.Text(v)
	if d, err := time.ParseDuration(text); c.Type == setting.Duration && err == nil {
		return strconv.FormatInt(d.Milliseconds(), 10) // the unit of a plain number
	}
	return text
}
