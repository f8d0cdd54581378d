package security

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"

	"github.com/lichendb/lichen/internal/fs"
)

// ownCAKey is the file of the key of a CA that a node made for itself, in the directory of its certificates: more of them are made with
// it, and no other machine trusts that CA.
const ownCAKey = "ca.key"

// MakeOwn makes a CA and the certificates of a node that is a cluster by itself, and of root, in a directory that has none. The node's is
// for this machine, and for host.
func MakeOwn(dir, host string) error {
	c := Creator{Dir: dir, CAKey: filepath.Join(dir, ownCAKey)}
	if err := c.CA(); err != nil {
		return err
	}
	return errors.Join(c.Node(ownHosts(host)), c.Client(RootName))
}

// ownHosts are the names and addresses of this machine, and how else the node is reached.
func ownHosts(host string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if name := hostname(); checkHost(name) == nil {
		hosts = append(hosts, name)
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// EnsureOwn is MakeOwn where there is no CA, and says so.
func EnsureOwn(w io.Writer, dir, host string) error {
	if HaveCA(fs.Disk(), dir) {
		return nil
	}
	if err := MakeOwn(dir, host); err != nil {
		return fmt.Errorf("no certificates could be made in %s: %w", dir, err)
	}
	fmt.Fprintf(w, "made certificates for this node and for root in %s, and the CA's key, %s, which makes more: keep it from others\n", dir, ownCAKey)
	return nil
}
