package pgwire

import (
	"encoding/hex"
	"flag"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgproto3"
)

// against runs the transcripts with another server: a PostgreSQL 15 must give
// the same answers, except where a comment in the transcript says otherwise.
var against = flag.String("against", "", "unix socket of a PostgreSQL 15 server to run the transcripts with")

// TestTranscripts plays the files of testdata/transcripts: messages to the
// server, one per line, and what it must answer. Each file is one connection,
// "connect" begins another.
func TestTranscripts(t *testing.T) {
	addr := ""
	if *against == "" {
		_, addr = newServer(t, nil)
	}
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		var c *client
		open := func() {
			if *against != "" {
				c = dialPostgres(t)
			} else {
				c = dial(t, addr)
			}
			c.start()
		}
		open()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c.t = t
			if d.Cmd == "connect" {
				open()
			}
			for line := range strings.Lines(d.Input) {
				c.line(strings.TrimSpace(line))
			}
			var got []string
			switch until, _ := d.Arg("until"); {
			case d.HasArg("closed"):
				got = c.rest()
			case d.HasArg("nothing"):
			case d.HasArg("until"):
				got = c.until(until.Vals[0][0])
			default:
				got = c.until('Z')
			}
			if len(got) == 0 {
				return ""
			}
			return strings.Join(got, "\n") + "\n"
		})
	})
}

func dialPostgres(t *testing.T) *client {
	nc, err := net.Dial("unix", *against)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(timeout))
	c := newClient(t, nc)
	c.database = "postgres"
	return c
}

// line sends the message that a line of a transcript describes: its name and
// arguments, which are Go strings where they contain blanks.
func (c *client) line(line string) {
	c.t.Helper()
	args := splitLine(c.t, line)
	if len(args) == 0 {
		return
	}
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch args[0] {
	case "Query":
		c.send(&pgproto3.Query{String: arg(1)})
	case "Parse": // name, text, oids
		c.send(&pgproto3.Parse{Name: arg(1), Query: arg(2), ParameterOIDs: numbers[uint32](c.t, arg(3))})
	case "Bind": // portal, statement, parameters, their formats, result formats
		m := &pgproto3.Bind{DestinationPortal: arg(1), PreparedStatement: arg(2)}
		for _, p := range splitLine(c.t, strings.Trim(arg(3), "[]")) {
			if p == "NULL" {
				m.Parameters = append(m.Parameters, nil)
			} else {
				m.Parameters = append(m.Parameters, []byte(p))
			}
		}
		m.ParameterFormatCodes = numbers[int16](c.t, arg(4))
		m.ResultFormatCodes = numbers[int16](c.t, arg(5))
		c.send(m)
	case "Describe":
		c.send(&pgproto3.Describe{ObjectType: arg(1)[0], Name: arg(2)})
	case "Execute":
		n, _ := strconv.Atoi("0" + arg(2))
		c.send(&pgproto3.Execute{Portal: arg(1), MaxRows: uint32(n)})
	case "Close":
		c.send(&pgproto3.Close{ObjectType: arg(1)[0], Name: arg(2)})
	case "Sync":
		c.send(&pgproto3.Sync{})
	case "Flush":
		c.send(&pgproto3.Flush{})
	case "CopyData":
		c.send(&pgproto3.CopyData{Data: []byte(arg(1))})
	case "CopyDone":
		c.send(&pgproto3.CopyDone{})
	case "CopyFail":
		c.send(&pgproto3.CopyFail{Message: arg(1)})
	case "Terminate":
		c.send(&pgproto3.Terminate{})
	case "Raw": // bytes as hex or Go strings
		for _, a := range args[1:] {
			b, err := hex.DecodeString(a)
			if err != nil {
				b = []byte(a)
			}
			c.write(b)
		}
	default:
		c.t.Fatalf("unknown message %q", line)
	}
}

// splitLine splits at blanks; quoted and [bracketed] arguments stay whole.
func splitLine(t testing.TB, line string) []string {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		switch line[0] {
		case '"':
			q, err := strconv.QuotedPrefix(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			s, _ := strconv.Unquote(q)
			out, line = append(out, s), line[len(q):]
		case '[':
			end := strings.IndexByte(line, ']')
			if end < 0 {
				t.Fatalf("no ] in %s", line)
			}
			out, line = append(out, line[:end+1]), line[end+1:]
		default:
			end := strings.IndexByte(line, ' ')
			if end < 0 {
				end = len(line)
			}
			out, line = append(out, line[:end]), line[end:]
		}
	}
	return out
}

func numbers[T int16 | uint32](t testing.TB, list string) []T {
	var out []T
	for _, f := range strings.Fields(strings.Trim(list, "[]")) {
		var n T
		if _, err := fmt.Sscan(f, &n); err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}
