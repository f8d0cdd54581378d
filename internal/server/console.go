package server

import (
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/console"
	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/obs"
)

// newEvents returns the log of what happens in the cluster.
func (n *Node) newEvents() *eventlog.Log {
	return eventlog.New(func() *kv.DB { return n.KV.Gateway() }, func() kvpb.NodeID { return n.NodeID() }, n.log)
}

// newConsole builds the console, over a network to identity providers; nil: the machine's.
func (n *Node) newConsole(transport http.RoundTripper) *console.Console {
	o := console.Options{
		Transport: transport,
		Node:      n.Node, Secure: func() bool { return n.certs != nil }, Certificate: verifiedCertificate, Recent: n.sampler.last, History: n.sampler.history, Events: n.events, Logger: n.log,
		Configuration: n.configuration,
	}
	o.OIDCSecret = func() (string, error) {
		if n.certs == nil {
			return "", nil
		}
		return n.certs.OIDCSecret()
	}
	if n.logDir != "" {
		o.Log = n.logEnd
	}
	return console.New(o)
}

// configuration is how the node was started, by the names of flags.
func (n *Node) configuration() []console.NodeOption {
	c := &n.cfg
	var stores []string
	for i := range c.Stores {
		stores = append(stores, c.Stores[i].Path)
	}
	bytes := func(n int64) string { return strconv.FormatInt(n>>20, 10) + " MiB" }
	return []console.NodeOption{
		{Name: "store", Value: strings.Join(stores, ", ")}, {Name: "encrypted stores", Value: strconv.Itoa(len(c.Encryption))},
		{Name: "listen-addr", Value: c.ListenAddr}, {Name: "advertise-addr", Value: c.AdvertiseAddr}, {Name: "http-addr", Value: c.HTTPAddr},
		{Name: "join", Value: strings.Join(c.Join, ", ")}, {Name: "locality", Value: c.Locality}, {Name: "insecure", Value: strconv.FormatBool(c.Insecure)},
		{Name: "certs-dir", Value: c.CertsDir}, {Name: "max-offset", Value: c.MaxOffset.String()}, {Name: "cache", Value: bytes(c.CacheBytes)},
		{Name: "max-memory", Value: bytes(c.MaxMemory)}, {Name: "memory of statements", Value: bytes(c.StatementMemory())},
		{Name: "log directory", Value: n.logDir}, {Name: "processors", Value: strconv.Itoa(runtime.GOMAXPROCS(0))},
	}
}

// verifiedCertificate returns the client certificate of a request.
func verifiedCertificate(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.PeerCertificates[0]
}

// logEnd returns the end of the node's log, from the beginning of a line.
func (n *Node) logEnd(most int64) (string, error) {
	f, err := os.Open(filepath.Join(n.logDir, obs.LogName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(st.Size()-most, 0)
	b, err := io.ReadAll(io.NewSectionReader(f, from, st.Size()-from))
	if err != nil {
		return "", err
	}
	if from > 0 {
		for i, c := range b {
			if c == '\n' {
				return string(b[i+1:]), nil
			}
		}
	}
	return string(b), nil
}
