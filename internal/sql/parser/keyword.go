package parser

import "github.com/lichendb/lichen/internal/sql/ast"

// The keyword table is a hash table with open addressing, keyed by a hash that
// the lexer computes while it reads a word, so that a lookup neither folds a
// copy nor allocates.
const (
	hashFactor    = 31
	hashSlots     = 2048 // a power of two, over four times the keywords
	maxKeywordLen = 17   // current_timestamp
)

var keywordSlots = buildKeywordSlots()

func buildKeywordSlots() (t [hashSlots]kind) {
	for i, k := range ast.Keywords {
		var h uint32
		for j := 0; j < len(k.Word); j++ {
			h = h*hashFactor + uint32(k.Word[j])
		}
		slot := hashSlot(h)
		for t[slot] != 0 {
			slot = (slot + 1) % hashSlots
		}
		t[slot] = firstKeyword + kind(i)
	}
	return t
}

// hashSlot mixes the high bits in.
func hashSlot(h uint32) uint32 { return (h ^ h>>11 ^ h>>22) % hashSlots }

// lookupKeyword returns the keyword that word, in any case, is; 0 for none. h
// is the hash of the lower-case word.
func lookupKeyword(word string, h uint32) kind {
	for slot := hashSlot(h); ; slot = (slot + 1) % hashSlots {
		k := keywordSlots[slot]
		if k == 0 || equalFold(word, ast.Keywords[k-firstKeyword].Word) {
			return k
		}
	}
}

// equalFold reports whether word is lower, an ASCII lower-case word, in any
// case.
func equalFold(word, lower string) bool {
	if len(word) != len(lower) {
		return false
	}
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// keywordWord returns a keyword's spelling.
func keywordWord(k kind) string { return ast.Keywords[k-firstKeyword].Word }

// isKeyword reports whether k is a keyword at all.
func isKeyword(k kind) bool { return k >= firstKeyword && k <= lastKeyword }

// class returns the class of a keyword.
func class(k kind) ast.KeywordClass { return ast.Keywords[k-firstKeyword].Class }

// isColID reports whether a token may name a column, table or other object.
func isColID(k kind) bool {
	return k == tokIdent || isKeyword(k) && class(k) <= ast.ColName
}

// isFuncName reports whether a token may name a function or type.
func isFuncName(k kind) bool {
	return k == tokIdent || isKeyword(k) && (class(k) == ast.Unreserved || class(k) == ast.TypeFuncName)
}

// isColLabel reports whether a token may follow AS or a dot.
func isColLabel(k kind) bool { return k == tokIdent || isKeyword(k) }

// isBareLabel reports whether a token may name an output column without AS.
func isBareLabel(k kind) bool {
	return k == tokIdent || isKeyword(k) && ast.Keywords[k-firstKeyword].BareLabel
}

// isReserved reports whether a token is a reserved keyword.
func isReserved(k kind) bool { return isKeyword(k) && class(k) == ast.Reserved }

// isNonReserved reports whether a token is a name that is not reserved:
// NonReservedWord of the grammar.
func isNonReserved(k kind) bool {
	return k == tokIdent || isKeyword(k) && class(k) != ast.Reserved
}
