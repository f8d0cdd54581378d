package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/snapshot"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// SnapshotLimits bound the rate and the number of snapshots. Zero fields mean the defaults.
type SnapshotLimits struct {
	// BytesPerSecond bounds the rate of all outgoing snapshots together.
	BytesPerSecond int64
	// ChunkBytes is the approximate size of a chunk, and so of the memory that a snapshot takes at each
	// end.
	ChunkBytes int
	// Outgoing and Incoming bound the concurrent snapshots in each direction.
	Outgoing, Incoming int
}

// Defaults of SnapshotLimits.
const (
	DefaultSnapshotBytesPerSecond = 32 << 20
	DefaultSnapshotChunkBytes     = 1 << 20
	DefaultOutgoingSnapshots      = 2
	DefaultIncomingSnapshots      = 2
)

// Timeouts of snapshots.
const (
	// chunkTimeout bounds the transfer of a chunk, installTimeout the installation.
	chunkTimeout   = 30 * time.Second
	installTimeout = 2 * time.Minute
	// arrivalTimeout is the time without progress after which an incoming snapshot is given up.
	arrivalTimeout = 45 * time.Second
	// snapshotAgain is the pause after a snapshot that could not be sent.
	snapshotAgain = 500 * time.Millisecond
)

// SetSnapshotRate sets the bytes of snapshots that the store sends per second.
func (s *Store) SetSnapshotRate(bytesPerSecond int64) { s.snapshots.rate.Store(bytesPerSecond) }

func (l *SnapshotLimits) fill() {
	if l.BytesPerSecond <= 0 {
		l.BytesPerSecond = DefaultSnapshotBytesPerSecond
	}
	if l.ChunkBytes <= 0 {
		l.ChunkBytes = DefaultSnapshotChunkBytes
	}
	if l.Outgoing <= 0 {
		l.Outgoing = DefaultOutgoingSnapshots
	}
	if l.Incoming <= 0 {
		l.Incoming = DefaultIncomingSnapshots
	}
}

// snapshots are the snapshots being sent or received.
type snapshots struct {
	limits SnapshotLimits
	rate   atomic.Int64 // bytes per second to send
	pace   pace
	wg     sync.WaitGroup // of outgoing snapshots

	sent, sentBytes, received, receivedBytes atomic.Int64

	mu       sync.Mutex
	closed   bool
	outgoing int
	next     uint64
	arrivals arrivals
}

// SnapshotStats are the snapshots that a store has sent and received since it was opened.
type SnapshotStats struct{ Sent, SentBytes, Received, ReceivedBytes int64 }

// SnapshotStats returns them.
func (s *Store) SnapshotStats() SnapshotStats {
	sn := &s.snapshots
	return SnapshotStats{sn.sent.Load(), sn.sentBytes.Load(), sn.received.Load(), sn.receivedBytes.Load()}
}

// pace limits the rate of sent bytes.
type pace struct {
	mu   sync.Mutex
	next time.Time // when all bytes so far have been paid for
}

// wait returns when n more bytes may be sent.
func (p *pace) wait(ctx context.Context, n int, perSecond int64) error {
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	due := p.next
	p.next = p.next.Add(time.Duration(float64(n) / float64(perSecond) * float64(time.Second)))
	p.mu.Unlock()
	return sleep.For(ctx, time.Until(due))
}

// snapshotVersion is the version of the snapshot format on the wire (docs/formats/snapshots.md).
const snapshotVersion = 2

// The parts of a snapshot. Each is one call.
const (
	partBegin byte = 1 + iota
	partChunk
	partEnd
	partAbort
)

// partHeader is the length of a part's header: version, part and the snapshot's number. chunkHeader
// is the length of a chunk's header in the body: sequence number and checksum.
const (
	partHeader  = 1 + 1 + 8
	chunkHeader = 4 + 4
)

// chunkSums is the table of chunk checksums.
var chunkSums = crc32.MakeTable(crc32.Castagnoli)

// snapshotHead is the first part of a snapshot.
type snapshotHead struct {
	Envelope  []byte // with the raft message
	Desc      []byte
	State     apply.State
	Threshold hlc.Timestamp
	// Bytes estimates the size of the tables on disk.
	Bytes uint64
}

// sendSnapshot sends a snapshot on a goroutine of its own.
func (s *Store) sendSnapshot(r *replica.Replica, to kvpb.ReplicaDescriptor, snap *snapshot.Outgoing, done func(bool)) {
	sn := &s.snapshots
	sn.mu.Lock()
	closed := sn.closed || s.net.Transport == nil
	busy := closed || sn.outgoing >= sn.limits.Outgoing
	if !busy {
		sn.outgoing++
		sn.next++
	}
	number := sn.next<<16 | uint64(s.Identity().Store)&0xffff
	if !closed {
		sn.wg.Add(1)
	}
	sn.mu.Unlock()
	if closed {
		snap.Close()
		s.workers.Go(func() { done(false) })
		return
	}
	if busy {
		snap.Close()
	}
	e := s.envelope(r, to, s.net.Support.Granted(to.Store))
	go func() {
		defer sn.wg.Done()
		defer must.Report(s.opts.OnFatal)
		ctx, cancel := s.stopContext()
		defer cancel()
		var err error
		if !busy {
			err = s.stream(ctx, e, to.Node, number, snap)
			snap.Close()
			sn.mu.Lock()
			sn.outgoing--
			sn.mu.Unlock()
		}
		if err == nil && !busy {
			sn.sent.Add(1)
		}
		if err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn("snapshot not delivered", "range", e.id, "to", to.Store, "err", err)
		}
		if busy || err != nil {
			_ = sleep.For(ctx, snapshotAgain)
		}
		done(!busy && err == nil)
	}()
}

// stream sends a snapshot chunk by chunk.
func (s *Store) stream(ctx context.Context, e envelope, to kvpb.NodeID, number uint64, snap *snapshot.Outgoing) (err error) {
	limits := s.snapshots.limits
	call := func(buf []byte, timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		_, err := s.net.Transport.Call(ctx, to, MethodSnapshot, buf)
		return err
	}
	part := func(buf []byte, p byte) []byte {
		return binary.LittleEndian.AppendUint64(append(buf[:0], snapshotVersion, p), number)
	}
	if e.raft, err = proto.Marshal(snap.Message); err != nil {
		return err
	}
	d := snap.Desc
	size, err := s.eng.ApproximateSize(d.StartKey, d.EndKey)
	if err != nil {
		return err
	}
	head, err := json.Marshal(snapshotHead{
		Envelope: e.encode(), Desc: apply.EncodeDescriptor(d), State: snap.State, Threshold: snap.Threshold, Bytes: size,
	})
	if err != nil {
		return err
	}
	if err := call(append(part(nil, partBegin), head...), chunkTimeout); err != nil {
		return err
	}
	var buf []byte
	for seq := uint32(0); ; seq++ {
		buf = binary.LittleEndian.AppendUint32(part(buf, partChunk), seq)
		buf = append(buf, 0, 0, 0, 0)
		n := len(buf)
		if buf, err = snap.Next(buf, limits.ChunkBytes); err != nil {
			return errors.Join(err, call(part(nil, partAbort), chunkTimeout))
		}
		if len(buf) == n {
			break
		}
		binary.LittleEndian.PutUint32(buf[n-4:], crc32.Checksum(buf[n:], chunkSums))
		if err = s.snapshots.pace.wait(ctx, len(buf), s.snapshots.rate.Load()); err == nil {
			err = call(buf, chunkTimeout)
			s.snapshots.sentBytes.Add(int64(len(buf)))
		}
		if err != nil {
			return errors.Join(err, call(part(nil, partAbort), chunkTimeout))
		}
	}
	return call(appendSum(part(nil, partEnd), snap.Sum()), installTimeout)
}

func appendSum(b []byte, s snapshot.Sum) []byte {
	for _, v := range []uint64{s.Chunks, s.Keys, s.Bytes, uint64(s.CRC)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func decodeSum(p []byte) (s snapshot.Sum, err error) {
	if len(p) != 4*8 {
		return s, errMessage
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(p[8*i:]) }
	return snapshot.Sum{Chunks: at(0), Keys: at(1), Bytes: at(2), CRC: uint32(at(3))}, nil
}

// stopContext returns a context that ends with the store.
func (s *Store) stopContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// close ends all snapshots. The caller has closed the store's stop channel.
func (sn *snapshots) close() {
	sn.mu.Lock()
	sn.closed = true
	all := sn.arrivals.all()
	sn.mu.Unlock()
	sn.wg.Wait()
	for _, a := range all {
		a.end()
	}
}

// arrivalMessage decodes a raft message that came with a snapshot.
func arrivalMessage(p []byte) (*pb.Message, error) {
	m := new(pb.Message)
	if err := proto.Unmarshal(p, m); err != nil {
		return nil, err
	}
	if m.GetType() != pb.MsgSnap || m.Snapshot.GetMetadata() == nil {
		return nil, fmt.Errorf("store: no snapshot message")
	}
	return m, nil
}
