package main

import (
	"regexp"
	"slices"
)

// knownDifference is one that docs/differences.md explains: a line of a dump, or an error of
// restoring one.
type knownDifference struct {
	name string
	text *regexp.Regexp
}

func knownAs(name, text string) knownDifference {
	return knownDifference{name, regexp.MustCompile(text)}
}

// knownDifferences has an entry per entry of docs/differences.md.
var knownDifferences = []knownDifference{
	knownAs("lists of varchar constants are printed otherwise once they were read back", `(ANY|ALL) \(+ARRAY\[\(?'.*'::character varying`),
	knownAs("views are printed otherwise once they were read back", `IS DISTINCT FROM .*\) OR |percentile_disc\(+ARRAY\[|^ +'x'::text( AS text)?\)\) AS c\d+,?$|SELECT 'a'::text( AS text)?\)\) AS c7,$|(GROUP|ORDER) BY t\.id, (t\.(id|a), .*)?\(+t\.a\)::text \|\| t\.tt`),
	knownAs("columns that a function in ROWS FROM declares", `FROM (ROWS FROM\()?jsonb_to_recordset\(.*\) r\(x0`),
	knownAs("CYCLE with values", `\) CYCLE id SET c TO `),
	knownAs("negative zeros as INSERTs", `^\S.*\t-?0(\t|$)`),
	knownAs("NULL in a field that was added with a NOT NULL domain", `domain \S+ does not allow null values`),
	knownAs("privileges of a schema public that was made anew", `REVOKE is not supported`),
	knownAs("rows that break a foreign key whose triggers were off", `"[cd]_p_fkey"\nDETAIL:  Key \(p\)=\(1\) is not present`),
	knownAs("rows that break a check of whole rows since they have another column", `"r_check"\nDETAIL:  Failing row contains \(1, null\)`),
	knownAs("a sequence that was renamed to the name of a type", `type "i3" already exists`),
	knownAs("dumps with what only Lichen has", `function (unique_rowid|collation_key|uuid_nil)\(.* does not exist|operator class "(hash|gin_trgm_ops)" does not exist|relation "primary" already exists|unrecognized parameter "ttl"|role "root" does not exist\nCONTEXT:  COPY`),
}

// isKnown reports whether a text is a known difference, which it counts.
func isKnown(text string, count map[string]int) bool {
	for _, k := range knownDifferences {
		if k.text.MatchString(text) {
			count[k.name]++
			return true
		}
	}
	return false
}

// unknown leaves out the known differences.
func unknown(list []difference, count map[string]int) []difference {
	return slices.DeleteFunc(list, func(d difference) bool { return isKnown(d.line, count) })
}
