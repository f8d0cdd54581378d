package pgwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// TestPgxModes runs a small application in every way pgx can execute.
func TestPgxModes(t *testing.T) {
	_, addr := newServer(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for i, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		c := connect(t, addr, "&default_query_exec_mode="+mode)
		table := fmt.Sprintf("m%d", i)
		exec := func(sql string, args ...any) string {
			tag, err := c.Exec(ctx, sql, args...)
			if err != nil {
				t.Fatalf("%s: %s: %v", mode, sql, err)
			}
			return tag.String()
		}
		exec("create table " + table + " (a int primary key, b text, c float8)")
		for n := range 3 {
			if tag := exec("insert into "+table+" values ($1, $2, $3)", n, fmt.Sprint("text ", n), float64(n)/2); tag != "INSERT 0 1" {
				t.Errorf("%s: tag %q", mode, tag)
			}
		}
		var b string
		var f float64
		if err := c.QueryRow(ctx, "select b, c from "+table+" where a = $1", 1).Scan(&b, &f); err != nil || b != "text 1" || f != 0.5 {
			t.Errorf("%s: %q, %v, %v", mode, b, f, err)
		}
		if _, err := c.Exec(ctx, "insert into "+table+" values ($1, 'x', 0)", 1); sqlState(err) != "23505" {
			t.Errorf("%s: %v", mode, err)
		}
		tx, err := c.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(ctx, "delete from "+table); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := c.QueryRow(ctx, "select count(*) from "+table).Scan(&n); err != nil || n != 3 {
			t.Errorf("%s: %d rows, %v", mode, n, err)
		}
	}
}

// TestPgxBatch pipelines statements behind one Sync: they are one transaction.
func TestPgxBatch(t *testing.T) {
	_, addr := newServer(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	c := connect(t, addr, "")
	if _, err := c.Exec(ctx, "create table b (a int primary key)"); err != nil {
		t.Fatal(err)
	}
	var b pgx.Batch
	for i := range 500 {
		b.Queue("insert into b values ($1)", i)
	}
	b.Queue("select count(*) from b").QueryRow(func(row pgx.Row) error {
		var n int
		if err := row.Scan(&n); err != nil || n != 500 {
			t.Errorf("%d rows, %v", n, err)
		}
		return nil
	})
	if err := c.SendBatch(ctx, &b).Close(); err != nil {
		t.Fatal(err)
	}
	b = pgx.Batch{}
	b.Queue("insert into b values (1000)")
	b.Queue("insert into b values (1)")
	b.Queue("insert into b values (1001)")
	if err := c.SendBatch(ctx, &b).Close(); sqlState(err) != "23505" {
		t.Errorf("got %v", err)
	}
	var n int
	if err := c.QueryRow(ctx, "select count(*) from b").Scan(&n); err != nil || n != 500 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestPgxLarge moves values that are larger than the connection's buffers.
func TestPgxLarge(t *testing.T) {
	_, addr := newServer(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	c := connect(t, addr, "")
	for _, size := range []int{readTestSize - 60, readTestSize, 200_000, 3_000_000} {
		in := bytes.Repeat([]byte{0, 1, 2, 0xff}, size/4)
		var out []byte
		var text string
		err := c.QueryRow(ctx, "select $1::bytea, $2::text", in, strings.Repeat("é", size/2)).Scan(&out, &text)
		if err != nil || !bytes.Equal(in, out) || len(text) != size/2*2 {
			t.Errorf("%d bytes: %d and %d bytes came back, %v", size, len(out), len(text), err)
		}
	}
	rows, err := c.Query(ctx, "select i, repeat('x', 100) from generate_series(1, 20000) i")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; rows.Next(); n++ {
		var i int
		var s string
		if err := rows.Scan(&i, &s); err != nil || i != n+1 || len(s) != 100 {
			t.Fatal(n, i, len(s), err)
		}
	}
	if n != 20000 || rows.Err() != nil {
		t.Errorf("%d rows, %v", n, rows.Err())
	}
}

const readTestSize = 16 << 10 // that of a read buffer

func TestPgxCopy(t *testing.T) {
	_, addr := newServer(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	c := connect(t, addr, "")
	if _, err := c.Exec(ctx, "create table c (a int primary key, b text)"); err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&in, "%d\tsome \\\\ text %d\n", i, i)
	}
	tag, err := c.PgConn().CopyFrom(ctx, strings.NewReader(in.String()), "copy c from stdin")
	if err != nil || tag.RowsAffected() != 5000 {
		t.Fatal(tag, err)
	}
	var out bytes.Buffer
	if _, err := c.PgConn().CopyTo(ctx, &out, "copy (select a, b from c order by a) to stdout"); err != nil {
		t.Fatal(err)
	}
	if out.String() != in.String() {
		t.Errorf("%d bytes in, %d bytes out", in.Len(), out.Len())
	}
	if _, err := c.PgConn().CopyFrom(ctx, strings.NewReader("x\ty\n"+in.String()), "copy c from stdin"); sqlState(err) != "22P02" {
		t.Errorf("got %v", err)
	}
	if err := c.Ping(ctx); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestFormats compares the text and the binary form of values of every type, as
// parameters and as results.
func TestFormats(t *testing.T) {
	_, addr := newServer(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	c := connect(t, addr, "").PgConn()
	values := map[string][]string{
		"bool": {"t", "f"}, "int2": {"-32768"}, "int4": {"2147483647"}, "int8": {"-9223372036854775808"},
		"float4": {"1.5", "NaN"}, "float8": {"-1e+300", "Infinity"}, "numeric": {"12345678901234567890.0123", "NaN", "-0.01"},
		"text": {"", "plain", "é\t"}, "varchar": {"x"}, "bytea": {`\x00ff`}, "date": {"2024-02-29", "infinity"},
		"time": {"23:59:59.999999"}, "timestamp": {"2024-02-29 12:00:00.5"}, "timestamptz": {"2024-02-29 12:00:00+00"},
		"interval": {"1 year 2 mons 3 days 04:05:06.7"}, "uuid": {"0f0e0d0c-0b0a-0908-0706-050403020100"},
		"jsonb": {`{"a": [1, null]}`}, "json": {`{"a" : 1}`}, "int4[]": {"{1,NULL,3}", "{}"}, "text[]": {`{a,"b c"}`},
		"oid": {"4294967295"}, "name": {"n"}, "timetz": {"12:00:00+02"},
	}
	for typ, texts := range values {
		for _, text := range texts {
			sql := "select $1::" + typ
			bin := c.ExecParams(ctx, sql, [][]byte{[]byte(text)}, nil, []int16{0}, []int16{1}).Read()
			if bin.Err != nil {
				t.Errorf("%s %q: %v", typ, text, bin.Err)
				continue
			}
			back := c.ExecParams(ctx, sql, [][]byte{bin.Rows[0][0]}, nil, []int16{1}, []int16{0}).Read()
			if back.Err != nil || string(back.Rows[0][0]) != text {
				t.Errorf("%s %q: binary % x came back as %q, %v", typ, text, bin.Rows[0][0], back.Rows, back.Err)
			}
			simple, err := c.Exec(ctx, "select '"+text+"'::"+typ).ReadAll()
			if err != nil || string(simple[0].Rows[0][0]) != text {
				t.Errorf("%s %q: a simple query gave %v, %v", typ, text, simple, err)
			}
		}
		null := c.ExecParams(ctx, "select $1::"+typ, [][]byte{nil}, nil, []int16{1}, []int16{1}).Read()
		if null.Err != nil || null.Rows[0][0] != nil {
			t.Errorf("%s: NULL came back as %v, %v", typ, null.Rows, null.Err)
		}
	}
}

// TestParametersOutliveMessages checks P4: a parameter that the session keeps
// does not change when later messages overwrite the read buffer.
func TestParametersOutliveMessages(t *testing.T) {
	_, addr := newServer(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	c := connect(t, addr, "")
	want := []string{"first value", "Europe/Zurich"}
	if _, err := c.Exec(ctx, "select set_config('my.setting', $1, false), set_config('timezone', $2, false)", want[0], want[1]); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := c.Exec(ctx, "select $1::text", strings.Repeat("#", 500)); err != nil {
			t.Fatal(err)
		}
	}
	var got [2]string
	err := c.QueryRow(ctx, "select current_setting('my.setting'), current_setting('timezone')").Scan(&got[0], &got[1])
	if err != nil || !reflect.DeepEqual(got[:], want) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestDescribedDomains checks what clients are told of values of domains: an array of a
// domain has a type of its own, in descriptions and in binary values.
func TestDescribedDomains(t *testing.T) {
	_, addr := newServer(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	c := connect(t, addr, "")
	for _, s := range []string{
		"create domain small as numeric(5,1)",
		"create table d (v small, a small[])",
		"create type pair as (k text, a small[])",
		"insert into d values (1, array[1, 2])",
	} {
		if _, err := c.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	var array, elem uint32
	if err := c.QueryRow(ctx, "select 'small[]'::regtype::oid, 'small'::regtype::oid").Scan(&array, &elem); err != nil {
		t.Fatal(err)
	}
	res := c.PgConn().ExecParams(ctx, "select v, a, array_agg(v), row('x', a)::pair from d group by v, a", nil, nil, nil, []int16{1}).Read()
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	const numeric = 1700
	for i, want := range []uint32{numeric, array, array} {
		f := res.FieldDescriptions[i]
		if f.DataTypeOID != want {
			t.Errorf("%s is of type %d, want %d", f.Name, f.DataTypeOID, want)
		}
	}
	if f := res.FieldDescriptions[1]; f.DataTypeSize != -1 || f.TypeModifier != -1 {
		t.Errorf("the array's size is %d, its modifier %d", f.DataTypeSize, f.TypeModifier)
	}
	row := res.Rows[0]
	if got := binary.BigEndian.Uint32(row[1][8:]); got != elem {
		t.Errorf("elements are said to be of type %d, want %d", got, elem)
	}
	// What was sent is read back.
	sql := "select ($1::pair).a = a from d"
	res = c.PgConn().ExecParams(ctx, sql, [][]byte{row[3]}, nil, []int16{1}, nil).Read()
	if res.Err != nil || string(res.Rows[0][0]) != "t" {
		t.Errorf("%s: %q, %v", sql, res.Rows, res.Err)
	}
}

// TestManyParameters checks that Bind can give as many parameters as it can count, and that
// statements with more can be prepared, as in PostgreSQL.
func TestManyParameters(t *testing.T) {
	_, addr := newServer(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	c := connect(t, addr, "").PgConn()
	const most = 65535
	args := make([][]byte, most)
	var list strings.Builder
	list.WriteString("select array_length(array[")
	for i := range args {
		args[i] = []byte("x")
		fmt.Fprintf(&list, "$%d::text,", i+1)
	}
	sql := list.String()
	res := c.ExecParams(ctx, sql+"null], 1)", args, nil, nil, nil).Read()
	if res.Err != nil || string(res.Rows[0][0]) != fmt.Sprint(most+1) {
		t.Errorf("%q, %v", res.Rows, res.Err)
	}
	sd, err := c.Prepare(ctx, "more", sql+fmt.Sprintf("$%d::text], 1)", most+1), nil)
	if err != nil || len(sd.ParamOIDs) != most+1 {
		t.Fatalf("%v", err)
	}
	// What pgx refuses to send: a Bind message that counts modulo 65,536.
	body := append([]byte("\x00more\x00"), make([]byte, 6)...)
	msg := binary.BigEndian.AppendUint32([]byte{'B'}, uint32(len(body)+4))
	msg = append(append(msg, body...), 'S', 0, 0, 0, 4)
	if _, err := c.Conn().Write(msg); err != nil {
		t.Fatal(err)
	}
	m, err := c.ReceiveMessage(ctx)
	if e, ok := m.(*pgproto3.ErrorResponse); !ok || e.Code != "08P01" {
		t.Errorf("%#v, %v", m, err)
	}
}
