package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/snapshot"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/store"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// dataSum digests the data of a range in a store's engine.
func dataSum(t testing.TB, s *store.Store, d *kvpb.RangeDescriptor) (sum uint64, keys int) {
	t.Helper()
	h := fnv.New64a()
	for _, sp := range snapshot.DataSpans(d) {
		it, err := s.Engine().NewIter(storage.IterOptions{Lower: sp.Start, Upper: sp.End})
		if err != nil {
			t.Fatal(err)
		}
		for ok := it.First(); ok; ok = it.Next() {
			v, err := it.ValueAndErr()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(h, "%x=%x;", it.Key(), v)
			keys++
		}
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return h.Sum64(), keys
}

// sameData fails unless all nodes have the same data of a range, and no files of snapshots are left.
func (c *cluster) sameData(id kvpb.RangeID) {
	c.T.Helper()
	d := c.Leader(id).Desc()
	var want uint64
	for i, nd := range c.Nodes {
		sum, n := dataSum(c.T, nd.Store, d)
		if i == 0 {
			want = sum
		}
		if sum != want || n == 0 {
			c.T.Errorf("node %d: data of range %d (%d keys) differ from the first node's", nd.ID, id, n)
		}
		if left := scratch(nd.Disk); len(left) > 0 {
			c.T.Errorf("node %d: files of snapshots are left: %v", nd.ID, left)
		}
	}
}

// scratch lists what is in the directory of snapshots.
func scratch(f fs.FS) []string {
	names, err := f.List(clustertest.Dir + "/" + store.SnapshotDir)
	if err != nil {
		return nil
	}
	return names
}

// fill writes n keys of size bytes.
func (c *cluster) fill(id kvpb.RangeID, prefix string, n, size int) {
	c.T.Helper()
	for i := range n {
		c.Put(id, fmt.Sprintf("\x10%s%04d", prefix, i), strings.Repeat(string(rune('a'+i%26)), size))
	}
}

// join gives a range a replica on a node.
func (c *cluster) join(id kvpb.RangeID, nd *clustertest.Node) {
	c.T.Helper()
	for _, k := range []replica.ChangeKind{replica.AddLearner, replica.Promote} {
		c.Change(id, k, nd)
		time.Sleep(2 * time.Second)
	}
}

// part reports which part of a snapshot a call carries, 0 if none.
func part(m rpc.Method, req []byte) byte {
	if m == store.MethodSnapshot {
		return req[1]
	}
	return 0
}

// A snapshot that is lost half-way, or damaged, or arrives twice, leaves no trace, and the next one is installed.
func TestSnapshotInterrupted(t *testing.T) {
	errLost := errors.New("lost")
	faults := map[string]func(p byte, n int, c *cluster, req []byte) error{
		"begin lost": func(p byte, _ int, _ *cluster, _ []byte) error {
			if p == store.PartBegin {
				return errLost
			}
			return nil
		},
		"link lost": func(p byte, n int, _ *cluster, _ []byte) error {
			if p != store.PartBegin && n > 3 {
				return errLost
			}
			return nil
		},
		"end lost": func(p byte, _ int, _ *cluster, _ []byte) error {
			if p >= store.PartEnd {
				return errLost
			}
			return nil
		},
		"damaged": func(p byte, n int, _ *cluster, req []byte) error {
			if p == store.PartChunk && n == 5 {
				req[len(req)-7] ^= 4
			}
			return nil
		},
		"out of turn": func(p byte, n int, _ *cluster, req []byte) error {
			if p == store.PartChunk && n == 5 {
				req[store.PartHeader]++
			}
			return nil
		},
		"incomplete": func(p byte, _ int, _ *cluster, req []byte) error {
			if p == store.PartEnd {
				req[store.PartHeader+8]++
			}
			return nil
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClusterWith(t, 2, store.SnapshotLimits{ChunkBytes: 4 << 10})
				defer c.CloseAll()
				c.fill(1, "k", 40, 1<<10)
				tries, n := 0, 0
				c.Net.OnCall(func(_, _ kvpb.NodeID, m rpc.Method, req []byte) error {
					p := part(m, req)
					if p == 0 {
						return nil
					}
					if n++; p == store.PartBegin {
						tries, n = tries+1, 0
					}
					if tries > 2 {
						return nil
					}
					return fault(p, n, c, req)
				})
				c.join(1, c.Nodes[1])
				time.Sleep(2 * store.ArrivalTimeout) // whatever nobody ended
				if tries < 3 {
					t.Errorf("%d tries", tries)
				}
				c.Put(1, "\x10after", "1")
				time.Sleep(time.Second)
				c.sameData(1)
			})
		})
	}
}

// A learner whose sender does not hear that it has the snapshot catches up all the same, although nothing is written
// any more: the next snapshot is not newer, and raft answers that the learner has it.
func TestSnapshotAnswerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.CloseAll()
		c.fill(1, "k", 10, 100)
		errLost := errors.New("lost")
		silent := false
		c.Net.Lose(func(from, _ kvpb.NodeID, _ rpc.Method, _ []byte) bool { return silent && from == 2 })
		c.Net.OnCall(func(_, _ kvpb.NodeID, m rpc.Method, req []byte) error {
			if part(m, req) != store.PartEnd {
				return nil
			}
			silent = true
			time.AfterFunc(store.SnapshotAgain/2, func() { silent = false })
			if _, err := c.Nodes[1].Store.ReceiveSnapshot(context.Background(), 1, req); err != nil {
				t.Error(err)
			}
			return errLost
		})
		c.join(1, c.Nodes[1]) // fails if the learner can't be promoted
		c.sameData(1)
	})
}

// A snapshot is sent no faster than the limit says.
func TestSnapshotPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClusterWith(t, 2, store.SnapshotLimits{ChunkBytes: 8 << 10, BytesPerSecond: 100 << 10})
		defer c.CloseAll()
		c.fill(1, "k", 30, 10<<10)
		var begun, ended time.Time
		c.Net.OnCall(func(_, _ kvpb.NodeID, m rpc.Method, req []byte) error {
			switch part(m, req) {
			case store.PartBegin:
				begun = time.Now()
			case store.PartEnd:
				ended = time.Now()
			}
			return nil
		})
		c.join(1, c.Nodes[1])
		time.Sleep(10 * time.Second)
		if took := ended.Sub(begun); took < 2*time.Second || took > 5*time.Second {
			t.Errorf("300 KiB at 100 KiB/s took %v", took)
		}
		c.sameData(1)
	})
}

// Snapshots of two ranges arrive at a store at the same time.
func TestTwoSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClusterWith(t, 2, store.SnapshotLimits{ChunkBytes: 4 << 10, BytesPerSecond: 50 << 10})
		defer c.CloseAll()
		c.fill(1, "a", 20, 4<<10)
		c.fill(1, "z", 20, 4<<10)
		c.Split(1, "\x10m", 2)
		most := 0
		c.Net.OnCall(func(_, to kvpb.NodeID, _ rpc.Method, _ []byte) error {
			most = max(most, c.Nodes[to-1].Store.Arrivals())
			return nil
		})
		for _, id := range []kvpb.RangeID{1, 2} {
			c.Do(id, func(r *replica.Replica) error {
				return r.ChangeReplicas(context.Background(), []replica.Change{{Kind: replica.AddLearner, Node: 2, Store: 2}})
			})
		}
		time.Sleep(10 * time.Second)
		if most != 2 {
			t.Errorf("%d snapshots at a time", most)
		}
		c.sameData(1)
		c.sameData(2)
	})
}

// snapshotHeadFor makes the head of a snapshot of a range for a store.
func snapshotHeadFor(t *testing.T, to kvpb.StoreID, d *kvpb.RangeDescriptor, st apply.State, rep kvpb.ReplicaID) []byte {
	t.Helper()
	m, err := proto.Marshal(&pb.Message{
		Type: pb.MsgSnap.Enum(), From: proto.Uint64(1), To: proto.Uint64(uint64(rep)), Term: proto.Uint64(st.Term),
		Snapshot: &pb.Snapshot{Metadata: &pb.SnapshotMetadata{
			Index: proto.Uint64(st.Index), Term: proto.Uint64(st.Term), ConfState: &pb.ConfState{Voters: []uint64{1}, Learners: []uint64{uint64(rep)}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	head, err := store.SnapshotHead(d, kvpb.ReplicaDescriptor{Node: 1, Store: 1, Replica: 1}, kvpb.ReplicaDescriptor{Node: kvpb.NodeID(to), Store: to, Replica: rep}, st, m)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func snapshotPart(p byte, number uint64, body ...byte) []byte {
	return append(binary.LittleEndian.AppendUint64([]byte{store.SnapshotVersion, p}, number), body...)
}

func snapshotChunk(number uint64, seq uint32, data []byte) []byte {
	b := binary.LittleEndian.AppendUint32(snapshotPart(store.PartChunk, number), seq)
	return append(binary.LittleEndian.AppendUint32(b, crc32.Checksum(data, store.ChunkSums)), data...)
}

// A store refuses a snapshot that is older than the replica, that overlaps another one, that belongs elsewhere, or that
// exceeds the number of concurrent ones.
func TestSnapshotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.CloseAll()
		c.fill(1, "k", 10, 100)
		c.join(1, c.Nodes[1])
		s, ctx := c.Nodes[1].Store, context.Background()
		mine, _ := s.Replica(1)
		begin := func(number uint64, d *kvpb.RangeDescriptor, st apply.State, rep kvpb.ReplicaID) error {
			_, err := s.ReceiveSnapshot(ctx, 1, snapshotPart(store.PartBegin, number, snapshotHeadFor(t, 2, d, st, rep)...))
			return err
		}
		if err := begin(100, mine.Desc(), apply.State{Index: mine.AppliedIndex(), Term: 6}, mine.ReplicaID()); !errors.Is(err, replica.ErrOldSnapshot) {
			t.Errorf("an old snapshot: %v", err)
		}
		other := &kvpb.RangeDescriptor{RangeID: 7, StartKey: []byte("\x10x"), EndKey: []byte("\x10y"), NextReplicaID: 3, Generation: 1,
			Replicas: []kvpb.ReplicaDescriptor{{Node: 1, Store: 1, Replica: 1}, {Node: 2, Store: 2, Replica: 2, Type: kvpb.Learner}}}
		if err := begin(101, other, apply.State{Index: 20, Term: 6}, 2); err == nil {
			t.Error("a snapshot of keys that another range holds was admitted")
		}
		outside := *other
		outside.StartKey, outside.EndKey = []byte("\x11x"), []byte("\x11y")
		if err := begin(102, &outside, apply.State{Index: 20, Term: 6}, 2); err != nil {
			t.Error(err)
		}
		third := outside
		third.RangeID, third.EndKey = 8, []byte("\x11z")
		if err := begin(103, &third, apply.State{Index: 20, Term: 6}, 2); err == nil {
			t.Error("two snapshots that overlap were admitted")
		}
		stray := binary.AppendUvarint(nil, 4)
		stray = append(append(stray, "\x12kk\x00"...), 0)
		if _, err := s.ReceiveSnapshot(ctx, 1, snapshotChunk(102, 0, stray)); !errors.Is(err, snapshot.ErrDamaged) {
			t.Errorf("a key of another range: %v", err)
		}
		if _, err := s.ReceiveSnapshot(ctx, 1, snapshotChunk(102, 1, nil)); err == nil {
			t.Error("a chunk of a snapshot that was given up was taken")
		}
		if left := scratch(c.Nodes[1].Disk); len(left) > 0 {
			t.Errorf("files are left: %v", left)
		}
	})
}

// crashes copies a disk as a crash before each operation would leave it.
type crashes struct {
	mem *fs.MemFS
	on  atomic.Bool

	mu     sync.Mutex
	ops    int
	clones []*fs.MemFS
}

func (k *crashes) hook(op *fs.Op) error {
	if k.on.Load() && op.Kind.Mutates() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.ops++; k.ops%2 != 0 {
			return nil
		}
		for i, keep := range []int{0, 60, 100} {
			k.clones = append(k.clones, fs.CrashClone(k.mem, keep, uint64(k.ops*3+i)))
		}
	}
	return nil
}

// Whenever the receiver crashes, its replica is in the state before the snapshot or after it when it starts again, and
// can continue from there.
func TestSnapshotCrash(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("replica=%v", again), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { snapshotCrash(t, again) })
		})
	}
}

func snapshotCrash(t *testing.T, again bool) {
	c := newClusterWith(t, 2, store.SnapshotLimits{ChunkBytes: 8 << 10})
	defer c.CloseAll()
	two := c.Nodes[1]
	k := &crashes{mem: two.Disk}
	c.fill(1, "k", 10, 1<<10)
	before := map[uint64]bool{}
	if again { // a replica that falls behind what the log has
		c.Change(1, replica.AddLearner, two)
		time.Sleep(3 * time.Second)
		sum, _ := dataSum(t, two.Store, c.Leader(1).Desc())
		before[sum] = true
	}
	c.Close(two)
	two.WrapDisk = func(f fs.FS) fs.FS { return fs.WithHooks(f, k.hook) }
	c.fill(1, "n", 10, 1<<10)
	time.Sleep(time.Second) // what was sent meanwhile is lost
	one := c.Nodes[0].Store
	if err := one.Engine().Flush(); err != nil {
		t.Fatal(err)
	}
	if st, err := apply.LoadState(one.Engine(), 1); err != nil {
		t.Fatal(err)
	} else if err := one.Log().Truncate(raftlog.GroupID(1), st.Index, st.Term); err != nil {
		t.Fatal(err)
	}
	k.on.Store(true)
	c.Start(two)
	c.Introduce()
	if !again {
		c.join(1, two)
	}
	time.Sleep(5 * time.Second)
	k.on.Store(false)
	c.sameData(1)
	after, _ := dataSum(t, two.Store, c.Leader(1).Desc())
	if len(k.clones) < 60 {
		t.Errorf("only %d crashes", len(k.clones))
	}
	old, fresh := 0, 0
	for i, disk := range k.clones {
		clock := hlc.New(func() int64 { return time.Now().UnixNano() }, 250*time.Millisecond)
		s, err := store.Open(store.Options{FS: disk, Dir: clustertest.Dir, Clock: clock, CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			t.Fatalf("crash %d: %v", i, err)
		}
		if left := scratch(disk); len(left) > 0 {
			t.Errorf("crash %d: files are left: %v", i, left)
		}
		r, ok := s.Replica(1)
		sum, n := dataSum(t, s, c.Leader(1).Desc())
		switch {
		case !ok && n == 0:
			old++
		case ok && sum == after:
			fresh++
			if st, _ := s.Log().State(1); st.Last < r.AppliedIndex() {
				t.Errorf("crash %d: the log ends at %d, the state is at %d", i, st.Last, r.AppliedIndex())
			}
		case ok && before[sum]:
			old++
		default:
			t.Errorf("crash %d: replica %v, %d keys, neither old nor new", i, ok, n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if old == 0 || fresh == 0 {
		t.Errorf("%d crashes left the old state, %d the new one", old, fresh)
	}
}

// A range is larger than the memory that its receiver may use for it.
func TestSnapshotMemory(t *testing.T) {
	const total, chunk, limit = 96 << 20, 256 << 10, 24 << 20
	dir := t.TempDir()
	clock := hlc.NewSystem(0)
	s, err := store.Open(store.Options{FS: fs.Disk(), Dir: dir, Clock: clock, CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := &kvpb.RangeDescriptor{RangeID: 7, StartKey: []byte("\x10a"), EndKey: []byte("\x10z"), NextReplicaID: 3, Generation: 1}
	in, err := snapshot.NewIncoming(s.Engine(), fs.Disk(), fs.Disk().PathJoin(dir, store.SnapshotDir, "1"), d, apply.State{Index: 20, Term: 6}, hlc.Timestamp{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	base, peak := heap(), uint64(0)
	value, buf := bytes.Repeat([]byte{7}, 4<<10), make([]byte, 0, chunk+8<<10)
	for n, sent := 0, 0; sent < total; {
		for buf = buf[:0]; len(buf) < chunk; n++ {
			binary.BigEndian.PutUint64(value[1:], uint64(n)*0x9e3779b97f4a7c15)
			key := storage.AppendEngineKey(nil, fmt.Appendf(nil, "\x10k%08d", n), hlc.Timestamp{WallTime: 5})
			buf = append(binary.AppendUvarint(buf, uint64(len(key))), key...)
			buf = append(binary.AppendUvarint(buf, uint64(len(value))), value...)
		}
		if err := in.Add(buf); err != nil {
			t.Fatal(err)
		}
		if sent += len(buf); sent/(8<<20) != (sent-len(buf))/(8<<20) {
			peak = max(peak, heap())
		}
	}
	if peak > base+limit {
		t.Errorf("taking in %d MiB took %d MiB of memory", total>>20, (peak-base)>>20)
	}
	t.Logf("taking in %d MiB took %.1f MiB of memory", total>>20, float64(int64(peak)-int64(base))/(1<<20))
}
