package types

import (
	"cmp"
	"strings"
)

// A network address is held as its prefix length, then the 4 or 16 bytes of
// the address.

// NewInet returns an inet or cidr value.
func NewInet(addr []byte, bits int) Datum {
	return Datum{fam: InetFamily, s: string(append([]byte{byte(bits)}, addr...))}
}

// Inet returns the address and the prefix length of an inet or cidr.
func (d Datum) Inet() (addr string, bits int) { return d.s[1:], int(d.s[0]) }

func validInet(s string) bool {
	return len(s) == 5 && s[0] <= 32 || len(s) == 17 && s[0] <= 128
}

// compareInet orders IPv4 before IPv6, then by network, prefix length, host.
func compareInet(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	if c := compareBits(a[1:], b[1:], int(min(a[0], b[0]))); c != 0 {
		return c
	}
	if c := cmp.Compare(a[0], b[0]); c != 0 {
		return c
	}
	return strings.Compare(a[1:], b[1:])
}

// compareBits compares the first n bits.
func compareBits(a, b string, n int) int {
	if c := strings.Compare(a[:n/8], b[:n/8]); c != 0 || n%8 == 0 {
		return c
	}
	mask := byte(0xff << (8 - n%8))
	return cmp.Compare(a[n/8]&mask, b[n/8]&mask)
}

// InetContains reports whether the network of a holds that of b; strict wants it
// to be larger.
func InetContains(a, b Datum, strict bool) bool {
	if len(a.s) != len(b.s) || a.s[0] > b.s[0] || strict && a.s[0] == b.s[0] {
		return false
	}
	return compareBits(a.s[1:], b.s[1:], int(a.s[0])) == 0
}

// NetworkOf clears the host part of an address.
func NetworkOf(d Datum) Datum {
	addr, bits := d.Inet()
	b := []byte(addr)
	for i := bits; i < 8*len(b); i++ {
		b[i/8] &^= 1 << (7 - i%8)
	}
	return NewInet(b, bits)
}

// NewMAC returns a macaddr of 6 bytes or a macaddr8 of 8.
func NewMAC(b string) Datum { return Datum{fam: MACFamily, s: b} }
