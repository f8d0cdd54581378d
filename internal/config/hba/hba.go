package hba

import (
	"net/netip"
	"slices"

	"github.com/lichendb/lichen/internal/config/rulelines"
)

// The types of connections that rules are for.
const (
	Local     = "local"     // sockets of the machine, of which there are none
	Host      = "host"      // encrypted or not
	HostSSL   = "hostssl"   // encrypted
	HostNoSSL = "hostnossl" // not encrypted
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
	// Address is all, samehost, samenet, or "" where Prefix is a range of addresses, and for local.
	Address string
	Prefix  netip.Prefix
	Method  string
	Options []string
}

// Client is who connects.
type Client struct {
	Encrypted      bool
	Remote, Server netip.Addr // the zero ones if they are not known
	User, Database string
	// MemberOf reports whether the user is a member of a role, or is it.
	MemberOf func(role string) bool
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
	return r.fitsAddress(c) && slices.ContainsFunc(r.Databases, func(n Name) bool { return database(n, c) }) &&
		slices.ContainsFunc(r.Users, func(n Name) bool { return user(n, c) })
}

func (r *Rule) fitsAddress(c *Client) bool {
	remote := c.Remote.Unmap()
	switch r.Address {
	case everyAddress:
		return true
	case samehost:
		return remote.IsValid() && (remote.IsLoopback() || remote == c.Server.Unmap())
	}
	return remote.IsValid() && r.Prefix.Contains(remote)
}

func database(n Name, c *Client) bool {
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
	return n.Text == c.Database
}

func user(n Name, c *Client) bool {
	switch {
	case n.Quoted:
		return n.Text == c.User
	case n.Text == everyName:
		return true
	case len(n.Text) > 1 && n.Text[0] == '+':
		return c.MemberOf(n.Text[1:])
	}
	return n.Text == c.User
}
