package collation

import (
	"sync"

	"golang.org/x/text/cases"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Version names the rules, as pg_collation.collversion: those of CLDR that x/text has.
const Version = "CLDR-" + collate.CLDRVersion

// maxRules bounds the locales whose rules are kept; a database has a handful.
const maxRules = 256

// Rules are those of a locale.
type Rules struct {
	tag language.Tag
	// backwards: accents count from the end of a text. whole: a character can change how much a
	// later one counts, so that texts are not cut.
	backwards, whole bool
	// sorters and the casers keep state while they work, so each goroutine has its own.
	sorters             sync.Pool
	upper, lower, title sync.Pool
}

// sorter is a collator with its buffer.
type sorter struct {
	c   *collate.Collator
	buf collate.Buffer
}

var rules = struct {
	sync.RWMutex
	m map[string]*Rules
}{m: map[string]*Rules{}}

// Of returns the rules of a locale; 22023 if it is not one.
func Of(locale string) (*Rules, error) {
	rules.RLock()
	r := rules.m[locale]
	rules.RUnlock()
	if r != nil {
		return r, nil
	}
	if locale == "C" {
		return ascii, nil
	}
	tag, err := language.Parse(locale)
	if err != nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "\"%s\" is not a locale: %v", locale, err).
			WithHint("Write a language tag such as de, sv-SE or und-u-ks-level2.")
	}
	if err := supported(locale, tag); err != nil {
		return nil, err
	}
	r = newRules(tag)
	rules.Lock()
	defer rules.Unlock()
	if len(rules.m) < maxRules {
		rules.m[locale] = r
	}
	return r, nil
}

// alike are languages whose order x/text does not have, or does not find, and that of which it
// is: Bosnian and Serbian in Latin letters order as Croatian does.
var alike = map[string]language.Base{
	"nb": language.MustParseBase("nn"), "no": language.MustParseBase("nn"), "bs": language.MustParseBase("hr"),
	"sr-Latn": language.MustParseBase("hr"), "gl": language.MustParseBase("es"), "ceb": language.MustParseBase("fil"),
}

// ordered is the tag under which x/text has the order of a language.
func ordered(tag language.Tag) language.Tag {
	base, script, region := tag.Raw()
	name := base.String()
	switch script.String() {
	case "Zzzz":
	case "Latn":
		if name == "sr" {
			name += "-Latn"
		}
	default:
		return tag
	}
	if to, ok := alike[name]; ok {
		if t, err := language.Compose(to, region, tag.Extensions()); err == nil {
			return t
		}
	}
	return tag
}

// french are the locales that compare accents from the end of words, which x/text does only
// when told.
var french = map[string]bool{"fr-CA": true}

func newRules(tag language.Tag) *Rules {
	if b, _, r := tag.Raw(); french[b.String()+"-"+r.String()] && tag.TypeForKey("kb") == "" {
		if t, err := tag.SetTypeForKey("kb", "true"); err == nil {
			tag = t
		}
	}
	order := ordered(tag)
	return &Rules{
		tag:       tag,
		backwards: order.TypeForKey("kb") == "true",
		whole:     isOn(tag, "ka") && tag.TypeForKey("ka") != "noignore",
		sorters:   sync.Pool{New: func() any { return &sorter{c: collate.New(order, collate.OptionsFromTag(order))} }},
		upper:     sync.Pool{New: func() any { return &caser{c: cases.Upper(tag)} }},
		lower:     sync.Pool{New: func() any { return &caser{c: cases.Lower(tag)} }},
		title:     sync.Pool{New: func() any { return &caser{c: cases.Title(tag)} }},
	}
}

// isOn reports whether an attribute of a tag has another value than no.
func isOn(tag language.Tag, key string) bool {
	v := tag.TypeForKey(key)
	return v != "" && v != "false" && v != "no"
}

// unsupported are the attributes of a tag that change orders and that x/text does not know:
// which case comes first, whole scripts before others, and what is variable.
var unsupported = []string{"kf", "kr", "kv", "kh"}

// supported refuses what would be a wrong order.
func supported(locale string, tag language.Tag) error {
	for _, key := range unsupported {
		if isOn(tag, key) {
			return pgerr.Unsupported("the attribute %s of the collation locale \"%s\" is not supported", key, locale)
		}
	}
	return nil
}

// Key appends to dst what s sorts by. With ties set strings that the locale takes for
// equal follow each other in the order of their bytes.
func (r *Rules) Key(dst []byte, s string, ties bool) []byte {
	if r == ascii {
		return append(dst, s...)
	}
	so := r.sorters.Get().(*sorter)
	defer r.sorters.Put(so)
	key := so.key(s)
	if !ties {
		return append(dst, key...)
	}
	return breakTies(dst, key, s)
}

// breakTies appends to dst a key that orders texts of the same weights by their bytes.
func breakTies(dst, key []byte, s string) []byte {
	// The key ends before anything that it could go on with: zeros are escaped.
	for _, c := range key {
		if dst = append(dst, c); c == 0 {
			dst = append(dst, 0xff)
		}
	}
	dst = append(dst, 0, 1)
	return append(dst, s...)
}
