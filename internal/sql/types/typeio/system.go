package typeio

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/types"
)

// parseUnsigned reads an xid, cid or xid8: whatever number the text begins with, without a
// complaint, as PostgreSQL does.
func parseUnsigned(t *types.T, s string) types.Datum {
	u, _ := ascii.ScanUint(s, 0)
	if t.Oid == types.Xid8.Oid {
		return types.NewUint64(u)
	}
	return types.NewInt(int64(uint32(u)))
}

// parseTID reads "(block,offset)".
func parseTID(s string) (types.Datum, error) {
	_, in, ok := strings.Cut(s, "(")
	if !ok {
		return types.Null, types.InvalidText(types.TID, s)
	}
	block, rest := ascii.ScanUint(in, 10)
	in, ok = strings.CutPrefix(rest, ",")
	if !ok || block > math.MaxUint32 && block < 1<<64-1<<31 {
		return types.Null, types.InvalidText(types.TID, s)
	}
	offset, rest := ascii.ScanUint(in, 10)
	if !strings.HasPrefix(rest, ")") || offset > math.MaxUint16 {
		return types.Null, types.InvalidText(types.TID, s)
	}
	return types.NewTID(uint32(block), uint16(offset)), nil
}

func appendTID(dst []byte, d types.Datum) []byte {
	dst = strconv.AppendInt(append(dst, '('), d.Int()>>16, 10)
	dst = strconv.AppendInt(append(dst, ','), d.Int()&0xffff, 10)
	return append(dst, ')')
}

// parseLSN reads the two halves of a position in the log, in hexadecimal.
func parseLSN(s string) (types.Datum, error) {
	high, low, ok := strings.Cut(s, "/")
	if !ok || !isHexHalf(high) || !isHexHalf(low) {
		return types.Null, types.InvalidText(types.PgLSN, s)
	}
	h, _ := ascii.ScanUint("0x"+high, 0)
	l, _ := ascii.ScanUint("0x"+low, 0)
	return types.NewUint64(h<<32 | l), nil
}

func isHexHalf(s string) bool {
	for i := range len(s) {
		if _, ok := ascii.HexDigit(s[i]); !ok {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 8
}

func appendLSN(dst []byte, u uint64) []byte {
	return append(dst, strings.ToUpper(strconv.FormatUint(u>>32, 16)+"/"+strconv.FormatUint(u&math.MaxUint32, 16))...)
}

// checkSchema returns an error if a qualified name names a schema that does not exist.
func checkSchema(name string, fc *types.FormatContext) error {
	schema, _, ok := strings.Cut(name, ".")
	if !ok || fc == nil || fc.Names == nil {
		return nil
	}
	_, err := fc.Names.OidOf(types.Regnamespace, schema)
	return err
}

// parseOpaque reads a value of the types of OpaqueFamily.
func parseOpaque(t *types.T, s string, fc *types.FormatContext) (types.Datum, error) {
	switch t.Oid {
	case types.PgSnapshot.Oid, types.TxidSnapshot.Oid:
		return parseSnapshot(s)
	case types.ACLItem.Oid:
		return parseACLItem(s, fc)
	}
	if t.Extension() != "" {
		return parseQuery(t, s, fc)
	}
	return types.NewOpaque(s), types.VerifyUTF8(s, fc)
}

func appendOpaque(dst []byte, t *types.T, d types.Datum, fc *types.FormatContext) []byte {
	if t.Oid == types.ACLItem.Oid {
		return appendACLItem(dst, d.ACLItem(), fc)
	}
	return append(dst, d.Str()...)
}

// appendOpaqueBinary writes the binary form; PostgreSQL has none for aclitem, whose
// text stands for it, with roles by number.
func appendOpaqueBinary(dst []byte, t *types.T, d types.Datum) []byte {
	if t.Extension() == "ltree" {
		dst = append(dst, labelsVersion)
	}
	if t.Oid != types.PgSnapshot.Oid && t.Oid != types.TxidSnapshot.Oid {
		return appendOpaque(dst, t, d, nil)
	}
	be := binary.BigEndian
	v := d.Snapshot()
	dst = be.AppendUint32(dst, uint32(len(v.Xip)))
	dst = be.AppendUint64(be.AppendUint64(dst, v.Xmin), v.Xmax)
	for _, x := range v.Xip {
		dst = be.AppendUint64(dst, x)
	}
	return dst
}

// opaque reads the binary form.
func (m *message) opaque(t *types.T) (types.Datum, error) {
	if t.Extension() == "ltree" {
		return m.versioned(t)
	}
	if t.Oid != types.PgSnapshot.Oid && t.Oid != types.TxidSnapshot.Oid {
		return parseOpaque(t, m.rest(), nil)
	}
	n := m.int32()
	v := types.SnapshotValue{Xmin: uint64(m.int64()), Xmax: uint64(m.int64())}
	for ; n > 0 && m.err == nil; n-- {
		v.Xip = append(v.Xip, uint64(m.int64()))
	}
	if m.err != nil || n < 0 || !v.Valid() {
		return types.Null, errBinary("invalid external pg_snapshot data")
	}
	return types.NewSnapshot(v), nil
}

func parseSnapshot(s string) (types.Datum, error) {
	v, ok := types.ScanSnapshot(s)
	if !ok {
		return types.Null, types.InvalidText(types.PgSnapshot, s)
	}
	return types.NewSnapshot(v), nil
}
