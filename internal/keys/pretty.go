package keys

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/encoding"
)

// maxPrettyNesting bounds how deep keys within keys are looked into; those the
// constructors make need two levels.
const maxPrettyNesting = 3

// Pretty makes a key readable for logs and tests. It accepts any bytes.
func Pretty(key []byte) string { return pretty(key, maxPrettyNesting) }

func pretty(key []byte, nesting int) string {
	if len(key) == 0 {
		return "/Min"
	}
	if nesting == 0 {
		return quote(key)
	}
	rest := key[1:]
	switch key[0] {
	case regionStoreLocal:
		return "/Store" + kindName(rest, storeKinds)
	case regionRangeLocal:
		id, rest, ok := DecodeRangeLocal(key)
		if !ok {
			return "/Range" + quote(key[1:])
		}
		return "/Range/" + strconv.FormatUint(id, 10) + kindName(rest, rangeKinds)
	case regionLock:
		return "/Lock" + prettyInner(rest, nesting)
	case regionTxn:
		return "/Txn" + prettyInner(rest, nesting)
	case regionMeta:
		if len(rest) == 0 {
			return "/Meta"
		}
		return "/Meta" + pretty(rest, nesting-1)
	case regionSystem:
		if db, pair, n, ok := DecodeAdvisoryLock(key); ok {
			return prettyAdvisory(db, pair, n)
		}
		return "/System" + quote(rest)
	case regionTable:
		return prettyTable(rest)
	case regionEnd:
		if len(rest) == 0 {
			return "/Max"
		}
	}
	return quote(key)
}

func storeKinds(kind byte) string {
	if kind == storeIdent {
		return "Ident"
	}
	return ""
}

func rangeKinds(kind byte) string {
	switch kind {
	case rangeAppliedState:
		return "AppliedState"
	case rangeDescriptor:
		return "Descriptor"
	case rangeGCThreshold:
		return "GCThreshold"
	case rangeTombstone:
		return "Tombstone"
	case rangeLockTransfer:
		return "lock-transfer"
	case rangeReplicaID:
		return "ReplicaID"
	case rangeSnapshotMark:
		return "SnapshotMark"
	}
	return ""
}

func kindName(b []byte, names func(byte) string) string {
	if len(b) == 0 {
		return ""
	}
	if name := names(b[0]); name != "" {
		if len(b) == 1 {
			return "/" + name
		}
		return "/" + name + quote(b[1:])
	}
	return quote(b)
}

// prettyInner prints a key embedded in another one, and what follows it.
func prettyInner(b []byte, nesting int) string {
	inner, rest, err := encoding.DecodeBytes(b)
	if err != nil {
		return quote(b)
	}
	return pretty(inner, nesting-1) + quote(rest)
}

func prettyTable(b []byte) string {
	var out strings.Builder
	out.WriteString("/Table")
	for range 3 {
		if len(b) == 0 {
			return out.String()
		}
		id, rest, err := encoding.DecodeUvarintOrdered(b)
		if err != nil {
			break
		}
		fmt.Fprintf(&out, "/%d", id)
		b = rest
	}
	out.WriteString(quote(b))
	return out.String()
}

func quote(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return "/" + strconv.QuoteToASCII(string(b))
}
