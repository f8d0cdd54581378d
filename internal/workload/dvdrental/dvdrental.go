package dvdrental

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/lichendb/lichen/internal/workload"
	"github.com/lichendb/lichen/internal/workload/dataset"
)

var (
	//go:embed tables.sql
	tables string
	//go:embed tables_postgresql.sql
	tablesPostgreSQL string
	//go:embed links.sql
	links string
)

// Set returns the schema and data. At scale 1 there are 100,000 payments; postgreSQL
// avoids what a PostgreSQL server doesn't know.
func Set(scale float64, postgreSQL bool) *dataset.Set {
	schema := tables
	if postgreSQL {
		schema = tablesPostgreSQL
	}
	return &dataset.Set{Schema: schema, Links: links, Tables: newSizes(scale).tables()}
}

// Select-join, with the condition that an optimizer should not need and without it.
const (
	selectJoin      = "SELECT payment_id FROM payment p, staff s WHERE s.staff_id = $1 AND p.staff_id = s.staff_id"
	selectJoinTwice = selectJoin + " AND p.staff_id = $1"
	insertPayment   = "INSERT INTO payment (payment_id, customer_id, staff_id, rental_id, amount, payment_date)" +
		" SELECT $1::int, customer_id, staff_id, rental_id, $2::int, rental_date + interval '1 hour' FROM rental WHERE rental_id = $3::int"
)

// Mixes are the names that Operations knows.
var Mixes = []string{"select-join", "select-join-redundant", "insert"}

// Operations returns the operations of a mix for a loaded server, which it asks for the
// numbers that there are.
func Operations(ctx context.Context, target workload.Target, mix string) ([]dataset.Operation, error) {
	staff := dataset.Operation{Name: "SELECT-JOIN", SQL: selectJoin}
	switch mix {
	case "insert":
		return inserts(ctx, target)
	case "select-join-redundant":
		staff.SQL = selectJoinTwice
	case "select-join":
	default:
		return nil, fmt.Errorf("unknown mix %q", mix)
	}
	n, err := highest(ctx, target, "staff", "staff_id")
	if err != nil {
		return nil, err
	}
	staff.Args = func(r *rand.Rand, _ int64) [][]byte { return [][]byte{number(1 + r.Int64N(n))} }
	return []dataset.Operation{staff}, nil
}

func inserts(ctx context.Context, target workload.Target) ([]dataset.Operation, error) {
	payments, err := highest(ctx, target, "payment", "payment_id")
	if err != nil {
		return nil, err
	}
	rentals, err := highest(ctx, target, "rental", "rental_id")
	if err != nil {
		return nil, err
	}
	args := func(r *rand.Rand, n int64) [][]byte {
		return [][]byte{number(payments + 1 + n), number(99 + r.Int64N(1100)), number(1 + r.Int64N(rentals))}
	}
	return []dataset.Operation{{Name: "INSERT", SQL: insertPayment, Args: args}}, nil
}

// highest returns the highest value of a key, which must be there.
func highest(ctx context.Context, target workload.Target, table, column string) (int64, error) {
	c, err := workload.Connect(ctx, target)
	if err != nil {
		return 0, err
	}
	defer c.Close(ctx)
	n := int64(0)
	_, err = c.Run(ctx, "SELECT coalesce(max("+column+"), 0) FROM "+table, nil, func(v [][]byte) {
		n, err = strconv.ParseInt(string(v[0]), 10, 64)
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("table %s is empty: load it with lichen workload init dvdrental", table)
	}
	return n, err
}

func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
