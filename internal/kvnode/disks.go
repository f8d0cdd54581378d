package kvnode

import (
	"context"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/liveness"
	"github.com/lichendb/lichen/internal/store"
)

const (
	// diskPoll is the interval between two looks at the state of the disks, shedEvery that
	// between two offers of the leaderships of full stores.
	diskPoll  = 100 * time.Millisecond
	shedEvery = time.Second
)

// watchDisks notifies the other nodes of a disk that is full, slow or stalled, and offers them
// the leaderships of full stores, until ctx ends.
func (n *Node) watchDisks(ctx context.Context) {
	t := time.NewTicker(diskPoll)
	defer t.Stop()
	was := n.diskStates()
	var shedAt time.Time
	for attempt := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now, is := time.Now(), n.diskStates()
		if !slices.Equal(is, was) {
			was = is
			n.GossipInfo()
			n.Balance.Wake()
		}
		if n.Live != nil && now.Sub(shedAt) > shedEvery {
			shedAt = now
			attempt++
			n.ShedLeaders(attempt)
		}
	}
}

// GossipInfo sends the other nodes this node's changed info at once.
func (n *Node) GossipInfo() {
	n.Stats.Changed()
	if n.Live != nil {
		n.Live.HeartbeatNow()
	}
}

func (n *Node) diskStates() []store.DiskState {
	out := make([]store.DiskState, len(n.Store.Stores()))
	for i, st := range n.Store.Stores() {
		out[i] = st.Disk()
	}
	return out
}

// StoreInfos returns the infos of this node's stores: their last measurements, and the present states of
// their disks.
func (n *Node) StoreInfos() []liveness.StoreInfo {
	var out []liveness.StoreInfo
	measured := n.Stats.Stores()
	for _, st := range n.Store.Stores() {
		id, disk := st.Identity().Store, st.Disk()
		if id == 0 {
			continue
		}
		s := liveness.StoreInfo{ID: id}
		for i := range measured {
			if measured[i].ID == id {
				s = measured[i]
			}
		}
		s.Stalled, s.Full, s.Slow, s.Late = disk.Stalled, disk.Full, disk.Slow, disk.Late
		out = append(out, s)
	}
	return out
}
