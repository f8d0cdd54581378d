package server

import (
	"context"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
)

// baseSettings are the cluster settings where nothing is stored: the flags of the node.
func baseSettings(cfg *config.Node) setting.Values {
	v := setting.Default()
	v.DrainTimeout = cfg.Drain
	if cfg.DeadAfter > 0 {
		v.DeadAfter = cfg.DeadAfter
	}
	return v
}

// applySettings makes the stored cluster settings hold on this node.
func (n *Node) applySettings(stored map[string]string) {
	changed, problems := n.settings.Update(stored)
	if !changed {
		return
	}
	for _, err := range problems {
		n.log.Warn("a cluster setting was left out", "err", err)
	}
	v := n.settings.Get()
	n.log.Info("cluster settings changed", "set", len(stored))
	for _, st := range n.kv.Store.Stores() {
		st.SetSnapshotRate(v.SnapshotRate)
		st.SetSlowSync(v.SlowSync)
	}
	n.kv.Balance.SettingsChanged()
}

// sqlSettings implements clustersetting.Source.
type sqlSettings struct{ n *Node }

var _ clustersetting.Source = sqlSettings{}

// Live implements clustersetting.Source.
func (s sqlSettings) Live() *setting.Live { return s.n.settings }

// Changed implements clustersetting.Source.
func (s sqlSettings) Changed(ctx context.Context) {
	if _, err := s.n.kv.Config.Read(ctx); err != nil {
		s.n.log.Warn("reading the cluster settings", "err", err) // they are read again in a moment
	}
}
