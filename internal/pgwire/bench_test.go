package pgwire

import (
	"context"
	"encoding/binary"
	"net"
	"testing"

	"github.com/lichendb/lichen/internal/pgwire/nullserver"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// frames makes the messages Parse once, and Bind, Execute, Sync as pgbench sends
// them.
func frames(sql string) (parse, run []byte) {
	msg := func(typ byte, body string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{typ}, uint32(len(body)+4)), body...)
	}
	parse = append(msg('P', "s\x00"+sql+"\x00\x00\x00"), msg('S', "")...)
	run = msg('B', "\x00s\x00\x00\x00\x00\x01\x00\x00\x00\x01\x37\x00\x01\x00\x00")
	run = append(run, msg('D', "P\x00")...)
	run = append(run, msg('E', "\x00\x00\x00\x00\x00")...)
	return parse, append(run, msg('S', "")...)
}

const benchSQL = "select abalance from pgbench_accounts where aid = $1"

// BenchmarkNullServer is the round trip over TCP with nothing behind the
// protocol.
func BenchmarkNullServer(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var s nullserver.Server
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	roundTrips(b, l.Addr().String())
	_ = l.Close()
	s.Close()
	<-done
}

// BenchmarkPointSelect is the same with a table.
func BenchmarkPointSelect(b *testing.B) {
	_, addr := newServer(b, nil)
	c := connect(b, addr, "")
	for _, sql := range []string{
		"create table pgbench_accounts (aid int primary key, bid int, abalance int, filler text)",
		"insert into pgbench_accounts select i, 1, 0, '' from generate_series(1, 1000) i",
	} {
		if _, err := c.Exec(context.Background(), sql); err != nil {
			b.Fatal(err)
		}
	}
	roundTrips(b, addr)
}

func roundTrips(b *testing.B, addr string) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	send := func(msg []byte) {
		if _, err := nc.Write(msg); err != nil {
			b.Fatal(err)
		}
	}
	send(packet(3<<16, params("user", "root", "database", "defaultdb")))
	readUntilReady(b, nc)
	parse, run := frames(benchSQL)
	send(parse)
	readUntilReady(b, nc)
	send(run)
	var buf [1024]byte
	n, err := nc.Read(buf[:]) // the answer comes in one piece, and every time the same
	if err != nil || buf[n-6] != 'Z' {
		b.Fatalf("answer %q, %v", buf[:n], err)
	}
	b.ReportAllocs()
	for b.Loop() {
		send(run)
		if _, err := nc.Read(buf[:]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDataRow(b *testing.B) {
	cols := []plan.Column{{Name: "a", Type: types.Int4}, {Name: "b", Type: types.Text}, {Name: "c", Type: types.Int8}}
	row := []types.Datum{types.NewInt(12345), types.NewString("some text of a row"), types.Null}
	for name, codes := range map[string][]int16{"text": nil, "binary": {1}} {
		b.Run(name, func(b *testing.B) {
			f := newRowFormat(cols, codes)
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				out = f.appendRow(out[:0], row, nil)
			}
		})
	}
}
