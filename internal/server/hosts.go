package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// knownHostsOnly rejects requests to an insecure node whose Host header is not one of the node's names.
// It prevents DNS rebinding: if the name of another site resolves to this machine, a browser takes the
// node for that site and lets its pages read the answers. A secure node needs no check, since browsers
// compare the name with its certificate.
func (n *Node) knownHostsOnly(h http.Handler) http.Handler {
	if n.certs != nil {
		return h
	}
	names := n.hostNames()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := bareHost(r.Host)
		if host != "" && !isAddress(host) && !names[host] {
			http.Error(w, fmt.Sprintf("this node is not known as %.100q: use an address, or start it with --advertise-addr or --http-addr of that name", host),
				http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// hostNames returns the names of the node: those of its configuration, and its machine's.
func (n *Node) hostNames() map[string]bool {
	names := map[string]bool{"localhost": true}
	for _, addr := range []string{n.cfg.ListenAddr, n.cfg.HTTPAddr, n.cfg.AdvertiseAddr} {
		names[bareHost(addr)] = true
	}
	if own, err := os.Hostname(); err == nil {
		names[bareHost(own)] = true
	}
	return names
}

// bareHost returns the host of an address or of a Host header, without port and brackets, in
// lower case and without the dot that ends a full name.
func bareHost(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(addr, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
