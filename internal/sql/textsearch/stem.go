package textsearch

import (
	_ "embed" // the lists of stop words
	"strings"
	"sync"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// maxStemmed is the length, in bytes, of the longest word that is stemmed: a longer one is no
// word of any language, and stemmers take quadratic time.
const maxStemmed = 1000

// language is what a configuration knows of its language.
type language struct {
	stem func(*snowballstem.Env) bool
	// stopWords returns the words that documents and queries do without, nil if the language
	// has no list.
	stopWords func() map[string]bool
	ascii     Config // whose stemmer takes words in ASCII, if not its own
}

// languages holds the languages by their configurations. Those that PostgreSQL has beyond these
// have no stemmer in the library.
var languages = [configs]language{
	Arabic:     {stem: arabic.Stem},
	Danish:     {stem: danish.Stem, stopWords: wordSet(&danishStops)},
	Dutch:      {stem: dutch.Stem, stopWords: wordSet(&dutchStops)},
	English:    {stem: english.Stem, stopWords: wordSet(&englishStops)},
	Finnish:    {stem: finnish.Stem, stopWords: wordSet(&finnishStops)},
	French:     {stem: french.Stem, stopWords: wordSet(&frenchStops)},
	German:     {stem: german.Stem, stopWords: wordSet(&germanStops)},
	Hungarian:  {stem: hungarian.Stem, stopWords: wordSet(&hungarianStops)},
	Irish:      {stem: irish.Stem},
	Italian:    {stem: italian.Stem, stopWords: wordSet(&italianStops)},
	Norwegian:  {stem: norwegian.Stem, stopWords: wordSet(&norwegianStops)},
	Portuguese: {stem: portuguese.Stem, stopWords: wordSet(&portugueseStops)},
	Romanian:   {stem: romanian.Stem},
	Russian:    {stem: stemRussian, stopWords: wordSet(&russianStops), ascii: English},
	Spanish:    {stem: spanish.Stem, stopWords: wordSet(&spanishStops)},
	Swedish:    {stem: swedish.Stem, stopWords: wordSet(&swedishStops)},
	Tamil:      {stem: tamil.Stem},
	Turkish:    {stem: turkish.Stem, stopWords: wordSet(&turkishStops)},
}

// The stop words of the Snowball project, separated by spaces.
var (
	//go:embed stopwords/danish.txt
	danishStops string
	//go:embed stopwords/dutch.txt
	dutchStops string
	//go:embed stopwords/english.txt
	englishStops string
	//go:embed stopwords/finnish.txt
	finnishStops string
	//go:embed stopwords/french.txt
	frenchStops string
	//go:embed stopwords/german.txt
	germanStops string
	//go:embed stopwords/hungarian.txt
	hungarianStops string
	//go:embed stopwords/italian.txt
	italianStops string
	//go:embed stopwords/norwegian.txt
	norwegianStops string
	//go:embed stopwords/portuguese.txt
	portugueseStops string
	//go:embed stopwords/russian.txt
	russianStops string
	//go:embed stopwords/spanish.txt
	spanishStops string
	//go:embed stopwords/swedish.txt
	swedishStops string
	//go:embed stopwords/turkish.txt
	turkishStops string
)

// wordSet returns a function that makes a set of the words of a text when it is called first.
func wordSet(text *string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.Fields(*text) {
			set[w] = true
		}
		return set
	})
}

// stemRussian takes ё for е, as later versions of the Russian algorithm do.
func stemRussian(env *snowballstem.Env) bool {
	if w := env.Current(); strings.Contains(w, "ё") {
		env.SetCurrent(strings.ReplaceAll(w, "ё", "е"))
	}
	return russian.Stem(env)
}

// isStopWord reports whether a word in lower case is a stop word of the configuration's language.
func (c Config) isStopWord(w string) bool {
	words := languages[c].stopWords
	return words != nil && words()[w]
}

// stem returns the stem of a word in lower case.
func (c Config) stem(w string) string {
	if len(w) > maxStemmed {
		return w
	}
	env := snowballstem.NewEnv(w)
	languages[c].stem(env)
	return env.Current()
}
