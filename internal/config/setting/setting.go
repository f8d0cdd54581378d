package setting

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/config/audit"
	"github.com/lichendb/lichen/internal/config/hba"
	"github.com/lichendb/lichen/internal/config/identmap"
	"github.com/lichendb/lichen/internal/config/jwt"
)

// Type is the type of a setting's value.
type Type string

// The types of settings.
const (
	Duration Type = "duration"
	Size     Type = "size" // bytes
	Int      Type = "integer"
	Float    Type = "float"
	Bool     Type = "boolean"
	Choice   Type = "choice"
	Rules    Type = "rules" // lines
)

// Setting is a cluster setting.
type Setting struct {
	Name string
	Type Type
	Doc  string
	// Bounds says which values are allowed, "" if all of the type.
	Bounds string

	set  func(*Values, string) error // checks and sets
	text func(*Values) string
}

// All returns all settings by name.
func All() []*Setting { return slices.Clone(all) }

// Find returns the setting of a name.
func Find(name string) (*Setting, bool) {
	i, ok := slices.BinarySearchFunc(all, name, func(s *Setting, n string) int { return strings.Compare(s.Name, n) })
	if !ok {
		return nil, false
	}
	return all[i], true
}

// Parse checks a value and returns the text in which it is stored and shown.
func (s *Setting) Parse(text string) (string, error) {
	v := Default()
	if err := s.set(&v, text); err != nil {
		return "", err
	}
	return s.text(&v), nil
}

// Text returns a value as it is shown.
func (s *Setting) Text(v *Values) string { return s.text(v) }

// all is sorted by name (TestOrder), and not changed.
var all = []*Setting{
	choice("kv.allocator.load_based_rebalancing", "whether replicas and leaders move to even out requests and writes, or only to even out their counts and disk use",
		func(v *Values) *string { return &v.LoadRebalance }, RebalanceOff, RebalanceAll),
	fraction("kv.allocator.max_disk_utilization_threshold", "the share of a disk above which it gets no replica at all, not even to repair a range",
		func(v *Values) *float64 { return &v.DiskRefuseAt }, 0.5, 1),
	fraction("kv.allocator.qps_rebalance_threshold", "how far the load of a node may lie from the mean, as a share of it, without anything moving",
		func(v *Values) *float64 { return &v.LoadBand }, 0.01, 10),
	fraction("kv.allocator.range_rebalance_threshold", "how far a node's count of replicas or of leaders may lie from the mean, as a share of it, without anything moving",
		func(v *Values) *float64 { return &v.CountBand }, 0.01, 10),
	fraction("kv.allocator.rebalance_to_max_disk_utilization_threshold", "the share of a disk above which it gets replicas only to repair a range",
		func(v *Values) *float64 { return &v.DiskFullAt }, 0.5, 1),
	boolean("kv.range_merge.queue.enabled", "whether small, cold neighbours are merged", func(v *Values) *bool { return &v.Merge }),
	duration("kv.range_merge.queue.interval", "the least time between two merges on a node",
		func(v *Values) *time.Duration { return &v.MergeInterval }, time.Millisecond, time.Hour),
	boolean("kv.range_split.by_load.enabled", "whether a range with many requests is split", func(v *Values) *bool { return &v.SplitByLoad }),
	number("kv.range_split.load_qps_threshold", "the requests per second above which a range is split; two neighbours with less than a quarter of it together may be merged",
		func(v *Values) *int64 { return &v.SplitQPS }, 100, math.MaxInt32),
	size("kv.snapshot_rebalance.max_rate", "how many bytes of snapshots a store sends per second, to repair as well as to even out",
		func(v *Values) *int64 { return &v.SnapshotRate }, 1<<20, 1<<40),
	boolean("server.console.sql_writes.enabled", "whether the SQL shell of the console may write, as far as its user may; without it every statement there is read-only",
		func(v *Values) *bool { return &v.ConsoleWrites }),
	rules("server.host_based_authentication.configuration", "who may log in how: lines as in PostgreSQL's pg_hba.conf, of which the first that fits decides; without any, encrypted clients with a certificate or a password. root can always log in with its certificate. Without effect on a cluster without certificates",
		func(text string) error { _, err := hba.Parse(text); return err }, func(v *Values) *string { return &v.HBA }),
	rules("server.identity_map.configuration", "the maps that rules of host-based authentication name by map=NAME: lines as in PostgreSQL's pg_ident.conf, of a map, the name in a certificate, or /REGULAR-EXPRESSION for it, and a role, with \\1 for what the first group has found",
		func(text string) error { _, err := identmap.Parse(text); return err }, func(v *Values) *string { return &v.IdentityMaps }),
	rules("server.jwt_authentication.audience", "whom tokens must be for (aud), for the method jwt of host-based authentication",
		anyText, func(v *Values) *string { return &v.JWTAudience }),
	rules("server.jwt_authentication.claim", "which claim of a token says who it is: a text, or a list of them as of groups; sub if it is empty",
		anyText, func(v *Values) *string { return &v.JWTClaim }),
	rules("server.jwt_authentication.issuer", "whose tokens let users in (iss), by the method jwt of host-based authentication: a client sends one in place of its password. Issuer, audience and jwks or jwks_url are all needed",
		anyText, func(v *Values) *string { return &v.JWTIssuer }),
	rules("server.jwt_authentication.jwks", "the issuer's public keys, a JSON Web Key Set; set it anew when the issuer changes them",
		jwt.CheckKeys, func(v *Values) *string { return &v.JWTKeys }),
	rules("server.jwt_authentication.jwks_url", "where the issuer shows its public keys: https://…, or http:// for this machine. Each node asks there when it needs a key, once in 30 seconds at most, and keeps what it got for 15 minutes, or for a day if nobody answers",
		anyURL, func(v *Values) *string { return &v.JWTKeysURL }),
	rules("server.jwt_authentication.map", "as which roles the bearers of tokens log in: lines of what the claim says, or /REGULAR-EXPRESSION for all of it, and a role, with \\1 for what the first group has found; without lines, as the role of that name. Never as root",
		jwt.CheckMap, func(v *Values) *string { return &v.JWTMap }),
	number("server.max_connections_per_gateway", "how many SQL sessions a node serves at once, as max_connections shows; those that there are stay when it is lowered",
		func(v *Values) *int64 { return &v.MaxConnections }, 1, MaxConnections),
	boolean("server.metrics.require_admin", "whether the metrics at /_status/vars are only for who shows the certificate of root; without effect on a cluster without certificates",
		func(v *Values) *bool { return &v.MetricsRequireAdmin }),
	rules("server.oidc_authentication.button_text", "what the login page of the console calls the login at the identity provider",
		anyText, func(v *Values) *string { return &v.OIDCButton }),
	rules("server.oidc_authentication.claim", "which claim of the provider's token says who it is; sub if it is empty",
		anyText, func(v *Values) *string { return &v.OIDCClaim }),
	rules("server.oidc_authentication.client_id", "what the provider calls the console. A client secret, if it has one, is in the file oidc.secret of each node's certificate directory",
		anyText, func(v *Values) *string { return &v.OIDCClient }),
	boolean("server.oidc_authentication.enabled", "whether users may log in to the console at an identity provider (OpenID Connect). Where there are rules of host-based authentication, the one for the user must have the method jwt. Needs certificates, provider_url, client_id and redirect_url",
		func(v *Values) *bool { return &v.OIDC }),
	rules("server.oidc_authentication.map", "as which roles users log in: lines of what the claim says, or /REGULAR-EXPRESSION for all of it, and a role, with \\1 for what the first group has found; the first line with a role that may log in counts. Without lines, as the role of that name. Never as root",
		jwt.CheckMap, func(v *Values) *string { return &v.OIDCMap }),
	rules("server.oidc_authentication.provider_url", "the provider's issuer, as its tokens name it; it describes itself at /.well-known/openid-configuration below it",
		anyURL, func(v *Values) *string { return &v.OIDCProvider }),
	rules("server.oidc_authentication.redirect_url", "where the provider sends browsers back to: the console's own address with /oidc/v1/callback behind it, as it is registered at the provider",
		anyURL, func(v *Values) *string { return &v.OIDCRedirect }),
	rules("server.oidc_authentication.scopes", "what the provider is asked to tell, between blanks; openid is always asked for",
		anyText, func(v *Values) *string { return &v.OIDCScopes }),
	duration("server.shutdown.initial_wait", "how long a node that drains goes on serving after /health?ready=1 has turned 503, so that load balancers notice; it does not wait if nobody has asked there for half a minute",
		func(v *Values) *time.Duration { return &v.DrainWait }, 0, 10*time.Minute),
	duration("server.shutdown.transactions.timeout", "how long a node that drains waits for open transactions before it cuts them off; --drain-wait says it for one node while this is not set",
		func(v *Values) *time.Duration { return &v.DrainTimeout }, 0, 10*time.Hour),
	duration("server.store.slow_sync_threshold", "how long a write to a store's log may take before its disk counts as slow, if most take longer: other stores then lead its ranges, unless more than half are slow; 0 means that none is",
		func(v *Values) *time.Duration { return &v.SlowSync }, 0, time.Minute),
	number("server.superuser_reserved_connections", "how many of a node's sessions are kept for operators, whose application_name begins with '$ lichen ', as that of lichen sql does; one session is left to others",
		func(v *Values) *int64 { return &v.ReservedConnections }, 0, MaxConnections),
	duration("server.time_until_store_dead", "how long a node may be silent before its replicas are rebuilt elsewhere; --time-until-store-dead says it for one node while this is not set",
		func(v *Values) *time.Duration { return &v.DeadAfter }, 2*time.Second, 720*time.Hour),
	rules("server.traces.otlp.endpoint", "where each node sends traces of statements: the URL of a collector of OpenTelemetry that takes OTLP over HTTP in protobuf, as in http://127.0.0.1:4318/v1/traces; nowhere if it is empty. They tell fingerprints of statements, databases and times, but no constants and no values. Headers that the collector asks for come from the environment of the node: OTEL_EXPORTER_OTLP_HEADERS",
		checkEndpoint, func(v *Values) *string { return &v.TraceEndpoint }),
	fraction("server.traces.otlp.sample_rate", "the share of statements whose traces are sent, if server.traces.otlp.endpoint says where: 0.01 is one in a hundred",
		func(v *Values) *float64 { return &v.TraceShare }, 0, 1),
	choice("sql.defaults.datestyle", "DateStyle of new sessions", func(v *Values) *string { return &v.DateStyle },
		"ISO, MDY", "ISO, DMY", "ISO, YMD", "SQL, MDY", "SQL, DMY", "SQL, YMD",
		"Postgres, MDY", "Postgres, DMY", "Postgres, YMD", "German, DMY"),
	oneOf("sql.defaults.default_int_size", "default_int_size of new sessions: the bytes of a column declared INT",
		func(v *Values) *int64 { return &v.IntSize }, 4, 8),
	duration("sql.defaults.idle_in_session_timeout", "idle_session_timeout of new sessions; 0 means none",
		func(v *Values) *time.Duration { return &v.IdleTimeout }, 0, maxTimeout),
	duration("sql.defaults.idle_in_transaction_session_timeout", "idle_in_transaction_session_timeout of new sessions; 0 means none",
		func(v *Values) *time.Duration { return &v.IdleInTxnTimeout }, 0, maxTimeout),
	choice("sql.defaults.intervalstyle", "IntervalStyle of new sessions", func(v *Values) *string { return &v.IntervalStyle },
		"postgres", "postgres_verbose", "sql_standard", "iso_8601"),
	duration("sql.defaults.statement_timeout", "statement_timeout of new sessions; 0 means none",
		func(v *Values) *time.Duration { return &v.StatementTimeout }, 0, maxTimeout),
	rules("sql.log.user_audit", "what the audit log of each node tells (logs/lichen-audit.log beside its first store): lines of a role, relations and actions, such as +staff bank.public.* read,write, of which the first that fits role and relation decides. A role is all, a name, or + and a role that it is a member of; relations are all, or a name with its schema and database before it, * for any; actions are read, write, ddl, role, denied (attempts that lack a privilege, and logins that are refused), all or none",
		func(text string) error { _, err := audit.Parse(text); return err }, func(v *Values) *string { return &v.AuditRules }),
	boolean("sql.log.user_audit.constants", "whether the audit log shows the constants of statements, but passwords; else _ stands for each",
		func(v *Values) *bool { return &v.AuditConstants }),
	duration("sql.statements.reservation.max_duration", "how long at most a statement that others keep from committing has them wait before they begin to write in the tables where it failed, each time that it is run again; 0: they don't wait, and a long statement beside writers may fail",
		func(v *Values) *time.Duration { return &v.ReserveMost }, 0, 10*time.Minute),
	boolean("sql.stats.automatic_collection.enabled", "whether tables are analysed by themselves when they have changed enough; ANALYZE works always",
		func(v *Values) *bool { return &v.AutoStats }),
	duration("sql.stats.slow_statements.threshold", "how long a statement must take for each node to remember it, with its plan, among its last slow ones (lichen_internal.cluster_slow_statements); 0: none is",
		func(v *Values) *time.Duration { return &v.SlowStatement }, 0, time.Hour),
}

// MaxConnections bounds the sessions of a node.
const MaxConnections = 20000

// anyURL checks the address of an identity provider.
func anyURL(text string) error {
	if text == "" {
		return nil
	}
	return jwt.CheckURL(text)
}

// anyText is what settings of type Rules check that are one text.
func anyText(string) error { return nil }

// checkEndpoint checks the URL of a collector.
func checkEndpoint(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is not the URL of a collector, such as http://127.0.0.1:4318/v1/traces", text)
	}
	return nil
}

// maxTimeout is the longest timeout of a session.
const maxTimeout = math.MaxInt32 * time.Millisecond

func duration(name, doc string, at func(*Values) *time.Duration, lo, hi time.Duration) *Setting {
	return &Setting{
		Name: name, Type: Duration, Doc: doc, Bounds: fmt.Sprintf("%s to %s", durationText(lo), durationText(hi)),
		set: func(v *Values, text string) error {
			d, err := time.ParseDuration(strings.TrimSpace(text))
			if err != nil {
				return fmt.Errorf("%q is not a duration; write it as 90s, 5m or 1h30m", text)
			}
			if d < lo || d > hi {
				return fmt.Errorf("%s does not lie between %s and %s", durationText(d), durationText(lo), durationText(hi))
			}
			*at(v) = d
			return nil
		},
		text: func(v *Values) string { return durationText(*at(v)) },
	}
}

// durationText leaves out the parts that are 0 at the end: 5m, not 5m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if t, ok := strings.CutSuffix(s, "m0s"); ok {
		s = t + "m"
	}
	if t, ok := strings.CutSuffix(s, "h0m"); ok {
		s = t + "h"
	}
	return s
}

func size(name, doc string, at func(*Values) *int64, lo, hi int64) *Setting {
	return &Setting{
		Name: name, Type: Size, Doc: doc, Bounds: fmt.Sprintf("%s to %s", sizeText(lo), sizeText(hi)),
		set: func(v *Values, text string) error {
			n, ok := parseSize(text)
			if !ok {
				return fmt.Errorf("%q is not a size; write bytes or a unit, as in 64MiB", text)
			}
			if n < lo || n > hi {
				return fmt.Errorf("%s does not lie between %s and %s", sizeText(n), sizeText(lo), sizeText(hi))
			}
			*at(v) = n
			return nil
		},
		text: func(v *Values) string { return sizeText(*at(v)) },
	}
}

// sizeUnits are the units of sizes, those of which the name ends another one's last.
var sizeUnits = []struct {
	name string
	n    int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

func parseSize(text string) (int64, bool) {
	t, unit := strings.TrimSpace(text), int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(t, u.name); ok {
			t, unit = strings.TrimSpace(rest), u.n
			break
		}
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil || !(f >= 0) || f*float64(unit) >= math.MaxInt64 {
		return 0, false
	}
	return int64(f * float64(unit)), true
}

func sizeText(n int64) string {
	for _, u := range sizeUnits[:4] {
		if n >= u.n && n%u.n == 0 {
			return fmt.Sprintf("%d %s", n/u.n, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

func number(name, doc string, at func(*Values) *int64, lo, hi int64) *Setting {
	return &Setting{
		Name: name, Type: Int, Doc: doc, Bounds: fmt.Sprintf("%d to %d", lo, hi),
		set: func(v *Values, text string) error {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				return fmt.Errorf("%q is not a whole number", text)
			}
			if n < lo || n > hi {
				return fmt.Errorf("%d does not lie between %d and %d", n, lo, hi)
			}
			*at(v) = n
			return nil
		},
		text: func(v *Values) string { return strconv.FormatInt(*at(v), 10) },
	}
}

// oneOf is a number of which few are allowed.
func oneOf(name, doc string, at func(*Values) *int64, of ...int64) *Setting {
	s := number(name, doc, at, of[0], of[len(of)-1])
	var list []string
	for _, n := range of {
		list = append(list, strconv.FormatInt(n, 10))
	}
	s.Bounds = strings.Join(list, ", ")
	inner := s.set
	s.set = func(v *Values, text string) error {
		w := *v
		if err := inner(&w, text); err != nil || !slices.Contains(of, *at(&w)) {
			return fmt.Errorf("%q is none of %s", text, s.Bounds)
		}
		*v = w
		return nil
	}
	return s
}

func fraction(name, doc string, at func(*Values) *float64, lo, hi float64) *Setting {
	return &Setting{
		Name: name, Type: Float, Doc: doc, Bounds: fmt.Sprintf("%g to %g", lo, hi),
		set: func(v *Values, text string) error {
			f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				return fmt.Errorf("%q is not a number", text)
			}
			if !(f >= lo && f <= hi) { // nor a NaN
				return fmt.Errorf("%g does not lie between %g and %g", f, lo, hi)
			}
			*at(v) = f
			return nil
		},
		text: func(v *Values) string { return strconv.FormatFloat(*at(v), 'g', -1, 64) },
	}
}

func boolean(name, doc string, at func(*Values) *bool) *Setting {
	return &Setting{
		Name: name, Type: Bool, Doc: doc,
		set: func(v *Values, text string) error {
			switch strings.ToLower(strings.TrimSpace(text)) {
			case "true", "t", "on", "yes", "y", "1":
				*at(v) = true
			case "false", "f", "off", "no", "n", "0":
				*at(v) = false
			default:
				return fmt.Errorf("%q is neither true nor false", text)
			}
			return nil
		},
		text: func(v *Values) string { return strconv.FormatBool(*at(v)) },
	}
}

func choice(name, doc string, at func(*Values) *string, of ...string) *Setting {
	return &Setting{
		Name: name, Type: Choice, Doc: doc, Bounds: "'" + strings.Join(of, "', '") + "'",
		set: func(v *Values, text string) error {
			for _, o := range of {
				if strings.EqualFold(o, strings.TrimSpace(text)) {
					*at(v) = o
					return nil
				}
			}
			return fmt.Errorf("%q is none of '%s'", text, strings.Join(of, "', '"))
		},
		text: func(v *Values) string { return *at(v) },
	}
}

// rules is a setting of free text, which check accepts.
func rules(name, doc string, check func(text string) error, at func(*Values) *string) *Setting {
	return &Setting{
		Name: name, Type: Rules, Doc: doc,
		set: func(v *Values, text string) error {
			if err := check(text); err != nil {
				return err
			}
			*at(v) = text
			return nil
		},
		text: func(v *Values) string { return *at(v) },
	}
}
