package builtin

import (
	_ "embed" // for extoids.txt
	"slices"
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// The oids from FirstExtensionOid to LastExtensionOid are those of what extensions bring; those that were here before
// extensions were told apart have own ones.
const (
	FirstExtensionOid = 15000
	LastExtensionOid  = 15899
)

// extensionOidLines gives each function and operator of an extension its oid, as ownOidLines does.
//
//go:embed extoids.txt
var extensionOidLines string

var extensionOids = sync.OnceValue(func() map[string]uint32 { return bySignature(extensionOidLines) })

// extensionName is the key of extensions' functions in the maps of the registry, where no name leads to them.
func extensionName(name string) string { return "extension\x00" + name }

// ExtensionFunctions returns the overloads of a function that extensions bring.
func ExtensionFunctions(name string) []*call.Overload {
	return builtins().functions[extensionName(name)]
}

// ExtensionOperators returns the prefix (unary) or binary operators of a name that extensions bring.
func ExtensionOperators(name string, unary bool) []*call.Overload {
	name = extensionName(canonicalOperator(name))
	if unary {
		return builtins().prefix[name]
	}
	return builtins().binary[name]
}

// ExtensionAggregates returns the overloads of an aggregate that extensions bring.
func ExtensionAggregates(name string) []*call.Aggregate {
	var as []*call.Aggregate
	for _, o := range builtins().aggregates[extensionName(name)] {
		as = append(as, o.Agg)
	}
	return as
}

// OfExtension returns the functions, operators and aggregates that an extension brings.
func OfExtension(extension string) []*call.Overload { return builtins().extensions[extension] }

// separate takes what extensions bring out of what every database has.
func (r *registry) separate() {
	for _, o := range r.all {
		if o.Extension == "" {
			o.Extension = extensionOf(o)
		}
		if o.Extension != "" {
			r.extensions[o.Extension] = append(r.extensions[o.Extension], o)
		}
	}
	r.all = slices.DeleteFunc(r.all, ofExtension)
	for _, m := range []map[string][]*call.Overload{r.functions, r.binary, r.prefix} {
		separate(m)
	}
	for _, a := range r.allAggs {
		if a.Extension = extensionOf(&a.Overload); a.Extension != "" {
			r.extensions[a.Extension] = append(r.extensions[a.Extension], &a.Overload)
		}
	}
	r.allAggs = slices.DeleteFunc(r.allAggs, func(a *call.Aggregate) bool { return a.Extension != "" })
	separate(r.aggregates)
}

func ofExtension(o *call.Overload) bool { return o.Extension != "" }

func separate(m map[string][]*call.Overload) {
	brought := map[string][]*call.Overload{}
	for name, list := range m {
		for _, o := range list {
			if ofExtension(o) {
				brought[extensionName(name)] = append(brought[extensionName(name)], o)
			}
		}
		if m[name] = slices.DeleteFunc(list, ofExtension); len(m[name]) == 0 {
			delete(m, name)
		}
	}
	for name, list := range brought {
		m[name] = list
	}
}

// extensionOf returns the extension of what does not say it: that of a type of the signature, or of the name.
func extensionOf(o *call.Overload) string {
	for _, t := range o.Args {
		if x := t.Extension(); x != "" {
			return x
		}
	}
	switch o.Name {
	case "digest", "hmac", "gen_random_bytes":
		return "pgcrypto"
	case "similarity", "show_trgm", "show_limit", "set_limit", "similarity_op", "similarity_dist":
		return "pg_trgm"
	case "uuid_nil":
		return "uuid-ossp"
	}
	word := strings.HasPrefix(o.Name, "word_similarity") || strings.HasPrefix(o.Name, "strict_word_similarity")
	switch {
	case strings.HasPrefix(o.Name, "uuid_generate_v") || strings.HasPrefix(o.Name, "uuid_ns_"):
		return "uuid-ossp"
	case word || o.Operator && o.Oid >= FirstOwnOid && o.Oid <= LastOwnOid:
		return "pg_trgm"
	}
	return ""
}
