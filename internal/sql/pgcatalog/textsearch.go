package pgcatalog

import (
	"github.com/lichendb/lichen/internal/sql/types"
)

// The oids of what text search is made of: those of PostgreSQL where they are fixed.
const (
	oidPgTSDict     = 3600
	oidPgTSParser   = 3601
	oidPgTSConfig   = 3602
	oidPgTSTemplate = 3764

	oidDefaultParser    = 3722
	oidSimpleDict       = 3765
	oidEnglishDict      = 13163
	oidSimpleTemplate   = 3727
	oidSnowballTemplate = 13150
)

// textSearchParts are the functions of the parser and of the templates of dictionaries.
var textSearchParts = [...]uint32{3717, 3718, 3719, 3720, 3721, 3725, 3726, 13148, 13149}

// textSearchComments describe text search.
var textSearchComments = []comment{
	{oidPgTSConfig, types.ConfigSimple, 0, "simple configuration"},
	{oidPgTSConfig, types.ConfigEnglish, 0, "configuration for english language"},
	{oidPgTSDict, oidSimpleDict, 0, "simple dictionary: just lower case and check for stopword"},
	{oidPgTSDict, oidEnglishDict, 0, "snowball stemmer for english language"},
	{oidPgTSParser, oidDefaultParser, 0, "default word parser"},
	{oidPgTSTemplate, oidSimpleTemplate, 0, "simple dictionary: just lower case and check for stopword"},
	{oidPgTSTemplate, oidSnowballTemplate, 0, "snowball stemmer"},
}

// pgTSConfig lists the configurations.
func pgTSConfig(_ *snapshot, w *writer) error {
	for _, oid := range [...]uint32{types.ConfigSimple, types.ConfigEnglish} {
		name, _ := types.ConfigName(int64(oid))
		w.oid("oid", oid)
		w.str("cfgname", name)
		w.oid("cfgnamespace", oidPgCatalog)
		w.oid("cfgowner", oidRoot)
		w.oid("cfgparser", oidDefaultParser)
		w.done()
	}
	return nil
}

// pgTSConfigMap lists the dictionaries of the kinds of tokens, by PostgreSQL's numbers:
// words without digits are English where the configuration is.
func pgTSConfigMap(_ *snapshot, w *writer) error {
	stemmed := map[int64]bool{1: true, 2: true, 10: true, 11: true, 16: true, 17: true}
	for _, cfg := range [...]uint32{types.ConfigSimple, types.ConfigEnglish} {
		for _, token := range [...]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18, 19, 20, 21, 22} {
			w.oid("mapcfg", cfg)
			w.num("maptokentype", token)
			w.num("mapseqno", 1)
			if w.oid("mapdict", oidSimpleDict); cfg == types.ConfigEnglish && stemmed[token] {
				w.oid("mapdict", oidEnglishDict)
			}
			w.done()
		}
	}
	return nil
}

// pgTSDict lists the dictionaries.
func pgTSDict(_ *snapshot, w *writer) error {
	row := func(oid uint32, name string, template uint32) {
		w.oid("oid", oid)
		w.str("dictname", name)
		w.oid("dictnamespace", oidPgCatalog)
		w.oid("dictowner", oidRoot)
		w.oid("dicttemplate", template)
	}
	row(oidSimpleDict, "simple", oidSimpleTemplate)
	w.done()
	row(oidEnglishDict, "english_stem", oidSnowballTemplate)
	w.str("dictinitoption", "language = 'english', stopwords = 'english'")
	w.done()
	return nil
}

// pgTSParser lists the one parser.
func pgTSParser(_ *snapshot, w *writer) error {
	w.oid("oid", oidDefaultParser)
	w.str("prsname", "default")
	w.oid("prsnamespace", oidPgCatalog)
	for i, c := range [...]string{"prsstart", "prstoken", "prsend", "prsheadline", "prslextype"} {
		w.oid(c, 3717+uint32(i))
	}
	w.done()
	return nil
}

// pgTSTemplate lists the templates of the dictionaries.
func pgTSTemplate(_ *snapshot, w *writer) error {
	row := func(oid uint32, name string, init uint32) {
		w.oid("oid", oid)
		w.str("tmplname", name)
		w.oid("tmplnamespace", oidPgCatalog)
		w.oid("tmplinit", init)
		w.oid("tmpllexize", init+1)
		w.done()
	}
	row(oidSimpleTemplate, "simple", 3725)
	row(oidSnowballTemplate, "snowball", 13148)
	return nil
}
