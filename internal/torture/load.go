package torture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/sleep"
)

// Sizes of the load.
const (
	// registersPerRound is how many keys one round has: few, so that clients meet.
	registersPerRound = 24
	bankAccounts      = 20
	bankBalance       = 100
	// wideRows is the size of the table of the load that pauses are measured by; its
	// ranges are led by different nodes.
	wideRows   = 10000
	wideRanges = 6
	// registerPace and bankPace are pauses between operations of one client: the
	// judges look at each.
	registerPace = 15 * time.Millisecond
	bankPace     = 25 * time.Millisecond
)

// schema makes the tables of the load; split also spreads them over ranges.
func schema(split bool) string {
	var at []string
	for i := 1; i < wideRanges; i++ {
		at = append(at, fmt.Sprintf("(%d)", i*wideRows/wideRanges))
	}
	sql := fmt.Sprintf(`
CREATE TABLE torture_registers (k TEXT PRIMARY KEY, v TEXT NOT NULL);
CREATE TABLE torture_bank (id TEXT PRIMARY KEY, balance BIGINT NOT NULL);
CREATE TABLE torture_wide (id INT PRIMARY KEY, v TEXT NOT NULL);
CREATE TABLE torture_ledger (client INT, seq BIGINT, PRIMARY KEY (client, seq));
CREATE TABLE torture_lists (k TEXT PRIMARY KEY, v TEXT NOT NULL);
INSERT INTO torture_bank SELECT 'a' || g, %d FROM generate_series(0, %d) g;
INSERT INTO torture_wide SELECT g, 'x' FROM generate_series(0, %d) g;`, bankBalance, bankAccounts-1, wideRows-1)
	if !split {
		return sql
	}
	return sql + fmt.Sprintf(`
ALTER TABLE torture_wide SPLIT AT VALUES %s;
ALTER TABLE torture_bank SPLIT AT VALUES ('a15');
ALTER TABLE torture_registers SPLIT AT VALUES ('m');
ALTER TABLE torture_lists SPLIT AT VALUES ('m');
ALTER TABLE torture_wide SCATTER;`, strings.Join(at, ", "))
}

// dropSchema removes the tables of the load.
const dropSchema = "DROP TABLE torture_registers, torture_bank, torture_wide, torture_ledger, torture_lists"

// registers reads and writes single rows. Every value is written once.
func (r *round) registers(ctx context.Context, c *client) {
	for n := 0; ctx.Err() == nil; n++ {
		if sleep.For(ctx, registerPace) != nil {
			return
		}
		if err := c.connect(ctx); err != nil {
			c.failed(ctx, err)
			continue
		}
		key := r.key(c.rng.IntN(registersPerRound))
		op := check.Op{Client: c.id, Kind: "register"}
		var sql string
		switch c.rng.IntN(4) {
		case 0, 1:
			sql = "SELECT v FROM torture_registers WHERE k = " + quote(key)
		default:
			value := fmt.Sprintf("%d.%d", c.id, n)
			op.Writes = []check.Access{{Key: key, Value: value}}
			sql = fmt.Sprintf("INSERT INTO torture_registers VALUES (%s, %s) ON CONFLICT (k) DO UPDATE SET v = excluded.v", quote(key), quote(value))
		}
		p := r.history.Begin(op)
		rows, _, err := c.exec(sql)
		if err == nil && len(op.Writes) == 0 {
			seen := check.Access{Key: key, Absent: len(rows) == 0}
			if !seen.Absent {
				seen.Value = rows[0][0]
			}
			p.Op.Reads = []check.Access{seen}
		}
		o := outcome(err)
		if len(op.Writes) == 0 && err != nil {
			o = check.Failed // nothing was seen, nothing done
		}
		p.Done(o, err)
		if err != nil {
			c.failed(ctx, err)
		}
	}
}

// key names a register of the round. Half of them lie in another range.
func (r *round) key(i int) string {
	return fmt.Sprintf("%c%d.%d", "gs"[i%2], r.number, i)
}

// bank moves money and looks at all accounts.
func (r *round) bank(ctx context.Context, c *client) {
	for ctx.Err() == nil {
		if sleep.For(ctx, bankPace) != nil {
			return
		}
		if err := c.connect(ctx); err != nil {
			c.failed(ctx, err)
			continue
		}
		var err error
		if c.rng.IntN(3) == 0 {
			err = r.snapshot(c)
		} else {
			err = r.transfer(c)
			c.inTxn = true
		}
		if err != nil {
			c.failed(ctx, err)
		}
		c.inTxn = false
	}
}

func (r *round) snapshot(c *client) error {
	p := r.history.Begin(check.Op{Client: c.id, Kind: check.BankSnapshot})
	rows, _, err := c.exec("SELECT id, balance FROM torture_bank")
	if err != nil {
		p.Done(check.Failed, err)
		return err
	}
	for _, row := range rows {
		p.Op.Reads = append(p.Op.Reads, check.Access{Key: row[0], Value: row[1]})
	}
	p.Done(check.OK, nil)
	return nil
}

// transfer moves an amount in a transaction of several statements. Until COMMIT is
// sent an error means that nothing happened.
func (r *round) transfer(c *client) error {
	from, to := c.rng.IntN(bankAccounts), c.rng.IntN(bankAccounts-1)
	if to >= from {
		to++
	}
	amount := 1 + c.rng.IntN(20)
	tr := &check.Transfer{From: "a" + strconv.Itoa(from), To: "a" + strconv.Itoa(to), Amount: int64(amount)}
	p := r.history.Begin(check.Op{Client: c.id, Kind: check.BankTransfer, Transfer: tr})
	first, second := tr.From, tr.To
	if second < first {
		first, second = second, first
	}
	delta := func(account string) int64 {
		if account == tr.From {
			return -tr.Amount
		}
		return tr.Amount
	}
	for _, sql := range []string{
		"BEGIN",
		fmt.Sprintf("UPDATE torture_bank SET balance = balance + %d WHERE id = %s", delta(first), quote(first)),
		fmt.Sprintf("UPDATE torture_bank SET balance = balance + %d WHERE id = %s", delta(second), quote(second)),
	} {
		if _, _, err := c.exec(sql); err != nil {
			p.Done(check.Failed, err)
			return err
		}
	}
	_, tag, err := c.exec("COMMIT")
	if err == nil && tag != "COMMIT" {
		err = errors.New("COMMIT was answered by " + tag)
		p.Done(check.Failed, err)
		return err
	}
	p.Done(outcome(err), err)
	return err
}

// wide is the load of YCSB A: single rows of a table with several ranges, half
// reads, half updates. It tells pauses, and inserts into the ledger now and then.
func (r *round) wide(ctx context.Context, c *client, w *waits) {
	seq := int64(0)
	for ctx.Err() == nil {
		if err := c.connect(ctx); err != nil {
			c.failed(ctx, err)
			_ = sleep.For(ctx, registerPace)
			continue
		}
		id := c.rng.IntN(wideRows)
		var sql string
		write := c.rng.IntN(2) == 0
		insert := write && c.rng.IntN(4) == 0
		switch {
		case insert:
			seq++
			sql = fmt.Sprintf("INSERT INTO torture_ledger VALUES (%d, %d)", r.number*1000+c.id, seq)
		case write:
			sql = fmt.Sprintf("UPDATE torture_wide SET v = '%d' WHERE id = %d", c.rng.Uint64(), id)
		default:
			sql = fmt.Sprintf("SELECT v FROM torture_wide WHERE id = %d", id)
		}
		begun := time.Now()
		_, _, err := c.exec(sql)
		w.did(sql, begun, err)
		switch {
		case err != nil:
			if insert && class(err) == "23505" {
				// Each pair is sent once: the server has executed the statement twice.
				r.wrong("the insert of (%d, %d) met itself: %v", r.number*1000+c.id, seq, err)
			}
			c.failed(ctx, err)
		case insert:
			r.acked(c.id, seq)
			w.wrote()
		case write:
			w.wrote()
		default:
			w.read()
		}
	}
}

// waits are the times of one client between successful writes.
type waits struct {
	node *Node

	mu     sync.Mutex
	last   time.Time
	spans  []span // longer than a moment
	slow   []slow // the latest statements that took longer than that
	writes int
	reads  int
}

type span struct{ from, to time.Time }

// slow is a statement that took longer than a moment.
type slow struct {
	sql string
	span
	err error
}

const (
	// maxSlow bounds the slow statements that are kept of a client.
	maxSlow = 256
	// maxReported is how many of them are reported, the longest ones.
	maxReported = 4
)

// moment is the least wait that is kept.
const moment = 100 * time.Millisecond

func (w *waits) wrote() {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	if !w.last.IsZero() && now.Sub(w.last) > moment {
		w.spans = append(w.spans, span{w.last, now})
	}
	w.last = now
}

// did hears of each statement.
func (w *waits) did(sql string, begun time.Time, err error) {
	now := time.Now()
	if now.Sub(begun) < moment {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.slow) == maxSlow {
		w.slow = append(w.slow[:0], w.slow[1:]...)
	}
	w.slow = append(w.slow, slow{sql, span{begun, now}, err})
}

// tale returns what the client did since a fault began that took long.
func (w *waits) tale(begun time.Time) string {
	w.mu.Lock()
	since := slices.DeleteFunc(slices.Clone(w.slow), func(s slow) bool { return s.to.Before(begun) })
	w.mu.Unlock()
	slices.SortFunc(since, func(a, b slow) int { return cmp.Compare(b.to.Sub(b.from), a.to.Sub(a.from)) })
	var b strings.Builder
	for _, s := range since[:min(maxReported, len(since))] {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s from %+.2f s for %.2f s", s.sql, s.from.Sub(begun).Seconds(), s.to.Sub(s.from).Seconds())
		if s.err != nil {
			fmt.Fprintf(&b, " (%s)", oneLine(s.err.Error()))
		}
	}
	return b.String()
}

func (w *waits) read() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
}

// longest returns the longest wait between two times, as far as it was after the
// first: what came before has another cause.
func (w *waits) longest(from, to time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var most time.Duration
	wait := func(s span) {
		if s.from.Before(from) {
			s.from = from
		}
		if s.from.Before(to) {
			most = max(most, s.to.Sub(s.from))
		}
	}
	for _, s := range w.spans {
		wait(s)
	}
	if now := time.Now(); !w.last.IsZero() && now.Sub(w.last) > moment {
		wait(span{w.last, now})
	}
	return most
}
