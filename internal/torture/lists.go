package torture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/sleep"
)

// Sizes of the load of lists.
const (
	// activeLists is how many lists of a level are appended to at a time: few, so that
	// transactions meet. After about listLength appends others take their place.
	activeLists = 4
	listLength  = 60
	maxSteps    = 4
)

// levels are the isolation levels, each with lists of its own.
var levels = [...]check.Level{check.ReadCommitted, check.Snapshot, check.Serializable}

// listKind is the kind of the operations of a level.
func listKind(l check.Level) string { return check.ListTxn + " " + l.String() }

// listKey names a list of a level in this round. Half of them lie in another range.
func (r *round) listKey(l check.Level, i int64) string {
	return fmt.Sprintf("%c%s%d", "gs"[i%2], r.listMark(l), i)
}

// listMark is what the names of a round's lists of a level have after the first letter.
func (r *round) listMark(l check.Level) string { return fmt.Sprintf("%c%d.", "cps"[l], r.number) }

// lists appends to lists and reads them, in transactions of a level.
func (r *round) lists(l check.Level) func(context.Context, *client) {
	appends := &r.appends[l]
	return func(ctx context.Context, c *client) {
		c.inTxn = true // all are
		for ctx.Err() == nil {
			if sleep.For(ctx, bankPace) != nil {
				return
			}
			if err := c.connect(ctx); err != nil {
				c.failed(ctx, err)
				continue
			}
			if err := r.listTxn(c, l, appends); err != nil {
				c.failed(ctx, err)
			}
		}
	}
}

// listTxn runs one transaction. Until COMMIT is sent an error means that nothing
// happened.
func (r *round) listTxn(c *client, l check.Level, appends *atomic.Int64) error {
	var plan, known []check.ListStep
	for range 1 + c.rng.IntN(maxSteps) {
		age := appends.Load() / (activeLists * listLength)
		s := check.ListStep{Key: r.listKey(l, age*activeLists+c.rng.Int64N(activeLists))}
		if c.rng.IntN(2) == 0 {
			s.Append = fmt.Sprint(appends.Add(1))
			known = append(known, s)
		}
		plan = append(plan, s)
	}
	p := r.history.Begin(check.Op{Client: c.id, Kind: listKind(l), Steps: known})
	p.Op.Steps = nil
	fail := func(err error) error {
		p.Op.Steps = known
		p.Done(check.Failed, err)
		return err
	}
	if _, _, err := c.exec("BEGIN ISOLATION LEVEL " + l.String()); err != nil {
		return fail(err)
	}
	for _, s := range plan {
		rows, _, err := c.exec(listSQL(s))
		if err != nil {
			return fail(err)
		}
		if s.Append == "" && len(rows) > 0 {
			s.Read = strings.Split(rows[0][0], ",")
		}
		p.Op.Steps = append(p.Op.Steps, s)
	}
	_, tag, err := c.exec("COMMIT")
	if err == nil && tag != "COMMIT" {
		return fail(errors.New("COMMIT was answered by " + tag))
	}
	p.Done(outcome(err), err)
	return err
}

// listSQL is the statement of a step.
func listSQL(s check.ListStep) string {
	if s.Append == "" {
		return "SELECT v FROM torture_lists WHERE k = " + quote(s.Key)
	}
	return fmt.Sprintf("INSERT INTO torture_lists VALUES (%s, %s) ON CONFLICT (k) DO UPDATE SET v = torture_lists.v || %s",
		quote(s.Key), quote(s.Append), quote(","+s.Append))
}

// judgeLists looks for what each level does not allow.
func (r *round) judgeLists(ctx context.Context, res *Result, ops []check.Op) {
	for _, l := range levels {
		rows, err := r.anywhere(ctx, "SELECT k, v FROM torture_lists WHERE k LIKE "+quote("_"+r.listMark(l)+"%"))
		if err != nil {
			res.violation("reading the lists in the end: %v", err)
			return
		}
		final := map[string][]string{}
		for _, row := range rows {
			final[row[0]] = strings.Split(row[1], ",")
		}
		c := check.Lists{Level: l, Final: final}
		mine := check.Only(ops, listKind(l))
		r.verdict(res, c.Check(mine))
		committed := 0
		for _, op := range mine {
			if op.Outcome == check.OK {
				committed++
			}
		}
		found, _ := c.Anomalies(mine)
		var seen []string
		for _, f := range found {
			seen = append(seen, string(f.Anomaly))
		}
		if len(seen) == 0 {
			seen = []string{"none"}
		}
		res.Lists = append(res.Lists, ListCount{Level: l.String(), Committed: committed, Of: len(mine), Anomalies: seen})
	}
}
