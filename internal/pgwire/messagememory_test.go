package pgwire

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql"
)

// message makes a message of its type and the parts of its body.
func message(typ byte, parts ...string) []byte {
	body := strings.Join(parts, "")
	return append(binary.BigEndian.AppendUint32([]byte{typ}, uint32(4+len(body))), body...)
}

// answer returns the types of the messages up to ReadyForQuery, and the codes of errors.
func answer(c *client) string {
	c.t.Helper()
	var out strings.Builder
	for {
		m, err := c.fe.Receive()
		if err != nil {
			c.t.Fatalf("%v, after %s", err, &out)
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			out.WriteString("E" + m.Code)
		case *pgproto3.ReadyForQuery:
			out.WriteByte('Z')
			return out.String()
		default:
			out.WriteByte(show(m)[0])
		}
	}
}

// TestMessagesCountAgainstMemory sends messages for which there is no memory: each is refused
// with 53200, and the connection stays in step. When they are done, all memory is free again.
func TestMessagesCountAgainstMemory(t *testing.T) {
	mem := quota.NewPool("test", 4<<20)
	db, _ := newSQLOf(t, func(cfg *sql.Config) { cfg.Mem = mem })
	_, addr := newServer(t, func(o *Options) { o.SQL, o.Mem = db, mem })
	c := dial(t, addr).start()
	big := strings.Repeat("x", 6<<20)
	bind := func(value string) []byte {
		return message('B', "\x00\x00", "\x00\x00\x00\x01", string(binary.BigEndian.AppendUint32(nil, uint32(len(value)))), value, "\x00\x00")
	}
	execute, sync := message('E', "\x00\x00\x00\x00\x00"), message('S')
	parse := message('P', "\x00SELECT length($1::text)\x00\x00\x00")
	for _, s := range []struct {
		name, want string
		msgs       [][]byte
	}{
		{"a query", "E53200Z", [][]byte{message('Q', "SELECT '", big, "'\x00")}},
		{"a small query", "TDCZ", [][]byte{message('Q', "SELECT 1\x00")}},
		{"Parse", "E53200Z", [][]byte{message('P', "\x00SELECT '", big, "'\x00\x00\x00"), bind(""), execute, sync}},
		{"Bind", "1E53200Z", [][]byte{parse, bind(big), execute, sync}},
		{"Bind while errors are skipped", "E42601Z", [][]byte{message('P', "\x00SELEC\x00\x00\x00"), bind(big), execute, sync}},
		{"a Bind that fits", "12DCZ", [][]byte{parse, bind(big[:1<<20]), execute, sync}},
		{"a row that does not fit", "TE53200Z", [][]byte{message('Q', "SELECT a, a, a, a FROM (SELECT ARRAY['", big[:1<<20], "'] a) t\x00")}},
		{"a row of values that are not copied", "TDCZ", [][]byte{message('Q', "SELECT a, a, a, a FROM (SELECT '", big[:1<<20], "'::text a) t\x00")}},
		{"COPY data outside of COPY", "TDCZ", [][]byte{message('d', big), message('Q', "SELECT 1\x00")}},
		{"a table", "CZ", [][]byte{message('Q', "CREATE TABLE c (a text)\x00")}},
		{"COPY", "GE53200Z", [][]byte{message('Q', "COPY c FROM STDIN\x00"), message('d', big), message('c')}},
		{"COPY of a line in pieces", "GE53200Z", [][]byte{
			message('Q', "COPY c FROM STDIN\x00"), message('d', big[:2<<20]), message('d', big[:2<<20]), message('d', big[:2<<20]), message('c'),
		}},
		{"the next query", "TDCZ", [][]byte{message('Q', "SELECT count(*) FROM c\x00")}},
	} {
		c.write(bytes.Join(s.msgs, nil))
		if got := answer(c); got != s.want {
			t.Errorf("%s: %s, want %s", s.name, got, s.want)
		}
	}
	becomesFree(t, mem)
}

// quietMemory is what a server without large values may hold.
const quietMemory = 256 << 10

// becomesFree waits until the garbage collector has given back what large values took.
func becomesFree(t *testing.T, mem *quota.Pool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); mem.Used() > quietMemory; {
		memory() // collects garbage
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are still in use", mem.Used())
		}
	}
}

// TestLargeValuesAreNotKept runs statements that have large values in many places of their
// programs: neither these nor the idle session keep them.
func TestLargeValuesAreNotKept(t *testing.T) {
	mem := quota.NewPool("test", 64<<20)
	db, _ := newSQLOf(t, func(cfg *sql.Config) { cfg.Mem = mem })
	_, addr := newServer(t, func(o *Options) { o.SQL, o.Mem = db, mem })
	c := dial(t, addr).start()
	query := func(text, want string) {
		t.Helper()
		c.write(message('Q', text, "\x00"))
		if got := answer(c); got != want {
			t.Errorf("%.100s: %s, want %s", text, got, want)
		}
	}
	query("CREATE TABLE b (id int PRIMARY KEY, s text)", "CZ")
	query("INSERT INTO b SELECT i, repeat('x', 1000000) FROM generate_series(1, 3) i", "CZ")
	const v = "WITH v AS MATERIALIZED (SELECT repeat('y', 1000000) x) SELECT "
	for _, text := range []string{
		v + "length(x) FROM v", v + "length(reverse(x)) FROM v", v + "length(x || x) FROM v", v + "length(x::bytea::text) FROM v",
		v + "count(*) FROM v JOIN v w USING (x)", v + "length(string_agg(x, x)) FROM v", v + "length(max(x) OVER ()) FROM v",
		v + "length((SELECT string_agg(x || i, ',') FROM generate_series(1, 3) i)) FROM v", v + "cardinality(string_to_array(x, NULL)) FROM v",
		"SELECT length(s) FROM b WHERE id = 2", "SELECT count(DISTINCT s) FROM b", "SELECT length(a.s || c.s) FROM b a JOIN b c USING (id)",
		"SELECT count(*) FROM (SELECT s FROM b ORDER BY s, id OFFSET 0) x", "SELECT length('" + strings.Repeat("z", 1000000) + "')",
	} {
		rows := "TDCZ"
		if strings.Contains(text, "c USING") {
			rows = "TDDDCZ"
		}
		query(text, rows)
	}
	query(v+"length(x || (1 / (length(x) - 1000000))::text) FROM v", "TE22012Z")
	becomesFree(t, mem)
}
