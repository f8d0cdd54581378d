package builtin

import (
	"cmp"
	_ "embed" // for oids.txt and ownoids.txt
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/builtin/accentfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/aggfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/arrayfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/catalogfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/citextfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/crosstabfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/datefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/formatfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/fuzzyfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/geofuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/hstorefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/intarrayfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/jsonfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/ltreefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/netfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/rangefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/searchfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/sessionfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/statementfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/stringfuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/typefuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The oids from FirstOwnOid to LastOwnOid are those of functions that PostgreSQL lacks; what users
// make has later ones.
const (
	FirstOwnOid = 16000
	LastOwnOid  = 16383
)

// registry holds every overload by name; it is immutable once built.
type registry struct {
	functions  map[string][]*call.Overload
	binary     map[string][]*call.Overload
	prefix     map[string][]*call.Overload
	aggregates map[string][]*call.Overload
	all        []*call.Overload // functions and operators, in declaration order
	allAggs    []*call.Aggregate
	codes      map[string]*call.Overload // function behind the operator of a key

	extensions map[string][]*call.Overload // what each extension brings
}

var builtins = sync.OnceValue(buildRegistry)

// Functions returns the overloads of a scalar or set-returning function; name
// is in lower case, without a schema.
func Functions(name string) []*call.Overload { return builtins().functions[name] }

// Operators returns the prefix (unary) or binary operators of a name.
func Operators(name string, unary bool) []*call.Overload {
	if unary {
		return builtins().prefix[canonicalOperator(name)]
	}
	return builtins().binary[canonicalOperator(name)]
}

// Aggregates returns the overloads of an aggregate.
func Aggregates(name string) []*call.Aggregate {
	var as []*call.Aggregate
	for _, o := range builtins().aggregates[name] {
		as = append(as, o.Agg)
	}
	return as
}

func aggregateOverloads(name string) []*call.Overload { return builtins().aggregates[name] }

// All returns every function and operator, for catalogs and tests.
func All() []*call.Overload { return builtins().all }

// AllAggregates returns every aggregate.
func AllAggregates() []*call.Aggregate { return builtins().allAggs }

// Names returns the names of all functions and aggregates, sorted.
func Names() []string {
	r := builtins()
	var names []string
	for n := range r.functions {
		names = append(names, n)
	}
	for n := range r.aggregates {
		if r.functions[n] == nil {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names
}

// MissingOperators returns the signatures of PostgreSQL's operators that the registry
// does not have, sorted.
func MissingOperators() []string {
	have := map[string]bool{}
	for _, o := range builtins().all {
		have[o.Key()] = true
	}
	var missing []string
	for _, line := range strings.Split(strings.TrimSpace(pgOids), "\n") {
		_, key, _ := strings.Cut(line, " ")
		if name, _, _ := strings.Cut(key, "("); strings.Trim(name, "+-*/<>=~!@#%^&|`?") == "" && !have[key] {
			missing = append(missing, key)
		}
	}
	sort.Strings(missing)
	return missing
}

// postgresFunctions are the names of PostgreSQL's functions.
var postgresFunctions = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(pgOids) {
		_, key, _ := strings.Cut(line, " ")
		name, _, _ := strings.Cut(key, "(")
		names[name] = true
	}
	return names
})

// postgresOnly reports whether PostgreSQL, or an extension of it that is known here, has a function of a
// name, and this system none.
func postgresOnly(name string) bool {
	return (postgresFunctions()[name] || missingCrypto[name]) && len(Functions(name)) == 0 && len(Aggregates(name)) == 0
}

// canonicalOperator maps the operator spellings that mean another.
func canonicalOperator(name string) string {
	if name == "!=" {
		return "<>"
	}
	return name
}

// declared returns what the packages of all subjects declare.
func declared() []*call.Overload {
	return slices.Concat(
		comparefuncs.Overloads(),
		numfuncs.Overloads(),
		stringfuncs.Overloads(),
		datefuncs.Overloads(),
		formatfuncs.Overloads(),
		arrayfuncs.Overloads(),
		rangefuncs.Overloads(),
		jsonfuncs.Overloads(),
		searchfuncs.Overloads(),
		netfuncs.Overloads(),
		geofuncs.Overloads(),
		sessionfuncs.Overloads(),
		catalogfuncs.Overloads(),
		typefuncs.Overloads(),
		conversionFunctions(),
		aggfuncs.Functions(),
		citextfuncs.Overloads(),
		hstorefuncs.Overloads(),
		fuzzyfuncs.Overloads(),
		accentfuncs.Overloads(),
		statementfuncs.Overloads(),
		ltreefuncs.Overloads(),
		intarrayfuncs.Overloads(),
		crosstabfuncs.Overloads(),
	)
}

func buildRegistry() *registry {
	r := &registry{
		functions:  map[string][]*call.Overload{},
		binary:     map[string][]*call.Overload{},
		prefix:     map[string][]*call.Overload{},
		aggregates: map[string][]*call.Overload{},
		codes:      map[string]*call.Overload{},
		extensions: map[string][]*call.Overload{},
	}
	r.add(declared())
	r.addAliases()
	for _, a := range aggfuncs.Aggregates() {
		r.addAggregate(a)
	}
	r.assignOids()
	r.restrict()
	r.separate()
	r.unlist()
	return r
}

func (r *registry) add(overloads []*call.Overload) {
	for _, o := range overloads {
		m := r.functions
		switch {
		case o.Operator && len(o.Args) == 1:
			m = r.prefix
		case o.Operator:
			m = r.binary
		}
		m[o.Name] = append(m[o.Name], o)
		r.all = append(r.all, o)
	}
}

func (r *registry) addAggregate(a *call.Aggregate) {
	r.aggregates[a.Name] = append(r.aggregates[a.Name], &a.Overload)
	r.allAggs = append(r.allAggs, a)
}

// pgOids lists the oids of what PostgreSQL has, too: "oid name(type,...)".
//
//go:embed oids.txt
var pgOids string

// ownOidLines gives each function and operator that PostgreSQL lacks its oid, in the same form. A
// line never changes: users' tables may hold the oid (regproc). A new function takes the oid
// behind the last, and nobody takes that of one that is gone.
//
//go:embed ownoids.txt
var ownOidLines string

var (
	postgresOids = sync.OnceValue(func() map[string]uint32 { return bySignature(pgOids) })
	ownOids      = sync.OnceValue(func() map[string]uint32 { return bySignature(ownOidLines) })
)

// bySignature reads lines "oid name(type,...)".
func bySignature(lines string) map[string]uint32 {
	oids := map[string]uint32{}
	for line := range strings.Lines(lines) {
		num, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		oid, err := strconv.ParseUint(num, 10, 32)
		must.NoError(err, "builtin: line %q of oids", line)
		oids[key] = uint32(oid)
	}
	return oids
}

// PostgresOid returns the oid that PostgreSQL gives a signature, 0 if it has none.
func PostgresOid(o *call.Overload) uint32 { return postgresOids()[o.Key()] }

// assignOids gives everything PostgreSQL's oid, and the functions that it lacks their own.
func (r *registry) assignOids() {
	assign := func(o *call.Overload) {
		if o.Oid = PostgresOid(o); o.Oid == 0 {
			o.Oid = cmp.Or(ownOids()[o.Key()], extensionOids()[o.Key()])
		}
		must.True(o.Oid != 0, "builtin: %s has an oid in none of oids.txt, ownoids.txt and extoids.txt", o.Key())
	}
	for _, o := range r.all {
		assign(o)
	}
	for _, a := range r.allAggs {
		assign(&a.Overload)
	}
}

// syntaxNames are functions here that PostgreSQL's grammar has.
var syntaxNames = []string{
	"current_catalog", "current_date", "current_role", "current_time", "current_timestamp", "localtime", "localtimestamp", "user",
}

// unlist marks what pg_proc does not list.
func (r *registry) unlist() {
	mark := func(o *call.Overload) {
		own := strings.HasPrefix(o.Name, "lichen_") || strings.HasPrefix(o.Name, "collation_")
		cast := len(o.Args) == 1 && o.Args[0].Is(types.Any) && o.Ret.Name == o.Name
		o.Unlisted = o.Oid >= FirstOwnOid && (own || cast || slices.Contains(syntaxNames, o.Name))
	}
	for _, o := range r.all {
		mark(o)
	}
	for _, a := range r.allAggs {
		mark(&a.Overload)
	}
}

// SchemaOf returns the schema that the functions of a name are in.
func SchemaOf(name string) string {
	if strings.HasPrefix(name, "_pg_") {
		return "information_schema"
	}
	return "pg_catalog"
}

// missingCrypto are the functions of pgcrypto that are not supported.
var missingCrypto = map[string]bool{
	"armor": true, "dearmor": true, "crypt": true, "gen_salt": true,
	"encrypt": true, "encrypt_iv": true, "decrypt": true, "decrypt_iv": true,
	"pgp_armor_headers": true, "pgp_key_id": true,
	"pgp_pub_decrypt": true, "pgp_pub_decrypt_bytea": true, "pgp_pub_encrypt": true, "pgp_pub_encrypt_bytea": true,
	"pgp_sym_decrypt": true, "pgp_sym_decrypt_bytea": true, "pgp_sym_encrypt": true, "pgp_sym_encrypt_bytea": true,
}

// WindowFunctionOid returns the oid of the window function of a name that takes so many arguments, 0 if PostgreSQL has none.
func WindowFunctionOid(name string, args int) uint32 {
	for key, oid := range postgresOids() {
		if rest, ok := strings.CutPrefix(key, name+"("); ok {
			if n := strings.Count(rest, ",") + 1; n == args || rest == ")" && args == 0 {
				return oid
			}
		}
	}
	return 0
}
