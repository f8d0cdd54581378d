package ycsb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/workload"
	"github.com/lichendb/lichen/internal/workload/measure"
)

// What an operation returned, in YCSB's words.
const (
	statusOK         = "OK"
	statusError      = "ERROR"
	statusNotFound   = "NOT_FOUND"
	statusUnexpected = "UNEXPECTED_STATE"
	statusBatched    = "BATCHED_OK"
)

// operations are the measurements of the workload's operations.
type operations struct {
	read, update, insert, scan, rmw, del, verify, cleanup *measure.Operation
}

// client is one thread: its connection, random source and choosers.
type client struct {
	cfg  *Config
	run  *runner
	conn *workload.Conn
	rng  *rand.Rand
	keys chooser
	scan chooser
	size chooser

	args  [][]byte
	batch []string // keys of the batch that is being filled
	rows  [][]byte // its parameters
	err   error    // why the operation failed
}

// key returns the key of a record.
func (c *Config) key(number int64) string {
	if !c.OrderedInserts {
		number = fnv(number)
	}
	digits := strconv.FormatInt(number, 10)
	return "user" + strings.Repeat("0", max(c.ZeroPadding-len(digits), 0)) + digits
}

func (c *Config) field(i int) string { return c.FieldPrefix + strconv.Itoa(i) }

func (c *Config) fieldNames() []string {
	names := make([]string, c.Fields)
	for i := range names {
		names[i] = c.field(i)
	}
	return names
}

func (c *Config) createTable(families bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (ycsb_key VARCHAR(255) PRIMARY KEY", c.Table)
	for _, f := range c.fieldNames() {
		fmt.Fprintf(&b, ", %s TEXT", f)
	}
	if families {
		b.WriteString(", FAMILY (ycsb_key)")
		for _, f := range c.fieldNames() {
			fmt.Fprintf(&b, ", FAMILY (%s)", f)
		}
	}
	return b.String() + ")"
}

func (c *Config) insertSQL(rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s (ycsb_key, %s) VALUES ", c.Table, strings.Join(c.fieldNames(), ", "))
	for n := 0; n < rows*(c.Fields+1); n++ {
		switch {
		case n > 0 && n%(c.Fields+1) == 0:
			b.WriteString("), (")
		case n == 0:
			b.WriteByte('(')
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", n+1)
	}
	return b.String() + ")"
}

// columns returns what a read of one field, or of all if field is negative, selects.
func (c *Config) columns(field int) string {
	switch {
	case field >= 0:
		return c.field(field)
	case c.ReadByName:
		return strings.Join(c.fieldNames(), ", ")
	}
	return "*"
}

// readField picks the field of a read; negative means all.
func (c *client) readField() int {
	if c.cfg.ReadAllFields {
		return -1
	}
	return c.rng.IntN(c.cfg.Fields)
}

// nextKey picks the number of a record that is there.
func (c *client) nextKey() int64 {
	for {
		if k := c.keys.next(c.rng); k <= c.run.keys.last() {
			return k
		}
	}
}

// value returns the value of a field.
func (c *client) value(key string, field int) []byte {
	n := int(c.size.next(c.rng))
	if c.cfg.Verify {
		return c.cfg.expected(key, field, n)
	}
	return randomText(c.rng, n)
}

// randomText returns printable ASCII characters.
func randomText(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; {
		bits := r.Uint64()
		for k := 0; k < 10 && i < n; k++ {
			b[i] = ' ' + byte(bits&63)
			bits >>= 6
			i++
		}
	}
	return b
}

// expected returns the only value that a field has when reads are to be checked.
func (c *Config) expected(key string, field, n int) []byte {
	b := make([]byte, 0, n+32)
	b = append(append(append(b, key...), ':'), c.field(field)...)
	for len(b) < n {
		h := int64(0)
		for _, x := range b {
			h = 31*h + int64(x)
		}
		b = strconv.AppendInt(append(b, ':'), h, 10)
	}
	return b[:n]
}

// measured runs an operation and records how long it took and what it returned.
func (c *client) measured(op *measure.Operation, f func() string) string {
	begun := time.Now()
	status := f()
	op.Record(time.Since(begun), status, status == statusOK || status == statusBatched)
	op.Retried(c.conn.TakeRetries())
	return status
}

// failed notes an error and returns its status.
func (c *client) failed(op string, err error) string {
	c.err = err
	c.run.errs.Failed(op, err)
	return statusError
}

func (c *client) arg(values ...[]byte) [][]byte {
	c.args = append(c.args[:0], values...)
	return c.args
}

// read reads a record and returns the values of its fields if want is set.
func (c *client) read(ctx context.Context, key string, field int) string {
	var values [][]byte
	status := c.measured(c.run.ops.read, func() string {
		sql := "SELECT " + c.cfg.columns(field) + " FROM " + c.cfg.Table + " WHERE ycsb_key = $1"
		n, err := c.conn.Run(ctx, sql, c.arg([]byte(key)), func(v [][]byte) {
			if c.cfg.Verify {
				values = clone(v)
			}
		})
		return c.found("READ", n, err)
	})
	if c.cfg.Verify && status == statusOK {
		c.verify(key, field, values)
	}
	return status
}

func clone(v [][]byte) [][]byte {
	out := make([][]byte, len(v))
	for i := range v {
		out[i] = append([]byte(nil), v[i]...)
	}
	return out
}

func (c *client) found(op string, n int64, err error) string {
	switch {
	case err != nil:
		return c.failed(op, err)
	case n == 0:
		c.run.missing()
		return statusNotFound
	}
	return statusOK
}

// verify compares the fields of a record with what must be in them.
func (c *client) verify(key string, field int, values [][]byte) {
	c.measured(c.run.ops.verify, func() string {
		first := max(field, 0)
		if field < 0 && !c.cfg.ReadByName && len(values) > 0 {
			values = values[1:] // the key
		}
		for i, v := range values {
			if string(v) != string(c.cfg.expected(key, first+i, c.cfg.FieldLength)) {
				c.run.errs.Failed("VERIFY", fmt.Errorf("record %s: field %s has a wrong value", key, c.cfg.field(first+i)))
				return statusUnexpected
			}
		}
		return statusOK
	})
}

func (c *client) update(ctx context.Context, key string) string {
	first, n := 0, c.cfg.Fields
	if !c.cfg.WriteAll {
		first, n = c.rng.IntN(c.cfg.Fields), 1
	}
	var b strings.Builder
	args := c.arg([]byte(key))
	b.WriteString("UPDATE " + c.cfg.Table + " SET ")
	for i := first; i < first+n; i++ {
		if i > first {
			b.WriteString(", ")
		}
		args = append(args, c.value(key, i))
		fmt.Fprintf(&b, "%s = $%d", c.cfg.field(i), len(args))
	}
	b.WriteString(" WHERE ycsb_key = $1")
	c.args = args
	sql := b.String()
	return c.measured(c.run.ops.update, func() string {
		rows, err := c.conn.Run(ctx, sql, args, nil)
		return c.found("UPDATE", rows, err)
	})
}

func (c *client) readModifyWrite(ctx context.Context) {
	key, field := c.cfg.key(c.nextKey()), c.readField()
	begun := time.Now()
	status := c.read(ctx, key, field)
	if s := c.update(ctx, key); status == statusOK {
		status = s
	}
	if status == statusNotFound {
		c.run.missing() // a third failure of the same reason
	}
	c.run.ops.rmw.Record(time.Since(begun), status, status == statusOK)
}

func (c *client) scanRecords(ctx context.Context) {
	key, n, field := c.cfg.key(c.nextKey()), c.scan.next(c.rng), c.readField()
	sql := "SELECT " + c.cfg.columns(field) + " FROM " + c.cfg.Table + " WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2"
	limit := strconv.AppendInt(nil, n, 10)
	c.measured(c.run.ops.scan, func() string {
		rows, err := c.conn.Run(ctx, sql, c.arg([]byte(key), limit), nil)
		return c.found("SCAN", rows, err)
	})
}

func (c *client) remove(ctx context.Context) {
	key := c.cfg.key(c.nextKey())
	sql := "DELETE FROM " + c.cfg.Table + " WHERE ycsb_key = $1"
	c.measured(c.run.ops.del, func() string {
		rows, err := c.conn.Run(ctx, sql, c.arg([]byte(key)), nil)
		return c.found("DELETE", rows, err)
	})
}

// insert inserts a record: at once, or with others when the batch is full.
func (c *client) insert(ctx context.Context, key string, batch int) string {
	row := [][]byte{[]byte(key)}
	for i := range c.cfg.Fields {
		row = append(row, c.value(key, i))
	}
	for try := 0; ; try++ {
		status := c.measured(c.run.ops.insert, func() string {
			if batch > 1 {
				return c.addToBatch(ctx, key, row, batch)
			}
			n, err := c.conn.Run(ctx, c.run.insertOne, row, nil)
			if err == nil && n != 1 {
				err = fmt.Errorf("INSERT of one record changed %d", n)
			}
			if err != nil {
				return c.failed("INSERT", err)
			}
			return statusOK
		})
		if status != statusError || try >= c.cfg.InsertRetries || batch > 1 || c.conn.Lost() || ctx.Err() != nil {
			return status
		}
		// Spread over 20 % around the interval, so that threads don't return together.
		wait := time.Duration(float64(c.cfg.InsertRetryEvery) * (0.8 + 0.4*c.rng.Float64()))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

func (c *client) addToBatch(ctx context.Context, key string, row [][]byte, size int) string {
	c.batch = append(c.batch, key)
	c.rows = append(c.rows, row...)
	if len(c.batch) < size {
		return statusBatched
	}
	if err := c.flush(ctx); err != nil {
		return c.failed("INSERT", err)
	}
	return statusOK
}

// flush inserts what is in the batch.
func (c *client) flush(ctx context.Context) error {
	want := int64(len(c.batch))
	if want == 0 {
		return nil
	}
	sql := c.run.insertBatch
	if len(c.batch) != c.run.batch {
		sql = c.cfg.insertSQL(len(c.batch))
	}
	n, err := c.conn.Run(ctx, sql, c.rows, nil)
	if err == nil && n != want {
		err = fmt.Errorf("INSERT of %d records changed %d", want, n)
	}
	c.batch, c.rows = c.batch[:0], c.rows[:0]
	return err
}
