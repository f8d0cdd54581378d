package textsearch

import "strings"

// TokenKinds are the names and descriptions of the kinds of tokens of PostgreSQL's default
// parser, in the order of their numbers, which begin with 1.
var TokenKinds = [...][2]string{
	{"asciiword", "Word, all ASCII"},
	{"word", "Word, all letters"},
	{"numword", "Word, letters and digits"},
	{"email", "Email address"},
	{"url", "URL"},
	{"host", "Host"},
	{"sfloat", "Scientific notation"},
	{"version", "Version number"},
	{"hword_numpart", "Hyphenated word part, letters and digits"},
	{"hword_part", "Hyphenated word part, all letters"},
	{"hword_asciipart", "Hyphenated word part, all ASCII"},
	{"blank", "Space symbols"},
	{"tag", "XML tag"},
	{"protocol", "Protocol head"},
	{"numhword", "Hyphenated word, letters and digits"},
	{"asciihword", "Hyphenated word, all ASCII"},
	{"hword", "Hyphenated word, all letters"},
	{"url_path", "URL path"},
	{"file", "File or path name"},
	{"float", "Decimal notation"},
	{"int", "Signed integer"},
	{"uint", "Unsigned integer"},
	{"entity", "XML entity"},
}

// Lexize returns what the configuration's dictionary of words makes of one: nothing of a
// stop word.
func (c Config) Lexize(word string) []string {
	w := strings.ToLower(word)
	switch {
	case c == Simple:
		return []string{w}
	case c.isStopWord(w):
		return nil
	}
	return []string{c.stem(w)}
}

// Dictionary returns the configuration whose words the dictionary of a kind of tokens, by its
// number, is for; tokens of some kinds are passed over.
func (c Config) Dictionary(kind int) (Config, bool) {
	switch kind {
	case numBlank, numTag, numProtocol, numEntity:
		return 0, false
	case numASCIIWord, numASCIIHWord, numASCIIPart:
		if ascii := languages[c].ascii; ascii != 0 {
			return ascii, true
		}
		return c, true
	case numWord, numHWord, numPart:
		return c, true
	}
	return Simple, true
}
