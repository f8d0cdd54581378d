package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/lichendb/lichen/internal/rpc"
)

const (
	// sniffTimeout is how long a connection may take to send its first bytes.
	sniffTimeout = 30 * time.Second
	// idleTimeout is how long an HTTP connection may be idle.
	idleTimeout = 2 * time.Minute
	// acceptBackoff is the pause after a failed Accept, for example without free file descriptors.
	acceptBackoff = 10 * time.Millisecond
)

// Listen opens the listeners, so that their addresses are known before Start, which else opens them.
func (n *Node) Listen() (err error) {
	if n.ln != nil {
		return nil
	}
	n.ln, err = n.listen(n.cfg.ListenAddr)
	if err != nil {
		return fmt.Errorf("cannot listen for SQL on %s: %w (is another node running? choose --listen-addr)", n.cfg.ListenAddr, err)
	}
	n.httpLn, err = n.listen(n.cfg.HTTPAddr)
	if err != nil {
		return errors.Join(
			fmt.Errorf("cannot listen for HTTP on %s: %w (choose --http-addr)", n.cfg.HTTPAddr, err), n.ln.Close())
	}
	n.http = &http.Server{Handler: n.httpHandler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idleTimeout}
	// What is wrong with a client's connection is no more than SQL clients' failed handshakes, and goes where those do.
	n.http.ErrorLog = slog.NewLogLogger(n.log.Handler(), slog.LevelInfo)
	go n.accept()
	go func() {
		if err := n.http.Serve(n.httpListener()); err != nil && !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("HTTP listener", "err", err)
		}
	}()
	return nil
}

// CloseClients implements node.Listeners.
func (n *Node) CloseClients() error {
	n.sampler.end()
	return n.ln.Close()
}

// CloseHTTP implements node.Listeners.
func (n *Node) CloseHTTP() error { return n.http.Close() }

// accept serves the connections of the shared listener: nodes and SQL clients.
func (n *Node) accept() {
	for {
		c, err := n.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			n.log.Error("listener", "err", err)
			<-time.After(acceptBackoff)
			continue
		}
		go n.serveConn(c)
	}
}

// serveConn passes a connection on by its first bytes.
func (n *Node) serveConn(c net.Conn) {
	known := n.newcomers.enter(c)
	defer known()
	_ = c.SetReadDeadline(time.Now().Add(sniffTimeout))
	first := make([]byte, rpc.FirstBytes)
	if _, err := io.ReadFull(c, first); err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	if n.certs != nil && first[0] == tlsHandshake {
		n.serveTLS(c, first, known)
		return
	}
	known()
	n.ServeConn(c, first)
}

// reachable returns the address by which others reach a listener: the host as it was
// configured, since certificates are made out to names, or this machine's name
// where none was.
func reachable(configured string, l net.Listener) string {
	host, port, err := net.SplitHostPort(configured)
	if err != nil {
		return configured
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			host = "localhost"
		}
	}
	if l != nil {
		if _, p, err := net.SplitHostPort(l.Addr().String()); err == nil {
			port = p
		}
	}
	return net.JoinHostPort(host, port)
}

// AdvertisedAddr returns the address at which others reach the node.
func (n *Node) AdvertisedAddr() string {
	if n.cfg.AdvertiseAddr != "" {
		return n.cfg.AdvertiseAddr
	}
	return reachable(n.cfg.ListenAddr, n.ln)
}

// AdvertisedHTTPAddr returns the address at which others reach its HTTP listener.
func (n *Node) AdvertisedHTTPAddr() string {
	addr := n.cfg.HTTPAddr
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		// The names of the two listeners are the same by default.
		if own, _, err := net.SplitHostPort(n.AdvertisedAddr()); err == nil {
			addr = net.JoinHostPort(own, port)
		}
	}
	return reachable(addr, n.httpLn)
}
