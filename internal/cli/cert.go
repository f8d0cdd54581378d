package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/security"
	"github.com/spf13/cobra"
)

// newCert returns the commands that create and show certificates.
func newCert(s *streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "cert",
		Short: "Make and list the certificates of nodes and clients",
		Long: "Make and list the certificates of nodes and clients. Make the CA once per cluster and keep its key in a safe\n" +
			"place; make a certificate for each node with the names and addresses under which it is reached, and one for\n" +
			"each user. Nodes need " + security.CACert + ", " + security.NodeCert + " and " + security.NodeKey + "; clients " +
			security.CACert + ", " + security.ClientCert("USER") + " and " + security.ClientKey("USER") + ".",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCertCA(s), newCertNode(s), newCertClient(s), newCertList(s))
	return c
}

// certFlags are the flags of the commands that create certificates.
type certFlags struct{ security.Creator }

// newCertFlags returns the flags of a command that prints which files it created.
func newCertFlags(s *streams) *certFlags {
	f := &certFlags{}
	f.Wrote = func(path string) { fmt.Fprintln(s.out, "wrote "+path) }
	return f
}

func (f *certFlags) add(c *cobra.Command, lifetime time.Duration) {
	fl := c.Flags()
	addCertsDir(fl, &f.Dir)
	fl.StringVar(&f.CAKey, "ca-key", "", "file of the CA's key (required)")
	fl.DurationVar(&f.Lifetime, "lifetime", 0, fmt.Sprintf("how long the certificate is valid; 0 means %s, at most as long as the CA", lifetime))
	fl.BoolVar(&f.Overwrite, "overwrite", false, "replace files that exist")
	fl.IntVar(&f.RSABits, "key-size", 0, "size of an RSA key in bits; 0 makes an ECDSA key (P-256)")
}

// run checks the flags and creates the certificate.
func (f *certFlags) run(create func() error) error {
	switch {
	case f.CAKey == "":
		return usageError{errors.New("--ca-key must name the file of the CA's key; it belongs in a safe place, not in the directory of certificates. For example --ca-key=my-safe-directory/ca.key")}
	case f.Lifetime < 0:
		return usageError{errors.New("--lifetime must not be negative")}
	case f.RSABits < 0:
		return usageError{errors.New("--key-size must not be negative")}
	}
	return create()
}

func newCertCA(s *streams) *cobra.Command {
	f := newCertFlags(s)
	c := &cobra.Command{
		Use:   "create-ca --ca-key=FILE",
		Short: "Make the cluster's CA: " + security.CACert + " and the key with which it signs",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return f.run(func() error { return f.CA() }) },
	}
	f.add(c, security.DefaultCALifetime)
	return c
}

func newCertNode(s *streams) *cobra.Command {
	f := newCertFlags(s)
	c := &cobra.Command{
		Use:   "create-node HOST... --ca-key=FILE",
		Short: "Make a node's certificate: " + security.NodeCert + " and " + security.NodeKey,
		Long: "Make the certificate of a node that is reached under the given host names and IP addresses, by clients and by\n" +
			"other nodes. A host name may begin with *. for all names of a domain.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("name the hosts and IP addresses under which the node is reached, for example localhost and $(hostname)")}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return f.run(func() error { return f.Node(args) }) },
	}
	f.add(c, security.DefaultLifetime)
	return c
}

func newCertClient(s *streams) *cobra.Command {
	f := newCertFlags(s)
	c := &cobra.Command{
		Use:   "create-client USER --ca-key=FILE",
		Short: "Make a client's certificate: " + security.ClientCert("USER") + " and " + security.ClientKey("USER"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name one user")}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return f.run(func() error { return f.Client(args[0]) }) },
	}
	f.add(c, security.DefaultLifetime)
	c.Flags().BoolVar(&f.PKCS8, "also-generate-pkcs8-key", false, "write the key in PKCS 8's binary form too, for Java, to "+security.ClientKey("USER")+".pk8")
	return c
}

func newCertList(s *streams) *cobra.Command {
	var dir, format string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the certificates in a directory, and what is wrong with them",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			return listCerts(s, dir, format)
		},
	}
	addCertsDir(c.Flags(), &dir)
	addFormat(c.Flags(), &format)
	return c
}

func listCerts(s *streams, dir, format string) error {
	certs, err := security.List(fs.Disk(), dir)
	if err != nil {
		return err
	}
	var cols []pgconn.FieldDescription
	for _, name := range []string{"file", "usage", "name", "expires", "addresses", "problem"} {
		cols = append(cols, pgconn.FieldDescription{Name: name, DataTypeOID: pgtype.TextOID})
	}
	p := newRowPrinter(format, s.out, cols)
	for _, c := range certs {
		expires := ""
		if !c.Expires.IsZero() {
			expires = c.Expires.UTC().Format("2006-01-02 15:04:05+00")
		}
		var row [][]byte
		for _, v := range []string{c.File, c.Usage, c.Name, expires, strings.Join(c.Addresses, ", "), c.Problem} {
			row = append(row, []byte(v))
		}
		p.row(row)
	}
	return p.end()
}
