package pgwire

import (
	"context"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/sql"
)

// heldSettings are cluster settings that nobody stores.
type heldSettings struct{ live *setting.Live }

func (h heldSettings) Live() *setting.Live   { return h.live }
func (heldSettings) Changed(context.Context) {}

// limitTo makes a node serve so many sessions.
func (h heldSettings) limitTo(limit, reserved int) {
	h.live.Update(map[string]string{
		"server.max_connections_per_gateway": strconv.Itoa(limit), "server.superuser_reserved_connections": strconv.Itoa(reserved),
	})
}

// newLimited starts a server with limits of its sessions.
func newLimited(t *testing.T, limit, reserved int) (*Server, string, heldSettings) {
	h := heldSettings{setting.NewLive(setting.Default())}
	h.limitTo(limit, reserved)
	s, addr := newServer(t, func(o *Options) {
		o.SQL, _ = newSQLOf(t, func(c *sql.Config) { c.Settings = h })
	})
	return s, addr, h
}

// login opens a session, or returns what the client is told instead.
func login(t *testing.T, addr string, param ...string) (*client, string) {
	c := dial(t, addr)
	c.write(packet(3<<16, params(append([]string{"user", "root", "database", "defaultdb"}, param...)...)))
	m, err := c.fe.Receive()
	if err != nil {
		t.Fatal(err)
	}
	if got := show(m); got[0] == 'E' {
		return nil, got
	}
	c.until('Z')
	return c, ""
}

func TestConnectionLimit(t *testing.T) {
	s, addr, held := newLimited(t, 3, 1)
	const full, reserved = "E FATAL 53300 sorry, too many clients already", "E FATAL 53300 remaining connection slots are reserved"
	expect := func(want, got string) {
		t.Helper()
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	a, got := login(t, addr)
	expect("", got)
	b, got := login(t, addr)
	expect("", got)
	_, got = login(t, addr)
	expect(reserved, got)
	_, got = login(t, addr, "application_name", "$ lichen sql")
	expect("", got)
	_, got = login(t, addr, "application_name", "$ lichen sql")
	expect(full, got)
	if m := s.Metrics(); m.Rejected != 2 || m.Sessions != 3 {
		t.Errorf("metrics %+v", m)
	}
	a.send(&pgproto3.Query{String: "show max_connections; select setting from pg_settings where name = 'superuser_reserved_connections'"})
	if got := a.until('Z'); got[1] != `D "3"` || got[4] != `D "1"` {
		t.Errorf("shown: %q", got)
	}
	// Who is there stays when the limit is lowered.
	held.limitTo(1, 0)
	b.send(&pgproto3.Query{String: "show max_connections"})
	if got := b.until('Z'); got[1] != `D "1"` {
		t.Errorf("shown: %q", got)
	}
	_, got = login(t, addr)
	expect(full, got)
	held.limitTo(20, 0)
	_, got = login(t, addr)
	expect("", got)
}

// TestReservedLeavesOne looks at more reserved connections than there are connections.
func TestReservedLeavesOne(t *testing.T) {
	s, addr, _ := newLimited(t, 2, 7)
	if limit, reserved := s.sql.ConnectionLimits(); limit != 2 || reserved != 1 {
		t.Errorf("%d, %d of them reserved", limit, reserved)
	}
	if _, got := login(t, addr); got != "" {
		t.Error(got)
	}
}

// TestConnectionCount has connections come and go in all ways at once: none is counted
// once it is gone, and never are there more than may be.
func TestConnectionCount(t *testing.T) {
	const limit = 5
	s, addr, _ := newLimited(t, limit, 0)
	storm := func(n int) {
		raw := func(what string) {
			nc, err := net.DialTimeout("tcp", addr, timeout)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = nc.Write([]byte(what)) // it may be turned away
			_ = nc.Close()
		}
		switch n % 4 {
		case 0:
			raw("") // says nothing
		case 1:
			raw(string(packet(3<<16, params("user", "nobody", "database", "defaultdb")))) // fails to log in
		case 2:
			raw(string(packet(3<<16, params("user", "root", "database", "defaultdb")))) // vanishes
		case 3:
			if c, _ := login(t, addr); c != nil {
				if n := len(s.sql.Sessions()); n > limit {
					t.Errorf("%d sessions", n)
				}
				c.send(&pgproto3.Query{String: "select pg_terminate_backend(pg_backend_pid())"})
				c.rest()
			}
		}
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 25 {
				storm(i + j)
			}
		})
	}
	wg.Wait()
	await(t, "all are gone", func() bool { return s.Metrics().Connections == 0 && len(s.sql.Sessions()) == 0 })
	for range limit {
		if _, got := login(t, addr); got != "" {
			t.Error(got)
		}
	}
	if _, got := login(t, addr); !strings.HasPrefix(got, "E FATAL 53300") {
		t.Errorf("one too many: %q", got)
	}
}

// TestStartingIsBounded opens connections that say nothing: they take no session from
// anybody, are bounded themselves, and leave room once they go.
func TestStartingIsBounded(t *testing.T) {
	s, addr, _ := newLimited(t, 2, 0)
	s.grace = time.Hour
	var silent []net.Conn
	for range leastStarting {
		silent = append(silent, dial(t, addr).nc)
	}
	await(t, "they are accepted", func() bool { return s.Metrics().Connections == leastStarting })
	if _, got := login(t, addr); !strings.HasPrefix(got, "E FATAL 53300 sorry, too many clients already") {
		t.Errorf("beyond the bound: %q", got)
	}
	if err := silent[0].Close(); err != nil {
		t.Fatal(err)
	}
	await(t, "one is gone", func() bool { return s.Metrics().Connections == leastStarting-1 })
	if _, got := login(t, addr); got != "" {
		t.Errorf("within the bound: %q", got)
	}
}

// TestSilentMakesRoom opens connections that ask for encryption and say nothing then: a client gets in, and
// only the oldest of them goes for it.
func TestSilentMakesRoom(t *testing.T) {
	s, addr, _ := newLimited(t, 2, 0)
	s.grace = 0
	var silent []*client
	for range leastStarting {
		c := dial(t, addr)
		c.write(packet(codeSSL, ""))
		if _, err := io.ReadFull(c.nc, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		silent = append(silent, c)
	}
	for range 2 {
		if c, got := login(t, addr); got != "" {
			t.Fatal(got)
		} else {
			c.send(&pgproto3.Query{String: "select 1"})
			c.until('Z')
		}
	}
	if _, err := silent[0].nc.Read(make([]byte, 1)); err == nil {
		t.Error("the oldest stayed")
	}
	silent[1].write(packet(3<<16, params("user", "root", "database", "defaultdb")))
	if m, err := silent[1].fe.Receive(); err != nil || !strings.HasPrefix(show(m), "E FATAL 53300") {
		t.Errorf("the second, with all sessions taken: %v, %v", m, err)
	}
}

// TestWatchOfBusyConnections checks that only connections with something running are looked at.
func TestWatchOfBusyConnections(t *testing.T) {
	s, addr := newServer(t, nil)
	watched := func() int {
		s.watch.mu.Lock()
		defer s.watch.mu.Unlock()
		return len(s.watch.conns)
	}
	idle := dial(t, addr).start()
	busy := dial(t, addr).start()
	busy.send(&pgproto3.Query{String: forever})
	running(t, s, forever)
	if n := watched(); n != 1 {
		t.Errorf("%d connections are watched", n)
	}
	idle.send(&pgproto3.Query{String: "select 1"})
	idle.until('Z')
	await(t, "the idle one is left out", func() bool { return watched() == 1 })
	_ = busy.nc.Close()
	await(t, "the watch ends", func() bool {
		s.watch.mu.Lock()
		defer s.watch.mu.Unlock()
		return !s.watch.running
	})
	idle.send(&pgproto3.Query{String: "select 1"})
	idle.until('Z')
}

// TestSilentLeavesDescriptors fills the descriptors of SQL connections with silent ones: a client gets in, and
// is refused once all belong to sessions.
func TestSilentLeavesDescriptors(t *testing.T) {
	s, addr := newServer(t, func(o *Options) { o.MaxConns = 2 })
	s.grace = 0
	for range 2 {
		dial(t, addr).write([]byte{0}) // says no more
	}
	for s.taken() < 2 {
		runtime.Gosched()
	}
	for range 2 {
		if _, got := login(t, addr); got != "" {
			t.Fatal(got)
		}
	}
	if _, got := login(t, addr); !strings.HasPrefix(got, "E FATAL 53300 sorry, too many clients already") {
		t.Errorf("beside two sessions: %q", got)
	}
}

// TestDescriptors: connections beyond what the process may have open are told so, whether they have a session
// or not, and are served when others have ended.
func TestDescriptors(t *testing.T) {
	s, addr := newServer(t, func(o *Options) { o.MaxConns = 2 })
	s.grace = time.Hour
	first, _ := login(t, addr)
	dial(t, addr).write([]byte{0}) // says no more
	for s.taken() < 2 {
		runtime.Gosched()
	}
	if _, got := login(t, addr); !strings.HasPrefix(got, "E FATAL 53300 sorry, too many clients already") {
		t.Errorf("the third: %q", got)
	}
	_ = first.nc.Close()
	for s.taken() > 1 {
		runtime.Gosched()
	}
	if _, got := login(t, addr); got != "" {
		t.Errorf("when one has ended: %q", got)
	}
}

// taken is how many connections count.
func (s *Server) taken() int { return len(s.connections()) }
