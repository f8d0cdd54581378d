package store

import (
	"context"
	"encoding/json"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// Tests of several stores lie outside the package, since clustertest imports it. They need these parts of it.
const (
	ArrivalTimeout  = arrivalTimeout
	SnapshotAgain   = snapshotAgain
	CollectTick     = collectTick
	DiskEvery       = diskEvery
	PartBegin       = partBegin
	PartChunk       = partChunk
	PartEnd         = partEnd
	PartHeader      = partHeader
	SnapshotDir     = snapshotDir
	SnapshotVersion = snapshotVersion
	WellAfter       = wellAfter
)

var ChunkSums = chunkSums

// FS returns the file system as the store sees it.
func (s *Store) FS() fs.FS { return s.opts.FS }

// AdmitWrite fails while the store admits no writes.
func (s *Store) AdmitWrite() error { return s.admitWrite() }

// All returns all replicas, including those without data.
func (s *Store) All() []*replica.Replica { return s.all() }

// RemovedLogs counts the logs of replicas that were removed.
func (s *Store) RemovedLogs() int { return len(s.removed.logs) }

// DestroyLogs destroys the logs of removed replicas whose end is durable.
func (s *Store) DestroyLogs() { newMaintenance(s).destroyLogs() }

// SetSupport replaces the state of support, before the store starts.
func (s *Store) SetSupport(to replica.Support) { s.net.Support = to }

// Tombstone returns the id below which replicas of a range may not come back.
func (s *Store) Tombstone(id kvpb.RangeID) (kvpb.ReplicaID, error) { return s.tombstone(id) }

// Elections returns how many replicas are queued for a campaign, and how many campaign.
func (s *Store) Elections() (waiting, campaigning int) {
	s.elections.mu.Lock()
	defer s.elections.mu.Unlock()
	return s.elections.campaigns.Counts()
}

// TickElections begins the campaigns whose turn it is.
func (s *Store) TickElections() {
	s.elections.tick()
	s.elections.startCampaigns()
}

// RaftMessage returns the raft message in a message between stores.
func RaftMessage(msg []byte) ([]byte, error) {
	var e envelope
	err := e.decode(msg)
	return e.raft, err
}

// RaftRange returns the range that a raft message between stores belongs to, 0 if it is damaged.
func RaftRange(msg []byte) kvpb.RangeID {
	var e envelope
	if e.decode(msg) != nil {
		return 0
	}
	return e.id
}

// Arrivals counts the snapshots that are being received.
func (s *Store) Arrivals() int {
	s.snapshots.mu.Lock()
	defer s.snapshots.mu.Unlock()
	return len(s.snapshots.arrivals.byKey)
}

// ReceiveSnapshot handles a part of a snapshot.
func (s *Store) ReceiveSnapshot(ctx context.Context, from kvpb.NodeID, part []byte) ([]byte, error) {
	return s.receiveSnapshot(ctx, from, part)
}

// SnapshotHead encodes the head of a snapshot of a range that raft sends in a message.
func SnapshotHead(d *kvpb.RangeDescriptor, from, to kvpb.ReplicaDescriptor, st apply.State, raft []byte) ([]byte, error) {
	e := envelope{id: d.RangeID, from: from, to: to, start: d.StartKey, raft: raft}
	return json.Marshal(snapshotHead{Envelope: e.encode(), Desc: apply.EncodeDescriptor(d), State: st})
}
