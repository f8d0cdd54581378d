package sqlnode

import (
	"context"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
)

// settings implements clustersetting.Source.
type settings struct{ n *Node }

var _ clustersetting.Source = settings{}

// Live implements clustersetting.Source.
func (s settings) Live() *setting.Live { return s.n.o.Settings }

// Changed implements clustersetting.Source.
func (s settings) Changed(ctx context.Context) {
	if _, err := s.n.kv.Config.Read(ctx); err != nil {
		s.n.o.Logger.Warn("reading the cluster settings", "err", err) // they are read again in a moment
	}
}
