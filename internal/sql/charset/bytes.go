package charset

// cutter returns the length of the character that text begins with, as its first bytes tell,
// and whether its bytes are ones that the encoding uses there.
type cutter func(text []byte) (n int, ok bool)

// double checks a character of two bytes, whose second is at least least.
func double(text []byte, least byte) (int, bool) {
	return 2, len(text) >= 2 && text[1] >= least
}

// cutEUC divides text of a one-byte set and a two-byte set with the high bits set.
func cutEUC(text []byte) (int, bool) {
	if text[0] < 0x80 {
		return 1, true
	}
	n, ok := double(text, 0xa1)
	return n, ok && text[0] >= 0xa1 && text[0] != 0xff && text[1] != 0xff
}

// cutEUCJP knows two more sets, behind the bytes 8e and 8f.
func cutEUCJP(text []byte) (int, bool) {
	switch text[0] {
	case 0x8e:
		n, ok := double(text, 0xa1)
		return n, ok && text[1] <= 0xdf
	case 0x8f:
		return 3, len(text) >= 3 && text[1] >= 0xa1 && text[2] >= 0xa1 && text[1] != 0xff && text[2] != 0xff
	}
	return cutEUC(text)
}

// cutSJIS divides Shift-JIS, whose katakana have one byte.
func cutSJIS(text []byte) (int, bool) {
	switch b := text[0]; {
	case b < 0x80, b >= 0xa1 && b <= 0xdf:
		return 1, true
	case b == 0x80, b == 0xa0, b > 0xfc:
		return 2, false
	}
	n, ok := double(text, 0x40)
	return n, ok && text[1] != 0x7f && text[1] <= 0xfc
}

// cutDouble divides text of two-byte characters behind any byte with the high bit set.
func cutDouble(text []byte) (int, bool) {
	if text[0] < 0x80 {
		return 1, true
	}
	return double(text, 0x01)
}

// cutGB18030 also knows characters of four bytes, whose second is a digit.
func cutGB18030(text []byte) (int, bool) {
	switch {
	case text[0] < 0x80:
		return 1, true
	case len(text) >= 2 && text[1] >= 0x30 && text[1] <= 0x39:
		return 4, len(text) >= 4 && text[0] >= 0x81 && text[0] <= 0xfe && text[2] >= 0x81 && text[2] <= 0xfe &&
			text[3] >= 0x30 && text[3] <= 0x39
	}
	n, ok := double(text, 0x40)
	return n, ok && text[0] >= 0x81 && text[0] != 0xff && text[1] != 0x7f && text[1] != 0xff
}

// vendorJP reports whether a character is of the rows that vendors added to JIS X 0208.
func vendorJP(char []byte) bool { return char[0] >= 0xf9 }

// beyondGB2312 reports whether GBK has put a character where GB 2312 has none.
func beyondGB2312(char []byte) bool {
	switch char[0] {
	case 0xa2:
		return char[1] <= 0xaa || char[1] == 0xe3
	case 0xa6:
		return char[1] >= 0xe0
	case 0xa8:
		return char[1] >= 0xbb && char[1] <= 0xc0
	}
	return false
}

// beyondGBK reports whether a character came to GBK with GB 18030.
func beyondGBK(char []byte) bool {
	return char[0] == 0x80 || char[0] == 0xfe && char[1] >= 0x50
}

// hongKong reports whether a character is of Big5's extension for Hong Kong.
func hongKong(char []byte) bool {
	return char[0] < 0xa1 || char[0] > 0xf9 || char[0] == 0xa3 && char[1] >= 0xc0
}
