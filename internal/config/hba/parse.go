package hba

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/config/rulelines"
)

// methods are those that there are.
var methods = []string{Trust, Reject, Cert, SCRAM, MD5, Password, CertPassword, CertSCRAM, JWT}

// otherMethods are PostgreSQL's that there are not.
var otherMethods = []string{"ldap", "pam", "gss", "sspi", "ident", "peer", "radius", "bsd"}

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
	case Local, Host, HostSSL, HostNoSSL:
	case "hostgssenc", "hostnogssenc":
		return r, fmt.Errorf("connection type %q is not supported: there is no GSSAPI encryption", r.Type)
	default:
		return r, fmt.Errorf("invalid connection type %q", r.Type)
	}
	if fields = fields[1:]; len(fields) < 2 {
		return r, fmt.Errorf("end-of-line before %s specification", [...]string{"database", "role"}[len(fields)])
	}
	r.Databases, r.Users = fields[0], fields[1]
	if fields = fields[2:]; r.Type != Local {
		if fields, err = r.address(fields); err != nil {
			return r, err
		}
	}
	return r, r.method(fields)
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
	case everyAddress, samehost:
		r.Address = text
		return fields, nil
	case samenet:
		return nil, fmt.Errorf("address %q is not supported: the networks of other nodes are not known", text)
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
		return nil, fmt.Errorf("address %q is not supported: name an IP address with a mask, all or samehost, not a host", text)
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
	}
	for _, f := range fields[1:] {
		text := f[0].Text
		if text != "clientcert=verify-full" && text != "clientcert=verify-ca" {
			return fmt.Errorf("authentication option %q is not supported", text)
		}
		if text == "clientcert=verify-ca" {
			return fmt.Errorf("authentication option %q is not supported: certificates are always made out to the user", text)
		}
		r.Options = append(r.Options, text)
	}
	return nil
}
