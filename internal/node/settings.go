package node

import (
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/config/setting"
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
