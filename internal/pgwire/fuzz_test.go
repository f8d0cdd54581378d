package pgwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
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
		fuzzConn(t, s, append(append([]byte(nil), startup...), data...))
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

func fuzzConn(t *testing.T, s *Server, data []byte) {
	server, nc := net.Pipe()
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ServeConn(context.Background(), server, nil)
	}()
	answers := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(nc)
		answers <- b
	}()
	_, _ = nc.Write(data) // the server may close before it has read all
	_ = nc.Close()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the connection does not end")
	}
	checkAnswers(t, <-answers)
	if n := s.Metrics().Panics; n != 0 {
		t.Fatal("the connection panicked")
	}
}

// checkAnswers checks the framing of what the server sent; the connection may
// have been cut within a message.
func checkAnswers(t *testing.T, b []byte) {
	for len(b) > 0 && b[0] == 'N' && (len(b) == 1 || b[1] != 0) { // refused encryption
		b = b[1:]
	}
	for len(b) >= 5 {
		n := int(binary.BigEndian.Uint32(b[1:]))
		if !strings.ContainsRune("RKSZTDCEN123nsItGHdcv", rune(b[0])) || n < 4 {
			t.Fatalf("the server sent a message of type %q, length %d", b[0], n)
		}
		if n+1 > len(b) {
			return
		}
		b = b[n+1:]
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
