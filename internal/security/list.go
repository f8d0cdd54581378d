package security

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

// Info describes a file of certificates.
type Info struct {
	File, Key string // names in the directory; Key is empty if there is none
	Usage     string // "ca", "node", "client", or "" of a file that can't be read
	Name      string // to whom it is made out
	Expires   time.Time
	Addresses []string
	// Problem says why it can't be used, "" if it can.
	Problem string
}

// List describes the certificates in a directory: the CA first, then the node's,
// then clients' by name.
func List(fsys fs.FS, dir string) ([]Info, error) {
	names, err := fsys.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no directory %s: 'lichen cert create-ca' makes it", dir)
	} else if err != nil {
		return nil, err
	}
	var out []Info
	for _, name := range names {
		if strings.HasSuffix(name, certSuffix) {
			out = append(out, describe(fsys, dir, name, slices.Contains(names, keyOf(name))))
		}
	}
	rank := map[string]int{CACert: -2, NodeCert: -1}
	slices.SortFunc(out, func(a, b Info) int {
		if d := rank[a.File] - rank[b.File]; d != 0 {
			return d
		}
		return strings.Compare(a.File, b.File)
	})
	return out, nil
}

func keyOf(cert string) string { return strings.TrimSuffix(cert, certSuffix) + keySuffix }

// describe reads the file of a certificate and checks it as the one who uses it
// would.
func describe(fsys fs.FS, dir, name string, hasKey bool) Info {
	info := Info{File: name}
	if hasKey {
		info.Key = keyOf(name)
	}
	certs, err := readCerts(fsys, fsys.PathJoin(dir, name))
	if err != nil {
		info.Problem = err.Error()
		return info
	}
	c := certs[0]
	info.Name, info.Expires, info.Addresses = c.Subject.CommonName, c.NotAfter, hosts(c)
	switch {
	case name == CACert:
		info.Usage, err = "ca", checkCA(fsys, dir, c, info.Key)
	case name == NodeCert:
		info.Usage = "node"
		_, err = LoadNodeFS(fsys, dir)
	case strings.HasPrefix(name, clientPrefix):
		info.Usage = "client"
		user := strings.TrimSuffix(strings.TrimPrefix(name, clientPrefix), certSuffix)
		err = ClientFiles(fsys, dir, user).Check(user)
	default:
		err = errors.New("not used: the name of the file is neither " + CACert + ", " + NodeCert + " nor " + ClientCert("USER"))
	}
	if err != nil {
		info.Problem = err.Error()
	}
	return info
}

// checkCA checks the CA's certificate, and its key if that lies beside it.
func checkCA(fsys fs.FS, dir string, c *x509.Certificate, key string) error {
	if !c.IsCA {
		return errors.New("it is not a CA's certificate")
	}
	if now := time.Now(); now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return nodeSource(fsys, dir).explainTime(c)
	}
	if key == "" {
		return nil
	}
	s, err := readSigner(fsys, fsys.PathJoin(dir, key))
	if err != nil {
		return err
	}
	if pub, ok := s.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !pub.Equal(c.PublicKey) {
		return fmt.Errorf("%s is not its key", key)
	}
	return nil
}
