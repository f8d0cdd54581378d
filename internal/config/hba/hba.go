package hba

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/config/rulelines"
)

// The types of connections that rules are for.
const (
	Local     = "local"        // sockets of the machine, of which there are none
	Host      = "host"         // encrypted or not
	HostSSL   = "hostssl"      // encrypted
	HostNoSSL = "hostnossl"    // not encrypted
	HostNoGSS = "hostnogssenc" // not encrypted by GSSAPI, which none is: host
)

// The ways in which clients show who they are.
const (
	Trust           = "trust"
	Reject          = "reject"
	Cert            = "cert"
	SCRAM           = "scram-sha-256"
	MD5             = "md5" // SCRAM, as all passwords are stored for that
	Password        = "password"
	CertPassword    = "cert-password"      // a certificate if the client has one, else a password
	CertSCRAM       = "cert-scram-sha-256" // the same
	JWT             = "jwt"                // a token in place of the password
	Peer            = "peer"               // what the machine says of who opened a socket, on local lines
	noMask          = -1
	samehost        = "samehost"
	samenet         = "samenet"
	everyAddress    = "all"
	everyName       = "all"
	sameUser        = "sameuser"
	sameRole        = "samerole"
	sameGroup       = "samegroup"
	replicationOnly = "replication"
)

// Name is a database or a user that a rule names.
type Name = rulelines.Name

// Texts are the names as they are written, but for quotes.
func Texts(list []Name) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.Text
	}
	return out
}

// Rule is a line.
type Rule struct {
	Line      int
	Type      string
	Databases []Name
	Users     []Name
	// Address is all, samehost, samenet, the name of a host, the end of such names from a dot on, or "" where Prefix is a
	// range of addresses, and for local.
	Address string
	Prefix  netip.Prefix
	Method  string
	Options []string
	// Certificate says which certificate a client must show beside what the method asks for.
	Certificate Certificate
	// Map is the identity map that says as whom a certificate lets its owner in; "": as the role of its name.
	Map string
	// DN: the name in a certificate is its whole subject, not only the common name.
	DN bool

	exprs map[string]*regexp.Regexp // of names that begin with a slash
}

// Certificate says what certificate of a client a rule asks for.
type Certificate uint8

const (
	// NoCertificate: it need not have any.
	NoCertificate Certificate = iota
	// AnyCertificate: one of the cluster's, whosever it is.
	AnyCertificate
	// OwnCertificate: one that lets it in as the user.
	OwnCertificate
)

// Client is who connects.
type Client struct {
	Encrypted      bool
	Remote, Server netip.Addr // the zero ones if they are not known
	User, Database string
	// MemberOf reports whether the user is a member of a role, or is it.
	MemberOf func(role string) bool
	// Names returns the names of the remote host that lead back to its address; nil: they are not known. It is asked where a
	// rule names hosts.
	Names func() []string
	// Interfaces returns the addresses of the server's machine, each with the network that it is in; nil: they are not known.
	Interfaces func() []netip.Prefix
}

// Find returns the first rule that is about a client, nil if there is none.
func Find(rules []Rule, c *Client) *Rule {
	for i := range rules {
		if rules[i].fits(c) {
			return &rules[i]
		}
	}
	return nil
}

func (r *Rule) fits(c *Client) bool {
	switch {
	case r.Type == Local, r.Type == HostSSL && !c.Encrypted, r.Type == HostNoSSL && c.Encrypted:
		return false
	}
	return slices.ContainsFunc(r.Databases, func(n Name) bool { return r.database(n, c) }) &&
		slices.ContainsFunc(r.Users, func(n Name) bool { return r.user(n, c) }) && r.fitsAddress(c)
}

func (r *Rule) fitsAddress(c *Client) bool {
	remote := c.Remote.Unmap()
	if r.Address == everyAddress {
		return true
	}
	if !remote.IsValid() {
		return false
	}
	switch r.Address {
	case "":
		return r.Prefix.Contains(remote)
	case samehost:
		return remote.IsLoopback() || remote == c.Server.Unmap() ||
			slices.ContainsFunc(c.interfaces(), func(p netip.Prefix) bool { return p.Addr().Unmap() == remote })
	case samenet:
		return slices.ContainsFunc(c.interfaces(), func(p netip.Prefix) bool { return p.Masked().Contains(remote) })
	}
	return c.Names != nil && slices.ContainsFunc(c.Names(), r.namesHost)
}

func (c *Client) interfaces() []netip.Prefix {
	if c.Interfaces == nil {
		return nil
	}
	return c.Interfaces()
}

// namesHost reports whether the rule is for a host of a name. A name from a dot on is the end of the names of many.
func (r *Rule) namesHost(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	want := strings.ToLower(r.Address)
	if want[0] == '.' {
		return strings.HasSuffix(name, want)
	}
	return name == want
}

func (r *Rule) database(n Name, c *Client) bool {
	if n.Quoted {
		return n.Text == c.Database
	}
	switch n.Text {
	case everyName:
		return true
	case sameUser:
		return c.Database == c.User
	case sameRole, sameGroup:
		return c.MemberOf(c.Database)
	case replicationOnly: // which nobody asks for
		return false
	}
	if e := r.exprs[n.Text]; e != nil {
		return e.MatchString(c.Database)
	}
	return n.Text == c.Database
}

func (r *Rule) user(n Name, c *Client) bool {
	switch {
	case n.Quoted:
		return n.Text == c.User
	case n.Text == everyName:
		return true
	case len(n.Text) > 1 && n.Text[0] == '+':
		return c.MemberOf(n.Text[1:])
	}
	if e := r.exprs[n.Text]; e != nil {
		return e.MatchString(c.User)
	}
	return n.Text == c.User
}
