package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/security"
	"github.com/spf13/pflag"
)

func addCertsDir(fl *pflag.FlagSet, dir *string) {
	fl.StringVar(dir, "certs-dir", security.DefaultDir(), "directory of certificates")
}

// clientSecurity are the flags for the encryption and authentication of a client.
type clientSecurity struct {
	certsDir string
	insecure bool
	host     string
	flags    *pflag.FlagSet
}

func (f *clientSecurity) add(fl *pflag.FlagSet) {
	f.flags = fl
	addCertsDir(fl, &f.certsDir)
	fl.BoolVar(&f.insecure, "insecure", false, "connect without encryption, whatever the URL says")
}

// addHost adds --host, which replaces the address of a URL.
func (f *clientSecurity) addHost(fl *pflag.FlagSet) {
	fl.StringVar(&f.host, "host", "", "host, or host:port, to connect to in place of the URL's")
}

// target adds the values of the flags to a connection URL or a PostgreSQL key-value string. given says that
// the user has set the URL. user replaces that of the URL unless it is empty. Without flags a given URL
// stays as it is; the default URL becomes secure if the default directory has certificates.
func (f *clientSecurity) target(base string, given bool, user string) (string, error) {
	named := f.flags != nil && f.flags.Changed("certs-dir")
	if f.host != "" {
		host, port := splitHostPort(f.host)
		base = withParams(base, param{"host", host}, param{"port", cmp.Or(port, config.DefaultPort)})
	}
	switch {
	case f.insecure && named:
		return "", errors.New("give either --insecure or --certs-dir")
	case f.insecure:
		return withParams(base, param{"sslmode", "disable"}), nil
	case named, !given && security.HaveCA(fs.Disk(), f.certsDir):
		return secureTarget(base, f.certsDir, user)
	}
	return base, nil
}

// secureTarget adds the certificates of dir to a connection's target.
func secureTarget(base, dir, user string) (string, error) {
	cfg, err := pgconn.ParseConfig(withParams(base, param{"sslmode", "disable"}))
	if err != nil {
		return "", err
	}
	if user == "" {
		user = cfg.User
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	files := security.ClientFiles(fs.Disk(), dir, user)
	if err := files.Check(user); err != nil {
		return "", err
	}
	params := []param{{"sslrootcert", files.CA}, {"sslcert", files.Cert}, {"sslkey", files.Key}}
	if c, err := pgconn.ParseConfig(base); err != nil || c.TLSConfig == nil || hasPlain(c) {
		params = append(params, param{"sslmode", "verify-full"})
	}
	return withParams(base, params...), nil
}

// hasPlain reports whether a connection would fall back to one without encryption.
func hasPlain(c *pgconn.Config) bool {
	for _, f := range c.Fallbacks {
		if f.TLSConfig == nil {
			return true
		}
	}
	return false
}

// param is a parameter of a connection.
type param struct{ name, value string }

// withParams sets parameters of a URL or of a key-value string.
func withParams(base string, params ...param) string {
	if u, err := url.Parse(base); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		q := u.Query()
		for _, p := range params {
			q.Set(p.name, p.value)
		}
		u.RawQuery = q.Encode()
		return u.String()
	}
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	for _, p := range params {
		base += fmt.Sprintf(" %s='%s'", p.name, escape.Replace(p.value)) // the last one counts
	}
	return strings.TrimPrefix(base, " ")
}

// connectError adds the cause and a remedy to the error of a client that can't connect.
func connectError(cfg *pgconn.Config, err error) error {
	where := fmt.Sprintf("cannot connect to %s:%d", cfg.Host, cfg.Port)
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		hint := ""
		if pe.Hint != "" {
			hint = "\nHINT:  " + pe.Hint
		}
		return fmt.Errorf("%s: %s (SQLSTATE %s)%s", where, pe.Message, pe.Code, hint)
	}
	if e := security.Explain(err); e != err {
		return fmt.Errorf("%s: %w", where, e)
	}
	cause := rootCause(err)
	if cause.Error() == "server refused TLS connection" {
		cause = errors.New("the server offers no TLS; if it runs with --insecure, give --insecure here too")
	}
	return fmt.Errorf("%s: %w", where, cause)
}
