package types

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
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

func errInet(t *T, s string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", t.Name, s)
}

func parseInet(t *T, s string) (Datum, error) {
	host, mask, masked := strings.Cut(s, "/")
	bits := -1
	if masked {
		if mask == "" || len(mask) > 3 || strings.Trim(mask, "0123456789") != "" {
			return Null, errInet(t, s)
		}
		bits, _ = strconv.Atoi(mask)
	}
	var addr []byte
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return Null, errInet(t, s)
		}
		b := a.As16()
		addr = b[:]
		if bits < 0 {
			bits = 128
		}
	} else {
		var given int
		var ok bool
		if addr, given, ok = parseIPv4(host); !ok {
			return Null, errInet(t, s)
		}
		if bits < 0 {
			if bits = 32; given < 4 {
				if t.Oid == Inet.Oid {
					return Null, errInet(t, s)
				}
				if bits = max(8*given, classBits(addr[0])); bits == 8 && addr[0] == 224 {
					bits = 4
				}
			}
		}
	}
	if bits > 8*len(addr) {
		return Null, errInet(t, s)
	}
	if t.Oid == CIDR.Oid && !hostBitsClear(string(addr), bits) {
		return Null, pgerr.New(pgerr.InvalidTextRepresentation, "invalid cidr value: \"%s\"", s).
			WithDetail("Value has bits set to right of mask.")
	}
	return NewInet(addr, bits), nil
}

// parseIPv4 reads one to four decimal octets.
func parseIPv4(s string) (addr []byte, given int, ok bool) {
	addr = make([]byte, 4)
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return nil, 0, false
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil || len(p) > 3 {
			return nil, 0, false
		}
		addr[i] = byte(n)
	}
	return addr, len(parts), true
}

// classBits is the prefix length of an old class of networks.
func classBits(first byte) int {
	switch {
	case first >= 240:
		return 32
	case first >= 224:
		return 8
	case first >= 192:
		return 24
	case first >= 128:
		return 16
	}
	return 8
}

func hostBitsClear(addr string, bits int) bool {
	for i := bits; i < 8*len(addr); i++ {
		if addr[i/8]>>(7-i%8)&1 != 0 {
			return false
		}
	}
	return true
}

func appendInet(dst []byte, t *T, s string) []byte {
	addr, bits := s[1:], int(s[0])
	dst = AppendHost(dst, addr)
	if t.Oid == CIDR.Oid || bits != 8*len(addr) {
		dst = append(dst, '/')
		dst = strconv.AppendInt(dst, int64(bits), 10)
	}
	return dst
}

// AppendHost prints an address of 4 or 16 bytes.
func AppendHost(dst []byte, addr string) []byte {
	if len(addr) == 4 {
		return appendIPv4(dst, addr)
	}
	var words [8]uint16
	for i := range words {
		words[i] = uint16(addr[2*i])<<8 | uint16(addr[2*i+1])
	}
	base, n := zeroRun(words)
	for i := 0; i < 8; i++ {
		if n > 1 && i >= base && i < base+n {
			if i == base {
				dst = append(dst, ':')
			}
			continue
		}
		if i > 0 {
			dst = append(dst, ':')
		}
		// An IPv4 address in an IPv6 one prints in its own form.
		if i == 6 && base == 0 && (n == 6 || n == 7 && words[7] != 1 || n == 5 && words[5] == 0xffff) {
			return appendIPv4(dst, addr[12:])
		}
		dst = strconv.AppendUint(dst, uint64(words[i]), 16)
	}
	if n > 1 && base+n == 8 {
		dst = append(dst, ':')
	}
	return dst
}

// zeroRun finds the first longest run of zero words.
func zeroRun(words [8]uint16) (base, n int) {
	for i := 0; i < 8; i++ {
		j := i
		for j < 8 && words[j] == 0 {
			j++
		}
		if j-i > n {
			base, n = i, j-i
		}
		i = max(i, j-1)
	}
	return base, n
}

func appendIPv4(dst []byte, addr string) []byte {
	for i := range 4 {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = strconv.AppendUint(dst, uint64(addr[i]), 10)
	}
	return dst
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

// Families of addresses in the binary form.
const (
	binaryIPv4 = 2
	binaryIPv6 = 3
)

func appendInetBinary(dst []byte, t *T, s string) []byte {
	family, cidr := byte(binaryIPv4), byte(0)
	if len(s) > 5 {
		family = binaryIPv6
	}
	if t.Oid == CIDR.Oid {
		cidr = 1
	}
	dst = append(dst, family, s[0], cidr, byte(len(s)-1))
	return append(dst, s[1:]...)
}

func (m *message) inet(t *T) (Datum, error) {
	h := m.take(4)
	if m.err != nil {
		return Null, m.err
	}
	size := 4
	switch h[0] {
	case binaryIPv4:
	case binaryIPv6:
		size = 16
	default:
		return Null, errBinary("invalid address family in external \"%s\" value", t.Name)
	}
	if int(h[1]) > 8*size {
		return Null, errBinary("invalid bits in external \"%s\" value", t.Name)
	}
	if int(h[3]) != size {
		return Null, errBinary("invalid length in external \"%s\" value", t.Name)
	}
	addr := string(m.take(size))
	if m.err != nil {
		return Null, m.err
	}
	if t.Oid == CIDR.Oid && !hostBitsClear(addr, int(h[1])) {
		return Null, errBinary("invalid external \"cidr\" value").WithDetail("Value has bits set to right of mask.")
	}
	return NewInet([]byte(addr), int(h[1])), nil
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

func parseMAC(t *T, s string) (Datum, error) {
	if t.Len() == 8 {
		return parseMAC8(s)
	}
	u := trimSpace(s)
	var b []byte
	var seps []byte
	var groups []int
	digits := 0
	var hi byte
	for i := 0; i < len(u); i++ {
		if v, ok := hexDigit(u[i]); ok {
			if digits%2 == 0 {
				hi = v
			} else {
				b = append(b, hi<<4|v)
			}
			digits++
			continue
		}
		if strings.IndexByte(":-.", u[i]) < 0 || digits == 0 || digits%2 != 0 {
			return Null, errInet(t, s)
		}
		seps, groups = append(seps, u[i]), append(groups, digits)
		digits = 0
	}
	groups = append(groups, digits)
	if !validMACGroups(groups, seps) {
		return Null, errInet(t, s)
	}
	return Datum{fam: MACFamily, s: string(b)}, nil
}

// parseMAC8 reads six or eight bytes, behind any of which a separator may stand,
// the same one wherever there is one.
func parseMAC8(s string) (Datum, error) {
	u := trimSpace(s)
	var b []byte
	var sep byte
	for u != "" && len(b) < 8 {
		hi, ok := hexDigit(u[0])
		if !ok || len(u) == 1 {
			return Null, errInet(MACAddr8, s)
		}
		lo, ok := hexDigit(u[1])
		if !ok {
			return Null, errInet(MACAddr8, s)
		}
		b, u = append(b, hi<<4|lo), u[2:]
		if u == "" || strings.IndexByte(":-.", u[0]) < 0 {
			continue
		}
		if sep != 0 && u[0] != sep {
			return Null, errInet(MACAddr8, s)
		}
		sep, u = u[0], u[1:]
	}
	switch {
	case len(b) == 6:
		b = append(b[:3:3], 0xff, 0xfe, b[3], b[4], b[5])
	case len(b) != 8 || u != "":
		return Null, errInet(MACAddr8, s)
	}
	return Datum{fam: MACFamily, s: string(b)}, nil
}

// validMACGroups accepts one to four bytes per group, groups of one size, one
// kind of separator.
func validMACGroups(groups []int, seps []byte) bool {
	total := 0
	for _, g := range groups {
		total += g
		if g != groups[0] || g == 0 {
			return false
		}
	}
	for _, c := range seps {
		if c != seps[0] || c == '.' && groups[0] != 4 || c == ':' && groups[0] == 4 {
			return false
		}
	}
	return total == 12
}

func appendMAC(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if i > 0 {
			dst = append(dst, ':')
		}
		dst = append(dst, hexDigits[s[i]>>4], hexDigits[s[i]&15])
	}
	return dst
}

// NewMAC returns a macaddr of 6 bytes or a macaddr8 of 8.
func NewMAC(b string) Datum { return Datum{fam: MACFamily, s: b} }

func addNetworkCasts(add castAdder) {
	const i, a = CastImplicit, CastAssignment
	add(CIDR, i, 'b', nil, Inet)
	add(Inet, a, 'f', func(_ *FormatContext, d Datum, _ *T) (Datum, error) { return NetworkOf(d), nil }, CIDR)
	for _, t := range []*T{Inet, CIDR} {
		add(t, a, 'f', castInetText(t), Text, Varchar, Bpchar)
	}
	add(MACAddr, i, 'f', func(_ *FormatContext, d Datum, _ *T) (Datum, error) {
		return NewMAC(d.s[:3] + "\xff\xfe" + d.s[3:]), nil
	}, MACAddr8)
	add(MACAddr8, i, 'f', func(_ *FormatContext, d Datum, _ *T) (Datum, error) {
		if d.s[3] != 0xff || d.s[4] != 0xfe {
			return Null, pgerr.New(pgerr.NumericValueOutOfRange, "macaddr8 data out of range to convert to macaddr").
				WithHint("Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.")
		}
		return NewMAC(d.s[:3] + d.s[5:]), nil
	}, MACAddr)
}

// castInetText prints an address with its prefix length always.
func castInetText(*T) CastFunc {
	return func(fc *FormatContext, d Datum, _ *T) (Datum, error) {
		return NewString(FormatDatum(CIDR, d, fc)), nil
	}
}
