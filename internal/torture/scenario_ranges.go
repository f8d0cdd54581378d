package torture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/sleep"
)

// Sizes of the scenario of many ranges.
const (
	manyRows   = 1_000_000
	manyBatch  = 25_000
	manyRanges = 30
	// manyClients is how many clients each node has, manyPace the pause between two of
	// their operations: so few requests are made that ranges count as cold.
	manyClients = 2
	manyPace    = 10 * time.Millisecond
	// manyWindow is how many rows a range scan counts.
	manyWindow = 500
	// mergeTime bounds the wait until the ranges have merged, spaceTime that until the
	// disk has given the space of a dropped table back.
	mergeTime = 5 * time.Minute
	spaceTime = 3 * time.Minute
	// restBytes is what a node may keep beside what it had before, for what is not
	// compacted.
	restBytes = 24 << 20
	// logKeeps is what the log may keep of its files while clients write, whatever there
	// is in tables: it gives them back when it has been at rest.
	logKeeps = 256 << 20
)

// many is the load of the scenario: single rows are read and written, pairs in
// transactions, and stretches counted. Nothing of it may fail.
type many struct {
	s     *stage
	added atomic.Int64 // what the sum of all values must be
	ops   atomic.Int64
	most  atomic.Int64 // the longest operation, in ns

	mu      sync.Mutex
	wrong   []string
	retried int // transactions of several statements that were asked to try again
}

// manyRangesScenario splits, scatters, merges and drops a table of a million rows.
func manyRangesScenario(ctx context.Context, s *stage) error {
	m := &many{s: s}
	n := s.c.Nodes[0]
	before, err := s.ranges(ctx, n)
	if err != nil {
		return err
	}
	disk := s.usage()
	if err := m.load(ctx, n); err != nil {
		return err
	}
	full := s.usage()
	s.res.note("a table of %d rows: %s", manyRows, full)
	clients, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i, node := range s.c.Nodes {
		for k := range manyClients {
			c := &client{id: 1 + i*manyClients + k, node: node, rng: rand.New(rand.NewPCG(s.o.Seed, uint64(i*manyClients+k))), tell: func(string, error) {}}
			wg.Go(func() {
				defer c.close()
				m.run(clients, c)
			})
		}
	}
	err = m.reshape(ctx, n, before)
	stop()
	wg.Wait()
	if err == nil {
		err = m.verify(ctx, n)
	}
	if err == nil {
		err = m.drop(ctx, n, before, disk)
	}
	s.res.Operations += int(m.ops.Load())
	s.res.note("%d operations, the longest took %.2f s; %d transactions were asked to try again", m.ops.Load(),
		time.Duration(m.most.Load()).Seconds(), m.retried)
	for _, w := range m.wrong {
		s.res.violation("%s", w)
	}
	return err
}

func (m *many) load(ctx context.Context, n *Node) error {
	if _, err := n.query(ctx, "CREATE TABLE torture_many (id INT PRIMARY KEY, v INT NOT NULL, s TEXT NOT NULL)"); err != nil {
		return err
	}
	for lo := 0; lo < manyRows; lo += manyBatch {
		_, err := n.query(ctx, fmt.Sprintf("INSERT INTO torture_many SELECT g, 0, 'this is the row with number ' || g::TEXT FROM generate_series(%d, %d) g",
			lo, lo+manyBatch-1))
		if err != nil {
			return fmt.Errorf("loading: %w", err)
		}
	}
	return nil
}

// reshape splits, scatters and merges the table.
func (m *many) reshape(ctx context.Context, n *Node, before int) error {
	s := m.s
	step := func(what, sql string) error {
		begun, ops := time.Now(), m.ops.Load()
		if _, err := n.query(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		s.res.Events++
		m.tell("%s in %.1f s, %d operations meanwhile, the longest so far %.2f s", what, time.Since(begun).Seconds(), m.ops.Load()-ops,
			time.Duration(m.most.Load()).Seconds())
		return nil
	}
	var at []string
	for i := 1; i < manyRanges; i++ {
		at = append(at, fmt.Sprintf("(%d)", i*manyRows/manyRanges))
	}
	if err := step("split", "ALTER TABLE torture_many SPLIT AT VALUES "+strings.Join(at, ", ")); err != nil {
		return err
	}
	if got, err := s.ranges(ctx, n); err != nil || got < before+manyRanges-1 {
		return errors.Join(err, fmt.Errorf("%d ranges after the splits, %d before", got, before))
	}
	if err := step("scattered", "ALTER TABLE torture_many SCATTER"); err != nil {
		return err
	}
	if err := sleep.For(ctx, 5*time.Second); err != nil {
		return err
	}
	if err := step("released", "ALTER TABLE torture_many UNSPLIT ALL"); err != nil {
		return err
	}
	return m.await(ctx, n, before, "merged under load")
}

// await waits until no more ranges are there than before.
func (m *many) await(ctx context.Context, n *Node, before int, what string) error {
	begun, last := time.Now(), 0
	for {
		got, err := m.s.ranges(ctx, n)
		if err != nil {
			return err
		}
		if got != last {
			m.tell("%d ranges after %.1f s, the longest operation so far %.2f s", got, time.Since(begun).Seconds(),
				time.Duration(m.most.Load()).Seconds())
		}
		if last = got; got <= before {
			m.s.res.note("%s in %.1f s", what, time.Since(begun).Seconds())
			return nil
		}
		if time.Since(begun) > mergeTime {
			m.s.res.violation("%s: %d ranges are left after %s, %d were there before", what, got, mergeTime, before)
			return nil
		}
		if err := sleep.For(ctx, time.Second); err != nil {
			return err
		}
	}
}

// verify looks for every row and every update.
func (m *many) verify(ctx context.Context, n *Node) error {
	rows, err := n.query(ctx, "SELECT count(*), sum(v) FROM torture_many")
	if err != nil {
		return err
	}
	if want := strconv.FormatInt(m.added.Load(), 10); rows[0][0] != strconv.Itoa(manyRows) || rows[0][1] != want {
		m.s.res.violation("%s rows of %d, the sum is %s after updates by %s", rows[0][0], manyRows, rows[0][1], want)
	}
	return nil
}

// drop drops the table: its ranges go, and so does the space.
func (m *many) drop(ctx context.Context, n *Node, before int, disk usages) error {
	s := m.s
	for _, sql := range []string{"ALTER RANGE default CONFIGURE ZONE USING gc.ttlseconds = 2", "DROP TABLE torture_many"} {
		if _, err := n.query(ctx, sql); err != nil {
			return err
		}
	}
	s.res.Events++
	begun := time.Now()
	if err := m.await(ctx, n, before, "merged away after DROP TABLE"); err != nil {
		return err
	}
	for {
		now := s.usage()
		if now.within(disk, restBytes) {
			s.res.note("space given back %.0f s after DROP TABLE: %s; before the table: %s", time.Since(begun).Seconds(), now, disk)
			return nil
		}
		if time.Since(begun) > spaceTime {
			s.res.violation("space is not given back %s after DROP TABLE: %s; before the table: %s", spaceTime, now, disk)
			return nil
		}
		if err := sleep.For(ctx, time.Second); err != nil {
			return err
		}
	}
}

func (m *many) tell(format string, args ...any) {
	fmt.Fprintf(m.s.o.Progress, "  "+format+"\n", args...)
}

// run is one client. Each writes rows of its own only, so that none waits for
// another.
func (m *many) run(ctx context.Context, c *client) {
	all := len(m.s.c.Nodes) * manyClients
	own := func() int { return c.rng.IntN(manyRows/all)*all + c.id - 1 }
	for sleep.For(ctx, manyPace) == nil {
		if err := c.connect(ctx); err != nil {
			m.fail(ctx, "connecting to node %d: %v", c.node.ID, err)
			continue
		}
		begun := time.Now()
		var err error
		switch k := c.rng.IntN(10); {
		case k < 4:
			err = m.update(c, own())
		case k < 6:
			err = m.pair(c, own(), own())
		case k < 9:
			err = m.count(c, c.rng.IntN(manyRows), 1)
		default:
			err = m.count(c, c.rng.IntN(manyRows-manyWindow), manyWindow)
		}
		took := int64(time.Since(begun))
		for most := m.most.Load(); took > most && !m.most.CompareAndSwap(most, took); most = m.most.Load() {
		}
		if took > int64(maxWait) {
			m.fail(ctx, "node %d: an operation took %.2f s", c.node.ID, time.Duration(took).Seconds())
		}
		if err != nil {
			m.fail(ctx, "node %d: %v", c.node.ID, err)
			c.failed(ctx, err)
			continue
		}
		m.ops.Add(1)
	}
}

func (m *many) fail(ctx context.Context, format string, args ...any) {
	if ctx.Err() != nil {
		return
	}
	w := fmt.Sprintf(format, args...)
	m.tell("%s", w)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrong = append(m.wrong, w)
}

func (m *many) update(c *client, id int) error {
	_, tag, err := c.exec(fmt.Sprintf("UPDATE torture_many SET v = v + 1 WHERE id = %d", id))
	if err != nil {
		return err
	}
	if tag != "UPDATE 1" {
		return fmt.Errorf("row %d: %s", id, tag)
	}
	m.added.Add(1)
	return nil
}

// pair updates two rows in a transaction. Nobody else writes them, so it is not asked to try
// again for what others do to them.
func (m *many) pair(c *client, a, b int) error {
	if a == b {
		return nil
	}
	for _, sql := range []string{
		"BEGIN", fmt.Sprintf("UPDATE torture_many SET v = v + 1 WHERE id = %d", a),
		fmt.Sprintf("UPDATE torture_many SET v = v + 2 WHERE id = %d", b), "COMMIT",
	} {
		_, tag, err := c.exec(sql)
		if err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		if sql == "COMMIT" && tag != sql {
			return fmt.Errorf("COMMIT was answered by %s", tag)
		}
	}
	m.added.Add(3)
	return nil
}

func (m *many) count(c *client, from, n int) error {
	rows, _, err := c.exec(fmt.Sprintf("SELECT count(*) FROM torture_many WHERE id >= %d AND id < %d", from, from+n))
	if err == nil && rows[0][0] != strconv.Itoa(n) {
		err = fmt.Errorf("%s rows of %d from %d on", rows[0][0], n, from)
	}
	return err
}

// ranges counts the ranges of the cluster.
func (s *stage) ranges(ctx context.Context, n *Node) (int, error) {
	rows, err := n.query(ctx, "SHOW CLUSTER RANGES")
	return len(rows), err
}

// usages are what the nodes' directories hold, by node and directory.
type usages []map[string]int64

// usage measures the nodes' directories.
func (s *stage) usage() usages {
	var out usages
	for _, n := range s.c.Nodes {
		u := map[string]int64{}
		_ = filepath.WalkDir(n.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // files come and go
			}
			if i, err := d.Info(); err == nil {
				rel, _ := filepath.Rel(n.dir, path)
				u[strings.Split(rel, string(filepath.Separator))[0]] += i.Size()
			}
			return nil
		})
		out = append(out, u)
	}
	return out
}

// within reports whether no node has more than rest beside what it had before and what
// its log keeps.
func (u usages) within(before usages, rest int64) bool {
	sum := func(m map[string]int64) (n int64) {
		for _, v := range m {
			n += v
		}
		return n - min(m["raftlog"], logKeeps)
	}
	for i := range u {
		if sum(u[i]) > sum(before[i])+rest {
			return false
		}
	}
	return true
}

func (u usages) String() string {
	var nodes []string
	for _, m := range u {
		var dirs []string
		for d, n := range m {
			if n >= 1<<20 {
				dirs = append(dirs, fmt.Sprintf("%s %d MiB", d, n>>20))
			}
		}
		slices.Sort(dirs)
		nodes = append(nodes, strings.Join(dirs, " + "))
	}
	return strings.Join(nodes, "; ")
}
