package typeio

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func errInet(t *types.T, s string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", t.Name, s)
}

func parseInet(t *types.T, s string) (types.Datum, error) {
	host, mask, masked := strings.Cut(s, "/")
	bits := -1
	if masked {
		if mask == "" || len(mask) > 3 || strings.Trim(mask, "0123456789") != "" {
			return types.Null, errInet(t, s)
		}
		bits, _ = strconv.Atoi(mask)
	}
	var addr []byte
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return types.Null, errInet(t, s)
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
			return types.Null, errInet(t, s)
		}
		if bits < 0 {
			if bits = 32; given < 4 {
				if t.Oid == types.Inet.Oid {
					return types.Null, errInet(t, s)
				}
				if bits = max(8*given, classBits(addr[0])); bits == 8 && addr[0] == 224 {
					bits = 4
				}
			}
		}
	}
	if bits > 8*len(addr) {
		return types.Null, errInet(t, s)
	}
	if t.Oid == types.CIDR.Oid && !hostBitsClear(string(addr), bits) {
		return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "invalid cidr value: \"%s\"", s).
			WithDetail("Value has bits set to right of mask.")
	}
	return types.NewInet(addr, bits), nil
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

func appendInet(dst []byte, t *types.T, s string) []byte {
	addr, bits := s[1:], int(s[0])
	dst = AppendHost(dst, addr)
	if t.Oid == types.CIDR.Oid || bits != 8*len(addr) {
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

// Families of addresses in the binary form.
const (
	binaryIPv4 = 2
	binaryIPv6 = 3
)

func appendInetBinary(dst []byte, t *types.T, s string) []byte {
	family, cidr := byte(binaryIPv4), byte(0)
	if len(s) > 5 {
		family = binaryIPv6
	}
	if t.Oid == types.CIDR.Oid {
		cidr = 1
	}
	dst = append(dst, family, s[0], cidr, byte(len(s)-1))
	return append(dst, s[1:]...)
}

func (m *message) inet(t *types.T) (types.Datum, error) {
	h := m.take(4)
	if m.err != nil {
		return types.Null, m.err
	}
	size := 4
	switch h[0] {
	case binaryIPv4:
	case binaryIPv6:
		size = 16
	default:
		return types.Null, errBinary("invalid address family in external \"%s\" value", t.Name)
	}
	if int(h[1]) > 8*size {
		return types.Null, errBinary("invalid bits in external \"%s\" value", t.Name)
	}
	if int(h[3]) != size {
		return types.Null, errBinary("invalid length in external \"%s\" value", t.Name)
	}
	addr := string(m.take(size))
	if m.err != nil {
		return types.Null, m.err
	}
	if t.Oid == types.CIDR.Oid && !hostBitsClear(addr, int(h[1])) {
		return types.Null, errBinary("invalid external \"cidr\" value").WithDetail("Value has bits set to right of mask.")
	}
	return types.NewInet([]byte(addr), int(h[1])), nil
}

func parseMAC(t *types.T, s string) (types.Datum, error) {
	if t.Len() == 8 {
		return parseMAC8(s)
	}
	u := ascii.TrimSpace(s)
	var b []byte
	var seps []byte
	var groups []int
	digits := 0
	var hi byte
	for i := 0; i < len(u); i++ {
		if v, ok := ascii.HexDigit(u[i]); ok {
			if digits%2 == 0 {
				hi = v
			} else {
				b = append(b, hi<<4|v)
			}
			digits++
			continue
		}
		if strings.IndexByte(":-.", u[i]) < 0 || digits == 0 || digits%2 != 0 {
			return types.Null, errInet(t, s)
		}
		seps, groups = append(seps, u[i]), append(groups, digits)
		digits = 0
	}
	groups = append(groups, digits)
	if !validMACGroups(groups, seps) {
		return types.Null, errInet(t, s)
	}
	return types.NewMAC(string(b)), nil
}

// parseMAC8 reads six or eight bytes, behind any of which a separator may stand,
// the same one wherever there is one.
func parseMAC8(s string) (types.Datum, error) {
	u := ascii.TrimSpace(s)
	var b []byte
	var sep byte
	for u != "" && len(b) < 8 {
		hi, ok := ascii.HexDigit(u[0])
		if !ok || len(u) == 1 {
			return types.Null, errInet(types.MACAddr8, s)
		}
		lo, ok := ascii.HexDigit(u[1])
		if !ok {
			return types.Null, errInet(types.MACAddr8, s)
		}
		b, u = append(b, hi<<4|lo), u[2:]
		if u == "" || strings.IndexByte(":-.", u[0]) < 0 {
			continue
		}
		if sep != 0 && u[0] != sep {
			return types.Null, errInet(types.MACAddr8, s)
		}
		sep, u = u[0], u[1:]
	}
	switch {
	case len(b) == 6:
		b = append(b[:3:3], 0xff, 0xfe, b[3], b[4], b[5])
	case len(b) != 8 || u != "":
		return types.Null, errInet(types.MACAddr8, s)
	}
	return types.NewMAC(string(b)), nil
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
