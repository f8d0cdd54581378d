package hba

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/config/rulelines"
)

// methods are those that there are.
var methods = []string{Trust, Reject, Cert, SCRAM, MD5, Password, CertPassword, CertSCRAM, JWT, Peer}

// hostName is what a rule may name in place of an address: a host, or the end of the names of several.
var hostName = regexp.MustCompile(`^\.?[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})$`)

// otherMethods are PostgreSQL's that there are not.
var otherMethods = []string{"ldap", "pam", "gss", "sspi", "ident", "radius", "bsd"}

// Parse reads rules, one a line.
func Parse(text string) ([]Rule, error) {
	lines, err := rulelines.Split(text)
	if err != nil {
		return nil, err
	}
	var out []Rule
	for _, l := range lines {
		r, err := rule(l.Fields)
		if err != nil {
			return nil, l.Errorf("%w", err)
		}
		r.Line = l.Number
		out = append(out, r)
	}
	return out, nil
}

// rule reads the fields of a line.
func rule(fields [][]rulelines.Name) (r Rule, err error) {
	if len(fields[0]) > 1 {
		return r, fmt.Errorf("multiple values specified for connection type")
	}
	switch r.Type = fields[0][0].Text; r.Type {
	case Local, Host, HostSSL, HostNoSSL, HostNoGSS:
	case "hostgssenc":
		return r, fmt.Errorf("connection type %q is not supported: there is no GSSAPI encryption", r.Type)
	default:
		return r, fmt.Errorf("invalid connection type %q", r.Type)
	}
	if fields = fields[1:]; len(fields) < 2 {
		return r, fmt.Errorf("end-of-line before %s specification", [...]string{"database", "role"}[len(fields)])
	}
	r.Databases, r.Users = fields[0], fields[1]
	if err := r.compile(); err != nil {
		return r, err
	}
	if fields = fields[2:]; r.Type != Local {
		if fields, err = r.address(fields); err != nil {
			return r, err
		}
	}
	return r, r.method(fields)
}

// compile reads the regular expressions among the names of databases and users.
func (r *Rule) compile() error {
	for _, n := range slices.Concat(r.Databases, r.Users) {
		expr, is := strings.CutPrefix(n.Text, "/")
		if n.Quoted || !is {
			continue
		}
		e, err := regexp.Compile(expr)
		if err != nil {
			return fmt.Errorf("invalid regular expression %q: %w", expr, err)
		}
		if r.exprs == nil {
			r.exprs = map[string]*regexp.Regexp{}
		}
		r.exprs[n.Text] = e
	}
	return nil
}

// address reads the addresses that a rule is for, and returns the fields behind.
func (r *Rule) address(fields [][]rulelines.Name) ([][]rulelines.Name, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("end-of-line before IP address specification")
	}
	if len(fields[0]) > 1 {
		return nil, fmt.Errorf("multiple values specified for host address")
	}
	text := fields[0][0].Text
	fields = fields[1:]
	switch text {
	case everyAddress, samehost, samenet:
		r.Address = text
		return fields, nil
	case "":
		return nil, fmt.Errorf("invalid address %q", text)
	}
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("invalid address %q", text)
		}
		r.Prefix = p.Masked()
		return fields, nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		if !hostName.MatchString(text) {
			return nil, fmt.Errorf("invalid address %q", text)
		}
		r.Address = text
		return fields, nil
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("end-of-line before netmask specification")
	}
	bits := maskBits(fields[0][0].Text, addr)
	if bits == noMask {
		return nil, fmt.Errorf("invalid IP mask %q", fields[0][0].Text)
	}
	r.Prefix = netip.PrefixFrom(addr, bits).Masked()
	return fields[1:], nil
}

// maskBits is how many bits of an address a mask keeps, noMask if it is none for it.
func maskBits(text string, addr netip.Addr) int {
	m, err := netip.ParseAddr(text)
	if err != nil || m.Is4() != addr.Is4() {
		return noMask
	}
	ones, bits := net.IPMask(m.AsSlice()).Size()
	if bits == 0 {
		return noMask
	}
	return ones
}

// method reads how clients show who they are.
func (r *Rule) method(fields [][]rulelines.Name) error {
	if len(fields) == 0 {
		return fmt.Errorf("end-of-line before authentication method")
	}
	if len(fields[0]) > 1 {
		return fmt.Errorf("multiple values specified for authentication type")
	}
	r.Method = fields[0][0].Text
	switch {
	case slices.Contains(otherMethods, r.Method):
		return fmt.Errorf("authentication method %q is not supported; there are %s", r.Method, strings.Join(methods, ", "))
	case !slices.Contains(methods, r.Method):
		return fmt.Errorf("invalid authentication method %q", r.Method)
	case (r.Method == Cert || r.Method == JWT) && r.Type != HostSSL:
		return fmt.Errorf("%s authentication is only supported on hostssl connections", r.Method)
	case r.Method == Peer && r.Type != Local:
		return fmt.Errorf("peer authentication is only supported on local sockets")
	case r.Method == Cert:
		r.Certificate = OwnCertificate
	}
	for _, f := range fields[1:] {
		for _, n := range f {
			if err := r.option(n.Text); err != nil {
				return err
			}
			r.Options = append(r.Options, n.Text)
		}
	}
	return nil
}

// option reads an option of the method.
func (r *Rule) option(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("authentication option not in name=value format: %s", text)
	}
	switch name {
	case "map":
		if r.Method != Cert && r.Method != Peer {
			return fmt.Errorf("authentication option %q is only valid for authentication methods peer and cert", name)
		}
		r.Map = value
		return nil
	case "clientcert":
		return r.clientCertificate(value)
	case "clientname":
		if r.Type != HostSSL {
			return fmt.Errorf("clientname can only be configured for \"hostssl\" rows")
		}
		if value != "CN" && value != "DN" {
			return fmt.Errorf("invalid value for clientname: %q", value)
		}
		r.DN = value == "DN"
		return nil
	}
	return fmt.Errorf("authentication option %q is not supported; there are map, clientcert and clientname", text)
}

// clientCertificate reads the option clientcert.
func (r *Rule) clientCertificate(value string) error {
	switch {
	case r.Type != HostSSL:
		return fmt.Errorf("clientcert can only be configured for \"hostssl\" rows")
	case value == "verify-full":
		r.Certificate = OwnCertificate
	case value != "verify-ca":
		return fmt.Errorf("invalid value for clientcert: %q", value)
	case r.Method == Cert:
		return fmt.Errorf("clientcert only accepts \"verify-full\" when using \"cert\" authentication")
	default:
		r.Certificate = AnyCertificate
	}
	return nil
}
