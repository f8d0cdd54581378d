package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Explain returns a failed TLS handshake's error in words that say what is wrong
// and what to do, wrapping err, or err itself if it is of another kind.
func Explain(err error) error {
	if text := explain(err); text != "" {
		return &explained{text, err}
	}
	return err
}

// explained is an error in other words.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }

// Unwrap returns the error that was explained.
func (e *explained) Unwrap() error { return e.err }

func explain(err error) string {
	var host x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var remote *net.OpError
	switch {
	case errors.As(err, &host):
		return fmt.Sprintf("the server's certificate is not for %s but for %s: connect to one of those, or run 'lichen cert create-node' for the node with %s among the hosts",
			host.Host, strings.Join(hosts(host.Certificate), ", "), host.Host)
	case errors.As(err, &unknown):
		return "the server's certificate was not signed by a CA that this side trusts: use " + CACert + " of the cluster that the server belongs to (--certs-dir, or sslrootcert of a URL)"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return explainServerTime(invalid.Cert)
	case errors.As(err, &record):
		return "the server does not speak TLS: it may run with --insecure"
	case errors.As(err, &remote) && remote.Op == "remote error":
		return explainAlert(strings.TrimPrefix(remote.Err.Error(), "tls: "))
	}
	return ""
}

func explainServerTime(c *x509.Certificate) string {
	if now := time.Now(); now.Before(c.NotBefore) {
		return fmt.Sprintf("the server's certificate is valid from %s on, but here it is %s: set this machine's clock", date(c.NotBefore), date(now))
	}
	return fmt.Sprintf("the server's certificate expired on %s: run 'lichen cert create-node --overwrite' for the node", date(c.NotAfter))
}

// explainAlert is for what the other side says about our certificate.
func explainAlert(alert string) string {
	switch alert {
	case "unknown certificate authority":
		return "the server refused the certificate: the CA of the server's cluster did not sign it"
	case "expired certificate":
		return "the server refused the certificate: it has expired, or the clocks differ"
	case "certificate required":
		return "the server asks for a certificate"
	case "bad certificate":
		return "the server refused the certificate"
	}
	return ""
}
