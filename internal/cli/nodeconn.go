package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/security"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// nodeCallTimeout bounds one request to a node.
const nodeCallTimeout = 30 * time.Second

// nodeFlags are the flags for the connection to a node.
type nodeFlags struct {
	host, certsDir string
	insecure       bool
	flags          *pflag.FlagSet
}

func (f *nodeFlags) add(c *cobra.Command) {
	f.flags = c.Flags()
	f.flags.StringVar(&f.host, "host", "localhost:"+config.DefaultPort, "address of a node, host:port")
	f.flags.BoolVar(&f.insecure, "insecure", false, "connect without encryption and authentication")
	addCertsDir(f.flags, &f.certsDir)
}

func (f *nodeFlags) addr() string { return config.WithPort(f.host, config.DefaultPort) }

// tls returns the encryption of the connection; nil: none. Without flags it uses the certificates in the
// default directory.
func (f *nodeFlags) tls() (*tls.Config, error) {
	named := f.flags != nil && f.flags.Changed("certs-dir")
	switch {
	case f.insecure && named:
		return nil, usageError{errors.New("give either --insecure or --certs-dir")}
	case f.insecure, !named && !security.HaveCA(fs.Disk(), f.certsDir):
		return nil, nil
	}
	c, err := security.OperatorTLS(f.certsDir, rpc.ALPN)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// call sends a request to the node. req and answer are JSON, unless they are nil.
func (f *nodeFlags) call(ctx context.Context, m rpc.Method, req, answer any) error {
	c, err := f.tls()
	if err != nil {
		return err
	}
	var body []byte
	if req != nil {
		if body, err = json.Marshal(req); err != nil {
			return err
		}
	}
	n := rpc.New(rpc.Options{Version: node.Version, ClientTLS: c, Logger: slog.New(slog.DiscardHandler)})
	defer n.Close()
	ctx, cancel := context.WithTimeout(ctx, nodeCallTimeout)
	defer cancel()
	p, err := n.CallAddr(ctx, f.addr(), m, body)
	if err != nil {
		return f.explain(err, c != nil)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(p, answer)
}

// connectSQL connects to a database of the node as root, for a command; "" is the default database.
func (f *nodeFlags) connectSQL(ctx context.Context, database, command string) (*pgconn.PgConn, error) {
	sec := clientSecurity{certsDir: f.certsDir, insecure: f.insecure, flags: f.flags}
	target, err := sec.target(sqlURL(f.addr(), ""), false, security.RootName)
	if err != nil {
		return nil, err
	}
	cfg, err := pgconn.ParseConfig(target)
	if err != nil {
		return nil, err
	}
	if database != "" {
		cfg.Database = database
	}
	cfg.RuntimeParams["application_name"] = "$ lichen " + command
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, connectError(cfg, err)
	}
	return conn, nil
}

// explain adds a remedy to the error of a call.
func (f *nodeFlags) explain(err error, secure bool) error {
	var answer *rpc.RemoteError
	var refused *rpc.RefusedError
	switch {
	case errors.As(err, &answer):
	case errors.As(err, &refused) && !secure && strings.Contains(refused.Msg, "TLS"):
		err = errors.New("it runs with certificates: give --certs-dir")
	case secure && errors.Is(err, io.EOF):
		err = errors.New("it closed the connection: if it runs with --insecure, give --insecure here too")
	case errors.Is(err, syscall.ECONNREFUSED):
		err = errors.New("connection refused: is a node running there?")
	default:
		if e := security.Explain(err); e != err {
			err = e
		} else {
			text := strings.TrimPrefix(err.Error(), rpc.ErrNotSent.Error()+": ")
			err = errors.New(strings.TrimPrefix(text, f.addr()+": "))
		}
	}
	return fmt.Errorf("the node at %s: %w", f.addr(), err)
}

// addFormat adds --format, the format of printed rows.
func addFormat(fl *pflag.FlagSet, format *string) {
	fl.StringVar(format, "format", "table", "how to print rows: "+strings.Join(formats, ", "))
}

func checkFormat(format string) error {
	if !slices.Contains(formats, format) {
		return usageError{fmt.Errorf("--format: %q is none of %s", format, strings.Join(formats, ", "))}
	}
	return nil
}

// printRows prints rows of text.
func printRows(w io.Writer, format string, names []string, rows [][]string) error {
	var cols []pgconn.FieldDescription
	for _, name := range names {
		cols = append(cols, pgconn.FieldDescription{Name: name, DataTypeOID: pgtype.TextOID})
	}
	p := newRowPrinter(format, w, cols)
	for _, r := range rows {
		var row [][]byte
		for _, v := range r {
			row = append(row, []byte(v))
		}
		p.row(row)
	}
	return p.end()
}

// hostOf and portOf are the parts of an address.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}

func portOf(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	return port
}
