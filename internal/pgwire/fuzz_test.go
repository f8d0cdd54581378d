package pgwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// FuzzMessages sends any bytes after start-up. The server must not panic or
// hang, and whatever it answers must be well-formed.
func FuzzMessages(f *testing.F) {
	for _, seed := range transcriptBytes(f) {
		f.Add(seed)
	}
	s := New(Options{SQL: newSQL(f), Logger: slog.New(slog.DiscardHandler)})
	startup := packet(3<<16, params("user", "root", "database", "defaultdb", "statement_timeout", "100ms"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := fuzzConn(t, s, append(append([]byte(nil), startup...), data...))
		checkAnswers(t, data, got)
	})
}

// FuzzStartup sends any bytes from the beginning.
func FuzzStartup(f *testing.F) {
	f.Add(packet(3<<16, params("user", "root", "database", "defaultdb", "options", `-c a=b --c-d=e\ f`)))
	f.Add(packet(codeSSL, ""))
	f.Add(packet(codeCancel, "\x00\x00\x03\xe8\x00\x00\x00\x00"))
	f.Add(append(packet(codeGSSEncrypt, ""), packet(3<<16|2, params("user", "root", "_pq_.x", ""))...))
	s := New(Options{SQL: newSQL(f), Logger: slog.New(slog.DiscardHandler)})
	f.Fuzz(func(t *testing.T, data []byte) { fuzzConn(t, s, data) })
}

// scriptAddr is where scripts come from.
var scriptAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5}

// script is a connection whose client sends fixed bytes, then closes.
type script struct {
	bytes.Reader
	out bytes.Buffer
}

func (s *script) Write(b []byte) (int, error)      { return s.out.Write(b) }
func (s *script) Close() error                     { return nil }
func (s *script) LocalAddr() net.Addr              { return scriptAddr }
func (s *script) RemoteAddr() net.Addr             { return scriptAddr }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// fuzzConn serves a client that sends data, and returns the answers.
func fuzzConn(t *testing.T, s *Server, data []byte) []byte {
	nc := &script{}
	nc.Reset(data)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ServeConn(context.Background(), nc, nil)
	}()
	select {
	case <-done:
	case <-time.After(timeout):
		t.Fatal("the connection does not end")
	}
	if n := s.Metrics().Panics; n != 0 {
		t.Fatalf("panic; the answers were %q", nc.out.Bytes())
	}
	return nc.out.Bytes()
}

// checkAnswers checks the framing of what the server sent, and invariant P1: a
// ReadyForQuery for every Sync, and no more than what asks for one.
func checkAnswers(t *testing.T, sent, got []byte) {
	ready, exempt := 0, false
	for b := got; len(b) > 0; {
		if len(b) < 5 {
			t.Fatalf("the answers end within a message: %q", got)
		}
		n := int(binary.BigEndian.Uint32(b[1:]))
		if !strings.ContainsRune("RKSZTDCEN123nsItGHdcv", rune(b[0])) || n < 4 || n+1 > len(b) {
			t.Fatalf("a malformed message at %q", b)
		}
		switch {
		case b[0] == 'Z':
			ready++
		case b[0] == 'G', b[0] == 'E' && bytes.HasPrefix(b[5:], []byte("SFATAL")):
			exempt = true // COPY may swallow Sync; a fatal error what follows it
		}
		b = b[n+1:]
	}
	least, most := 1, 1
	for b := sent; len(b) >= 5 && b[0] != 'X'; {
		n := int(binary.BigEndian.Uint32(b[1:]))
		if n < 4 || n+1 > len(b) {
			break
		}
		switch b[0] {
		case 'S':
			least++
			most++
		case 'Q', 'F':
			most++
		}
		b = b[n+1:]
	}
	if !exempt && (ready < least || ready > most) {
		t.Errorf("%d times ReadyForQuery, want %d to %d: sent %q, got %q", ready, least, most, sent, got)
	}
}

// transcriptBytes returns what the transcripts send, each block of lines by
// itself.
func transcriptBytes(f *testing.F) [][]byte {
	files, err := filepath.Glob("testdata/transcripts/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no transcripts", err)
	}
	var seeds [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "\n\n") {
			input, _, _ := strings.Cut(block, "\n----")
			var out bytes.Buffer
			c := &client{t: f, out: &out, fe: pgproto3.NewFrontend(&out, &out)}
			for line := range strings.Lines(input) {
				if line[0] >= 'A' && line[0] <= 'Z' {
					c.line(strings.TrimSpace(line))
				}
			}
			seeds = append(seeds, out.Bytes())
		}
	}
	return seeds
}
