package charset

import (
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// definition is an encoding of PostgreSQL: its name, the other names that clients may use,
// and how long a character is at most.
type definition struct {
	name, aliases string
	longest       int
	single        *charmap.Charmap  // of one byte a character
	multi         encoding.Encoding // of more
	cut           cutter            // of multi
	// PostgreSQL does not define what is in holes, bytes of single, and beyond, characters of
	// multi; the bytes of other stand for other characters, and those of ISO's control
	// characters for themselves.
	holes  string
	other  map[byte]rune
	iso    bool
	beyond func(char []byte) bool
}

// Positions in definitions that have a meaning of their own.
const (
	sqlASCII = 0
	utf8ID   = 6
	// firstClientOnly is SJIS: databases may have the encodings before it.
	firstClientOnly = 35
)

// What Windows' code pages don't define, where ISO has controls.
const (
	holes1250 = "\x81\x83\x88\x90\x98"
	holes1251 = "\x98"
	holes1252 = "\x81\x8d\x8f\x90\x9d"
)

// definitions are PostgreSQL's encodings by number. Those without a table can't be
// converted.
func definitions() []definition {
	return []definition{
		{name: "SQL_ASCII", longest: 1},
		{name: "EUC_JP", longest: 3, multi: japanese.EUCJP, cut: cutEUCJP, beyond: vendorJP},
		{name: "EUC_CN", longest: 3, multi: simplifiedchinese.GBK, cut: cutEUC, beyond: beyondGB2312},
		{name: "EUC_KR", longest: 3, multi: korean.EUCKR, cut: cutEUC},
		{name: "EUC_TW", longest: 4},
		{name: "EUC_JIS_2004", longest: 3},
		{name: "UTF8", aliases: "unicode", longest: 4},
		{name: "MULE_INTERNAL", longest: 4},
		{name: "LATIN1", aliases: "iso88591", longest: 1, single: charmap.ISO8859_1, iso: true},
		{name: "LATIN2", aliases: "iso88592", longest: 1, single: charmap.ISO8859_2, iso: true},
		{name: "LATIN3", aliases: "iso88593", longest: 1, single: charmap.ISO8859_3, iso: true},
		{name: "LATIN4", aliases: "iso88594", longest: 1, single: charmap.ISO8859_4, iso: true},
		{name: "LATIN5", aliases: "iso88599", longest: 1, single: charmap.ISO8859_9, iso: true},
		{name: "LATIN6", aliases: "iso885910", longest: 1, single: charmap.ISO8859_10, iso: true},
		{name: "LATIN7", aliases: "iso885913", longest: 1, single: charmap.ISO8859_13, iso: true},
		{name: "LATIN8", aliases: "iso885914", longest: 1, single: charmap.ISO8859_14, iso: true},
		{name: "LATIN9", aliases: "iso885915", longest: 1, single: charmap.ISO8859_15, iso: true},
		{name: "LATIN10", aliases: "iso885916", longest: 1, single: charmap.ISO8859_16, iso: true},
		{name: "WIN1256", aliases: "windows1256", longest: 1, single: charmap.Windows1256},
		{name: "WIN1258", aliases: "windows1258 abc tcvn tcvn5712 vscii", longest: 1, single: charmap.Windows1258},
		{name: "WIN866", aliases: "windows866 alt", longest: 1, single: charmap.CodePage866},
		{name: "WIN874", aliases: "windows874", longest: 1, single: charmap.Windows874},
		{name: "KOI8R", aliases: "koi8", longest: 1, single: charmap.KOI8R},
		{name: "WIN1251", aliases: "windows1251 win", longest: 1, single: charmap.Windows1251, holes: holes1251},
		{name: "WIN1252", aliases: "windows1252", longest: 1, single: charmap.Windows1252, holes: holes1252},
		{name: "ISO_8859_5", longest: 1, single: charmap.ISO8859_5, iso: true},
		{name: "ISO_8859_6", longest: 1, single: charmap.ISO8859_6, iso: true},
		{name: "ISO_8859_7", longest: 1, single: charmap.ISO8859_7, iso: true},
		{name: "ISO_8859_8", longest: 1, single: charmap.ISO8859_8, iso: true},
		{name: "WIN1250", aliases: "windows1250", longest: 1, single: charmap.Windows1250, holes: holes1250},
		{name: "WIN1253", aliases: "windows1253", longest: 1, single: charmap.Windows1253},
		{name: "WIN1254", aliases: "windows1254", longest: 1, single: charmap.Windows1254},
		{name: "WIN1255", aliases: "windows1255", longest: 1, single: charmap.Windows1255, holes: "\xca"},
		{name: "WIN1257", aliases: "windows1257", longest: 1, single: charmap.Windows1257},
		{name: "KOI8U", longest: 1, single: charmap.KOI8U, other: map[byte]rune{0xae: '╝', 0xbe: '╬'}},
		{name: "SJIS", aliases: "shiftjis mskanji win932 windows932", longest: 2, multi: japanese.ShiftJIS, cut: cutSJIS},
		{name: "BIG5", aliases: "win950 windows950", longest: 2, multi: traditionalchinese.Big5, cut: cutDouble, beyond: hongKong},
		{name: "GBK", aliases: "win936 windows936", longest: 2, multi: simplifiedchinese.GBK, cut: cutDouble, beyond: beyondGBK},
		{name: "UHC", aliases: "win949 windows949", longest: 2, multi: korean.EUCKR, cut: cutDouble},
		{name: "GB18030", longest: 4, multi: simplifiedchinese.GB18030, cut: cutGB18030},
		{name: "JOHAB", longest: 3},
		{name: "SHIFT_JIS_2004", longest: 2},
	}
}

// clean is the form in which names are compared.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, name)
}
