package ranges

import (
	"context"
	"maps"
	"slices"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The tiers of a locality that stand for places of the usual size.
const (
	tierRegion = "region"
	tierZone   = "zone"
)

// region is what the nodes of one region report of it.
type region struct {
	zones map[string]bool
	nodes []types.Datum
}

// showRegions is SHOW REGIONS: the regions that the localities of the nodes name, with
// their zones and nodes. Nodes without a region belong to none.
func (e *Env) showRegions(ctx context.Context) ([][]types.Datum, error) {
	c, err := e.cluster()
	if err != nil {
		return nil, err
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	regions := map[string]*region{}
	for i := range nodes {
		tiers := maps.Collect(zone.Tiers(nodes[i].Locality))
		name := tiers[tierRegion]
		if name == "" {
			continue
		}
		g := regions[name]
		if g == nil {
			g = &region{zones: map[string]bool{}}
			regions[name] = g
		}
		if z := tiers[tierZone]; z != "" {
			g.zones[z] = true
		}
		g.nodes = append(g.nodes, types.NewInt(int64(nodes[i].ID)))
	}
	var rows [][]types.Datum
	for _, name := range slices.Sorted(maps.Keys(regions)) {
		var zones []types.Datum
		for _, z := range slices.Sorted(maps.Keys(regions[name].zones)) {
			zones = append(zones, types.NewString(z))
		}
		rows = append(rows, []types.Datum{types.NewString(name), types.NewArray(zones), types.NewArray(regions[name].nodes)})
	}
	return rows, nil
}
