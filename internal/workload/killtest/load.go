package killtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/workload"
)

// Sizes of the data. The balances of all accounts together never change.
const (
	accounts       = 100
	initialBalance = 1000
	manyRows       = 300 // of a large transaction
)

// schema has a ledger with two rows for each transaction, accounts that the ledger
// explains, and each writer's last number.
var schema = fmt.Sprintf(`
DROP TABLE IF EXISTS kill_ledger;
DROP TABLE IF EXISTS kill_accounts;
DROP TABLE IF EXISTS kill_progress;
CREATE TABLE kill_ledger (writer INT, seq BIGINT, part INT, account INT, amount BIGINT NOT NULL, PRIMARY KEY (writer, seq, part));
CREATE INDEX kill_ledger_account ON kill_ledger (account);
CREATE TABLE kill_accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL);
CREATE TABLE kill_progress (writer INT PRIMARY KEY, seq BIGINT NOT NULL);
INSERT INTO kill_accounts SELECT i, %d FROM generate_series(1, %d) AS g(i);`, initialBalance, accounts)

// writer writes numbered transactions. Those of a transfer are several statements;
// the others are one.
type writer struct {
	id       int
	rng      *rand.Rand
	transfer bool
	acked    int64 // every transaction up to this number was acknowledged
	inDoubt  bool  // the next one was sent and has no answer
	retries  int64
	began    func() // called when a write is acknowledged
}

// write writes until the connection is lost.
func (w *writer) write(ctx context.Context, url string) error {
	conn, err := workload.Connect(ctx, workload.Target{URL: url})
	if err != nil {
		return nil // killed before
	}
	defer conn.Close(ctx)
	for ctx.Err() == nil {
		lost, err := w.step(ctx, conn)
		if err != nil || lost {
			return err
		}
	}
	return nil
}

// step writes the next transaction. An error that isn't the loss of the connection
// ends the test: the server must not refuse anything here.
func (w *writer) step(ctx context.Context, conn *workload.Conn) (lost bool, err error) {
	seq := w.acked + 1
	sql := w.single(seq)
	if w.transfer {
		sql = w.transferSQL(seq)
	}
	for {
		w.inDoubt = true
		err := w.send(ctx, conn, sql)
		var pe *pgconn.PgError
		switch {
		case err == nil:
			w.acked, w.inDoubt = seq, false
			w.began()
			return false, nil
		case workload.Retryable(err):
			w.retries++
			w.inDoubt = false
			if err := conn.Exec(ctx, "ROLLBACK"); err != nil {
				return true, nil
			}
		case errors.As(err, &pe) && pe.Code[:2] != "57" && pe.Code[:2] != "08":
			return false, fmt.Errorf("writer %d: %w", w.id, err)
		default:
			return true, nil
		}
	}
}

// send sends a transaction's statements one after the other: its last one commits.
func (w *writer) send(ctx context.Context, conn *workload.Conn, statements []string) error {
	for _, s := range statements {
		if err := conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// transferSQL moves an amount between two accounts, in the order of their numbers,
// so that writers don't wait in a circle.
func (w *writer) transferSQL(seq int64) []string {
	a := 1 + w.rng.IntN(accounts-1)
	b := a + 1 + w.rng.IntN(accounts-a)
	amount := w.rng.IntN(100) - 50
	return []string{
		"BEGIN",
		fmt.Sprintf("UPDATE kill_accounts SET balance = balance - %d WHERE id = %d", amount, a),
		fmt.Sprintf("UPDATE kill_accounts SET balance = balance + %d WHERE id = %d", amount, b),
		fmt.Sprintf("INSERT INTO kill_ledger VALUES (%d, %d, 1, %d, %d)", w.id, seq, a, -amount),
		fmt.Sprintf("INSERT INTO kill_ledger VALUES (%d, %d, 2, %d, %d)", w.id, seq, b, amount),
		fmt.Sprintf("INSERT INTO kill_progress VALUES (%d, %d) ON CONFLICT (writer) DO UPDATE SET seq = excluded.seq", w.id, seq),
		"COMMIT",
	}
}

// single inserts both of a transaction's rows with one statement; now and then there
// are many.
func (w *writer) single(seq int64) []string {
	n := 2
	if w.rng.IntN(200) == 0 {
		n = manyRows
	}
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("(%d, %d, %d, %d, 0)", w.id, seq, i+1, 1+w.rng.IntN(accounts))
	}
	return []string{"INSERT INTO kill_ledger VALUES " + strings.Join(rows, ", ")}
}
