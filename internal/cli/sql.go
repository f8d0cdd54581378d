package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
)

// shellFlags are the flags that sql and demo have in common.
type shellFlags struct {
	execute []string
	file    string
	format  string
	sets    []string
	echo    bool
	// demo executes \demo, nil where there is none.
	demo func(arg string) error
}

func (f *shellFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVarP(&f.execute, "execute", "e", nil, "statements to execute; then exit; may be repeated")
	fl.StringVarP(&f.file, "file", "f", "", "file of statements to execute; then exit; - is standard input")
	fl.StringVar(&f.format, "format", "table", "how to print rows: "+strings.Join(formats, ", "))
	fl.StringArrayVar(&f.sets, "set", nil, `an option of the shell as name=value, as with \set; may be repeated`)
	fl.BoolVar(&f.echo, "echo-sql", false, "print each statement before it is executed")
}

func (f *shellFlags) check() error {
	if !slices.Contains(formats, f.format) {
		return usageError{fmt.Errorf("--format: %q is none of %s", f.format, strings.Join(formats, ", "))}
	}
	if len(f.execute) > 0 && f.file != "" {
		return usageError{errors.New("give either --execute or --file")}
	}
	return nil
}

type sqlFlags struct {
	shellFlags
	url, host, port, user, database string
	security                        clientSecurity
}

func newSQL(s *streams) *cobra.Command {
	f := &sqlFlags{}
	c := &cobra.Command{
		Use:   "sql [URL]",
		Short: "Open a SQL prompt",
		Long: "Open a SQL prompt, or execute what -e, -f or standard input give. The server is that of --url, of the\n" +
			"environment variable " + urlVar + ", or " + defaultURL + ";\n" +
			"--host, --port, --user and --database replace parts of it. With --certs-dir the connection is encrypted, the\n" +
			"server's certificate verified and the user's certificate shown; so it is too if no server is named and the\n" +
			"default directory has certificates.\n\n" +
			"Without a terminal the first error ends the command with exit code 1 (--set=errexit=false goes on).",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{errors.New("give one URL")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if len(args) > 0 {
				if f.url != "" {
					return usageError{errors.New("give the URL once")}
				}
				f.url = args[0]
			}
			cfg, err := f.config()
			if err != nil {
				return usageError{err}
			}
			return runShell(s, cfg, &f.shellFlags, nil)
		},
	}
	f.add(c)
	fl := c.Flags()
	fl.StringVar(&f.url, "url", "", "connection URL")
	fl.StringVar(&f.host, "host", "", "host to connect to, or host:port")
	fl.StringVarP(&f.port, "port", "p", "", "port to connect to")
	fl.StringVarP(&f.user, "user", "u", "", "user to connect as")
	fl.StringVarP(&f.database, "database", "d", "", "database to connect to")
	f.security.add(fl)
	return c
}

// config returns the configuration of the connection.
func (f *sqlFlags) config() (*pgconn.Config, error) {
	base := f.url
	if base == "" {
		base = os.Getenv(urlVar)
	}
	given := base != ""
	if !given {
		base = defaultURL
	}
	base, err := f.security.target(base, given, f.user)
	if err != nil {
		return nil, err
	}
	host, port := splitHostPort(f.host)
	// The target may be a PostgreSQL key-value string instead of a URL, so the flags replace fields of
	// the parsed form.
	return parseTarget(base, host, cmp.Or(f.port, port), f.user, f.database)
}

// splitHostPort returns the parts of host, host:port or [host]:port; port is empty without one.
func splitHostPort(address string) (host, port string) {
	if h, p, err := net.SplitHostPort(address); err == nil {
		return h, p
	}
	return strings.Trim(address, "[]"), ""
}

func parseTarget(base, host, port, user, database string) (*pgconn.Config, error) {
	cfg, err := pgconn.ParseConfig(base)
	if err != nil {
		return nil, err
	}
	if host != "" || port != "" {
		if host != "" {
			cfg.Host = host
		}
		if port != "" {
			var n uint16
			if _, err := fmt.Sscan(port, &n); err != nil || n == 0 {
				return nil, fmt.Errorf("--port: %q is not a port", port)
			}
			cfg.Port = n
		}
		cfg.Fallbacks = nil
		if cfg.TLSConfig != nil && host != "" {
			cfg.TLSConfig.ServerName = host
		}
	}
	if user != "" {
		cfg.User = user
	}
	switch {
	case database != "":
		cfg.Database = database
	case cfg.Database == "":
		cfg.Database = defaultDatabase
	}
	if _, ok := cfg.RuntimeParams["application_name"]; !ok {
		cfg.RuntimeParams["application_name"] = "$ lichen sql"
	}
	return cfg, nil
}
