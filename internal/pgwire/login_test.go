package pgwire

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/logictest"
)

// TestCheckLogin lets users in as SQL clients are: by their password, as rules say, with delays after failures.
func TestCheckLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := setting.NewLive(setting.Default())
		srv, _ := newSQLOf(t, func(cfg *sql.Config) { cfg.Settings = liveSettings{live} })
		ses, err := srv.NewSession(t.Context(), sql.SessionArgs{User: "root"})
		if err != nil {
			t.Fatal(err)
		}
		err = ses.Query(t.Context(), "CREATE ROLE alice LOGIN PASSWORD 'pw'; CREATE ROLE bob LOGIN; CREATE ROLE late LOGIN PASSWORD 'pw' VALID UNTIL '1999-01-01'", logictest.NewRows(ses))
		if err != nil {
			t.Fatal(err)
		}
		ses.Close()
		s := New(Options{SQL: srv, Logger: slog.New(slog.DiscardHandler)})
		certificate := func(user string) *x509.Certificate { return &x509.Certificate{Subject: pkix.Name{CommonName: user}} }
		for _, x := range []struct {
			rules, user, password string
			cert                  *x509.Certificate
			in                    bool
		}{
			{"", "alice", "pw", nil, true},
			{"", "alice", "no", nil, false},
			{"", "bob", "", nil, false},
			{"", "late", "pw", nil, false},
			{"", "absent", "pw", nil, false},
			{"", "bob", "", certificate("bob"), true},
			{"", "bob", "", certificate("alice"), false},
			{"host all all all reject", "alice", "pw", nil, false},
			{"host all all all reject", "root", "", certificate("root"), true},
			{"# nobody", "alice", "pw", nil, false},
			{"hostssl all alice 10.0.0.0/8 scram-sha-256", "alice", "pw", nil, true},
			{"hostssl all alice 11.0.0.0/8 scram-sha-256", "alice", "pw", nil, false},
			{"hostnossl all all all trust", "alice", "pw", nil, false},
			{"host all all all trust", "bob", "", nil, true},
			{"hostssl all all all cert", "alice", "pw", nil, false},
			{"hostssl all all all cert", "alice", "", certificate("alice"), true},
			{"hostssl all all all scram-sha-256 clientcert=verify-full", "alice", "pw", nil, false},
			{"hostssl all all all scram-sha-256 clientcert=verify-full", "alice", "pw", certificate("alice"), true},
		} {
			if _, problems := live.Update(map[string]string{"server.host_based_authentication.configuration": x.rules}); problems != nil {
				t.Fatal(problems)
			}
			err := s.CheckLogin(t.Context(), &Login{User: x.user, Database: "defaultdb", Password: x.password, Remote: netip.MustParseAddr("10.1.2.3"), Certificate: x.cert})
			if (err == nil) != x.in {
				t.Errorf("%q: %s with %q: %v", x.rules, x.user, x.password, err)
			}
		}
		live.Update(nil)
		try := func(password string) error {
			return s.CheckLogin(t.Context(), &Login{User: "alice", Password: password, Remote: netip.MustParseAddr("10.1.2.4")})
		}
		for range freeFailures {
			_ = try("guess")
		}
		if try("pw") == nil {
			t.Error("there is no delay after failures")
		}
		time.Sleep(maxDelay)
		if err := try("pw"); err != nil {
			t.Errorf("after the delay: %v", err)
		}
	})
}
