package pgwire

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/config/hba"
)

// The limits of what a login asks the network for, where rules name hosts: the time that all of it may take, and of how many names of the
// client's address it is seen whether they lead back to it.
const (
	lookupTimeout = 3 * time.Second
	maxHostNames  = 8
)

// Resolver looks up names of hosts and their addresses. net.Resolver is one.
type Resolver interface {
	LookupAddr(ctx context.Context, addr string) (names []string, err error)
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// client is who logs in, to rules of host-based authentication.
func (s *Server) client(ctx context.Context, user, database string, remote, server netip.Addr) *hba.Client {
	return &hba.Client{
		Encrypted: true, User: user, Database: database, Remote: remote, Server: server,
		MemberOf:   func(role string) bool { return s.sql.MemberOf(user, role) },
		Names:      sync.OnceValue(func() []string { return s.namesOf(ctx, remote) }),
		Interfaces: sync.OnceValue(interfaces),
	}
}

// namesOf returns the names of a client's address that lead back to it: who has the say over an address can give it any
// name, but not that name its address.
func (s *Server) namesOf(ctx context.Context, remote netip.Addr) (out []string) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	names, err := s.resolver.LookupAddr(ctx, remote.String())
	if err != nil {
		s.log.Info("the name of a client's host is not known: rules that name hosts are not for it", "remote", remote, "err", err)
		return nil
	}
	for _, n := range names[:min(len(names), maxHostNames)] {
		addrs, err := s.resolver.LookupNetIP(ctx, "ip", n)
		if err == nil && slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Unmap() == remote.Unmap() }) {
			out = append(out, n)
		}
	}
	return out
}

// interfaces returns the addresses of the machine, each with the network that it is in.
func interfaces() (out []netip.Prefix) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			addr, is := netip.AddrFromSlice(n.IP)
			if bits, _ := n.Mask.Size(); is {
				out = append(out, netip.PrefixFrom(addr.Unmap(), bits))
			}
		}
	}
	return out
}
