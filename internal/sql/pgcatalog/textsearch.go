package pgcatalog

import (
	"sync"

	"github.com/lichendb/lichen/internal/sql/textsearch"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The oids of what text search is made of: those of PostgreSQL where they are fixed.
const (
	oidPgTSDict     = 3600
	oidPgTSParser   = 3601
	oidPgTSConfig   = 3602
	oidPgTSTemplate = 3764

	oidDefaultParser    = 3722
	oidSimpleTemplate   = 3727
	oidSnowballTemplate = 13150
)

// textSearchParts are the functions of the parser and of the templates of dictionaries.
var textSearchParts = [...]uint32{3717, 3718, 3719, 3720, 3721, 3725, 3726, 13148, 13149}

// textSearchComments returns what describes text search.
var textSearchComments = sync.OnceValue(func() []comment {
	all := []comment{
		{oidPgTSParser, oidDefaultParser, 0, "default word parser"},
		{oidPgTSTemplate, oidSimpleTemplate, 0, "simple dictionary: just lower case and check for stopword"},
		{oidPgTSTemplate, oidSnowballTemplate, 0, "snowball stemmer"},
	}
	for c := range textsearch.Configs() {
		config, dict := "configuration for "+c.String()+" language", "snowball stemmer for "+c.String()+" language"
		if c == textsearch.Simple {
			config, dict = "simple configuration", "simple dictionary: just lower case and check for stopword"
		}
		all = append(all, comment{oidPgTSConfig, uint32(types.ConfigOid(c)), 0, config}, comment{oidPgTSDict, uint32(types.DictOid(c)), 0, dict})
	}
	return all
})

// pgTSConfig lists the configurations.
func pgTSConfig(_ *snapshot, w *writer) error {
	for c := range textsearch.Configs() {
		w.oid("oid", uint32(types.ConfigOid(c)))
		w.str("cfgname", c.String())
		w.oid("cfgnamespace", oidPgCatalog)
		w.oid("cfgowner", oidRoot)
		w.oid("cfgparser", oidDefaultParser)
		w.done()
	}
	return nil
}

// pgTSConfigMap lists the dictionaries of the kinds of tokens, by PostgreSQL's numbers.
func pgTSConfigMap(_ *snapshot, w *writer) error {
	for c := range textsearch.Configs() {
		for kind := range len(textsearch.TokenKinds) {
			dict, ok := c.Dictionary(kind + 1)
			if !ok {
				continue
			}
			w.oid("mapcfg", uint32(types.ConfigOid(c)))
			w.num("maptokentype", int64(kind+1))
			w.num("mapseqno", 1)
			w.oid("mapdict", uint32(types.DictOid(dict)))
			w.done()
		}
	}
	return nil
}

// pgTSDict lists the dictionaries.
func pgTSDict(_ *snapshot, w *writer) error {
	for c := range textsearch.Configs() {
		w.oid("oid", uint32(types.DictOid(c)))
		w.str("dictname", types.DictName(c))
		w.oid("dictnamespace", oidPgCatalog)
		w.oid("dictowner", oidRoot)
		if w.oid("dicttemplate", oidSimpleTemplate); c != textsearch.Simple {
			w.oid("dicttemplate", oidSnowballTemplate)
			w.str("dictinitoption", snowballOptions(c))
		}
		w.done()
	}
	return nil
}

// snowballOptions are the options of the stemmer of a configuration's language.
func snowballOptions(c textsearch.Config) string {
	options := "language = '" + c.String() + "'"
	if c.HasStopWords() {
		options += ", stopwords = '" + c.String() + "'"
	}
	return options
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
