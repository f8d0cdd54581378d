package killtest

import (
	"context"
	"fmt"
	"strconv"

	"github.com/lichendb/lichen/internal/workload"
)

// numbers returns the rows of a query whose columns are whole numbers.
func numbers(ctx context.Context, conn *workload.Conn, sql string) (rows [][]int64, err error) {
	var bad error
	_, err = conn.Run(ctx, sql, nil, func(values [][]byte) {
		row := make([]int64, len(values))
		for i, v := range values {
			n, err := strconv.ParseInt(string(v), 10, 64)
			if err != nil {
				bad = fmt.Errorf("%s: %w", sql, err)
			}
			row[i] = n
		}
		rows = append(rows, row)
	})
	if err == nil {
		err = bad
	}
	return rows, err
}

// verify checks the database against what the writers know.
func (t *test) verify(ctx context.Context, conn *workload.Conn) error {
	if err := t.verifyLedger(ctx, conn); err != nil {
		return err
	}
	if err := t.verifyProgress(ctx, conn); err != nil {
		return err
	}
	return t.verifyBalances(ctx, conn)
}

// verifyLedger checks that each writer's transactions are there without a gap, each
// with all of its rows, and takes the number to go on with.
func (t *test) verifyLedger(ctx context.Context, conn *workload.Conn) error {
	// A transaction has parts 1 to n, n being 2 or manyRows: half of one shows as
	// another count, or as a greatest part that isn't the count.
	half, err := numbers(ctx, conn, fmt.Sprintf(`SELECT writer, seq, count(*), max(part) FROM kill_ledger
GROUP BY writer, seq HAVING count(*) NOT IN (2, %d) OR count(*) <> max(part)`, manyRows))
	if err != nil {
		return err
	}
	if len(half) > 0 {
		return fmt.Errorf("%d transactions are half there: writer, seq, rows, greatest part %v", len(half), half[0])
	}
	found, err := numbers(ctx, conn, `SELECT writer, min(seq), max(seq), count(DISTINCT seq), count(*) FROM kill_ledger GROUP BY writer`)
	if err != nil {
		return err
	}
	byWriter := map[int64][]int64{}
	t.res.Rows = 0
	for _, f := range found {
		byWriter[f[0]] = f
		t.res.Rows += f[4]
	}
	for _, w := range t.writers {
		f, ok := byWriter[int64(w.id)]
		if !ok {
			f = []int64{int64(w.id), 1, 0, 0, 0}
		}
		last := f[2]
		switch {
		case f[1] != 1 || f[3] != last:
			return fmt.Errorf("writer %d: %d transactions between %d and %d: some are missing", w.id, f[3], f[1], last)
		case last < w.acked:
			return fmt.Errorf("writer %d: transaction %d was acknowledged, the last one there is %d", w.id, w.acked, last)
		case last > w.acked+1 || last == w.acked+1 && !w.inDoubt:
			return fmt.Errorf("writer %d: transaction %d is there, %d was the last one sent", w.id, last, w.acked)
		}
		if w.inDoubt {
			t.res.InDoubt++
			t.res.InDoubtPresent += last - w.acked
			w.acked, w.inDoubt = last, false
		}
	}
	return nil
}

// verifyProgress checks the row that every transfer of a writer updates.
func (t *test) verifyProgress(ctx context.Context, conn *workload.Conn) error {
	rows, err := numbers(ctx, conn, `SELECT writer, seq FROM kill_progress`)
	if err != nil {
		return err
	}
	at := map[int64]int64{}
	for _, r := range rows {
		at[r[0]] = r[1]
	}
	for _, w := range t.writers {
		if w.transfer && at[int64(w.id)] != w.acked {
			return fmt.Errorf("writer %d: the ledger ends with %d, its progress says %d", w.id, w.acked, at[int64(w.id)])
		}
	}
	return nil
}

// verifyBalances checks that the ledger explains every balance and that the sum is
// what it was in the beginning; by way of the index too.
func (t *test) verifyBalances(ctx context.Context, conn *workload.Conn) error {
	wrong, err := numbers(ctx, conn, fmt.Sprintf(`SELECT a.id, a.balance, %d + l.amount
FROM kill_accounts a JOIN (SELECT account, sum(amount) AS amount FROM kill_ledger GROUP BY account) l ON l.account = a.id
WHERE a.balance <> %d + l.amount`, initialBalance, initialBalance))
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d balances differ from the ledger: account, balance, expected %v", len(wrong), wrong[0])
	}
	sum, err := numbers(ctx, conn, `SELECT count(*), sum(balance) FROM kill_accounts`)
	if err != nil {
		return err
	}
	if sum[0][0] != accounts || sum[0][1] != accounts*initialBalance {
		return fmt.Errorf("%d accounts with %d in all, want %d with %d", sum[0][0], sum[0][1], accounts, accounts*initialBalance)
	}
	account := 1 + t.rng.IntN(accounts)
	both, err := numbers(ctx, conn, fmt.Sprintf(`SELECT
  (SELECT count(*) FROM kill_ledger WHERE account = %d), (SELECT count(*) FROM kill_ledger WHERE account + 0 = %d)`, account, account))
	if err != nil {
		return err
	}
	if both[0][0] != both[0][1] {
		return fmt.Errorf("account %d: the index finds %d rows, the table has %d", account, both[0][0], both[0][1])
	}
	return nil
}
