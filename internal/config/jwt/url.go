package jwt

import (
	"errors"
	"net/netip"
	"net/url"
)

// CheckURL reports what is wrong with the address of a provider: it must be reached by TLS, unless it is on this machine.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("it is no URL")
	case u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("it must be a URL of a host, without a user and a fragment")
	case u.Scheme == "https", u.Scheme == "http" && onThisMachine(u.Hostname()):
		return nil
	}
	return errors.New("it must begin with https://; http:// is for this machine (localhost) only")
}

func onThisMachine(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
