package textsearch

import "strings"

// stopWords are the words that English queries and documents do without.
const stopWords = " i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers" +
	" herself it its itself they them their theirs themselves what which who whom this that these those am is are was were be" +
	" been being have has had having do does did doing a an the and but if or because as until while of at by for with about" +
	" against between into through during before after above below to from up down in out on off over under again further" +
	" then once here there when where why how all any both each few more most other some such no nor not only own same so" +
	" than too very s t can will just don should now "

func isStopWord(w string) bool { return strings.Contains(stopWords, " "+w+" ") }

// specialStems are the words whose stem the rules would get wrong.
var specialStems = map[string]string{
	"skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie",
	"idly": "idl", "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl",
	"sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}

// finalStems are words that are done after step 1a.
var finalStems = map[string]bool{
	"inning": true, "outing": true, "canning": true, "herring": true, "earring": true,
	"proceed": true, "exceed": true, "succeed": true,
}

// stemmer is a word under the rules of the English (Porter2) stemmer. A y that
// is a consonant is written Y meanwhile; r1 and r2 are where the regions begin.
type stemmer struct {
	b      []byte
	r1, r2 int
}

// StemEnglish returns the stem of a word in lower case, by the published
// Porter2 algorithm.
func StemEnglish(w string) string {
	if s, ok := specialStems[w]; ok {
		return s
	}
	if len(w) < 3 || !hasVowel(w) && len(w) < 3 {
		return w
	}
	s := &stemmer{b: []byte(strings.TrimPrefix(w, "'"))}
	s.markY()
	s.regions()
	s.step0()
	s.step1a()
	if finalStems[string(s.b)] {
		return string(s.b)
	}
	s.step1b()
	s.step1c()
	s.step2()
	s.step3()
	s.step4()
	s.step5()
	return strings.ReplaceAll(string(s.b), "Y", "y")
}

func hasVowel(w string) bool { return strings.ContainsAny(w, "aeiouy") }

func isVowel(c byte) bool { return strings.IndexByte("aeiouy", c) >= 0 }

// markY writes a y at the beginning or after a vowel as Y.
func (s *stemmer) markY() {
	for i := range s.b {
		if s.b[i] == 'y' && (i == 0 || isVowel(s.b[i-1])) {
			s.b[i] = 'Y'
		}
	}
}

// region returns where the text after the first consonant that follows a vowel
// begins, from i on.
func (s *stemmer) region(i int) int {
	for ; i < len(s.b); i++ {
		if isVowel(s.b[i]) {
			break
		}
	}
	for ; i < len(s.b); i++ {
		if !isVowel(s.b[i]) {
			return i + 1
		}
	}
	return len(s.b)
}

func (s *stemmer) regions() {
	w := string(s.b)
	switch {
	case strings.HasPrefix(w, "gener"), strings.HasPrefix(w, "arsen"):
		s.r1 = 5
	case strings.HasPrefix(w, "commun"):
		s.r1 = 6
	default:
		s.r1 = s.region(0)
	}
	s.r2 = s.region(s.r1)
}

func (s *stemmer) ends(suffix string) bool { return strings.HasSuffix(string(s.b), suffix) }

// in reports whether a suffix of n bytes lies in the region from r on.
func (s *stemmer) in(r, n int) bool { return len(s.b)-n >= r }

func (s *stemmer) cut(n int, add string) { s.b = append(s.b[:len(s.b)-n], add...) }

// longest returns the longest of the suffixes that the word ends with.
func (s *stemmer) longest(suffixes ...string) string {
	best := ""
	for _, x := range suffixes {
		if len(x) > len(best) && s.ends(x) {
			best = x
		}
	}
	return best
}

// vowelBefore reports whether there is a vowel before position n.
func (s *stemmer) vowelBefore(n int) bool {
	for i := 0; i < n; i++ {
		if isVowel(s.b[i]) {
			return true
		}
	}
	return false
}

func (s *stemmer) step0() {
	if x := s.longest("'", "'s", "'s'"); x != "" {
		s.cut(len(x), "")
	}
}

func (s *stemmer) step1a() {
	switch x := s.longest("sses", "ied", "ies", "us", "ss", "s"); x {
	case "sses":
		s.cut(2, "")
	case "ied", "ies":
		if len(s.b) > 4 {
			s.cut(2, "")
		} else {
			s.cut(1, "")
		}
	case "s":
		if len(s.b) >= 2 && s.vowelBefore(len(s.b)-2) {
			s.cut(1, "")
		}
	}
}

func (s *stemmer) step1b() {
	x := s.longest("eed", "eedly", "ed", "edly", "ing", "ingly")
	switch x {
	case "":
		return
	case "eed", "eedly":
		if s.in(s.r1, len(x)) {
			s.cut(len(x), "ee")
		}
		return
	}
	if !s.vowelBefore(len(s.b) - len(x)) {
		return
	}
	s.cut(len(x), "")
	switch {
	case s.longest("at", "bl", "iz") != "":
		s.b = append(s.b, 'e')
	case s.longest("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt") != "":
		s.cut(1, "")
	case s.r1 >= len(s.b) && s.shortSyllable():
		s.b = append(s.b, 'e')
	}
}

// shortSyllable reports whether the word ends in a short syllable.
func (s *stemmer) shortSyllable() bool {
	n := len(s.b)
	if n == 2 {
		return isVowel(s.b[0]) && !isVowel(s.b[1])
	}
	return n > 2 && !isVowel(s.b[n-3]) && isVowel(s.b[n-2]) && !isVowel(s.b[n-1]) && strings.IndexByte("wxY", s.b[n-1]) < 0
}

func (s *stemmer) step1c() {
	n := len(s.b)
	if n > 2 && (s.b[n-1] == 'y' || s.b[n-1] == 'Y') && !isVowel(s.b[n-2]) {
		s.b[n-1] = 'i'
	}
}

var step2Suffixes = map[string]string{
	"tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent",
	"izer": "ize", "ization": "ize", "ational": "ate", "ation": "ate", "ator": "ate",
	"alism": "al", "aliti": "al", "alli": "al", "fulness": "ful", "ousli": "ous", "ousness": "ous",
	"iveness": "ive", "iviti": "ive", "biliti": "ble", "bli": "ble", "fulli": "ful", "lessli": "less",
	"ogi": "og", "li": "",
}

// replace applies the longest suffix of a table if it lies in the region r.
func (s *stemmer) replace(table map[string]string, r int, allowed func(suffix string) bool) {
	best := ""
	for x := range table {
		if len(x) > len(best) && s.ends(x) {
			best = x
		}
	}
	if best != "" && s.in(r, len(best)) && (allowed == nil || allowed(best)) {
		s.cut(len(best), table[best])
	}
}

func (s *stemmer) step2() {
	s.replace(step2Suffixes, s.r1, func(x string) bool {
		before := byte(0)
		if i := len(s.b) - len(x) - 1; i >= 0 {
			before = s.b[i]
		}
		switch x {
		case "ogi":
			return before == 'l'
		case "li":
			return strings.IndexByte("cdeghkmnrt", before) >= 0
		}
		return true
	})
}

var step3Suffixes = map[string]string{
	"tional": "tion", "ational": "ate", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic",
	"ful": "", "ness": "", "ative": "",
}

func (s *stemmer) step3() {
	s.replace(step3Suffixes, s.r1, func(x string) bool { return x != "ative" || s.in(s.r2, len(x)) })
}

var step4Suffixes = map[string]string{
	"al": "", "ance": "", "ence": "", "er": "", "ic": "", "able": "", "ible": "", "ant": "", "ement": "", "ment": "", "ent": "",
	"ism": "", "ate": "", "iti": "", "ous": "", "ive": "", "ize": "", "ion": "",
}

func (s *stemmer) step4() {
	s.replace(step4Suffixes, s.r2, func(x string) bool {
		if x != "ion" {
			return true
		}
		i := len(s.b) - 4
		return i >= 0 && (s.b[i] == 's' || s.b[i] == 't')
	})
}

func (s *stemmer) step5() {
	n := len(s.b)
	if n == 0 {
		return
	}
	switch s.b[n-1] {
	case 'e':
		if s.in(s.r2, 1) {
			s.cut(1, "")
			return
		}
		if s.in(s.r1, 1) {
			s.b = s.b[:n-1]
			if s.shortSyllable() {
				s.b = append(s.b, 'e')
			}
		}
	case 'l':
		if s.in(s.r2, 1) && n > 1 && s.b[n-2] == 'l' {
			s.cut(1, "")
		}
	}
}
