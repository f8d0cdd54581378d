package relations

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/ttl"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// ParamText returns the text of an option's value.
func ParamText(o *ast.Option) string {
	if s, ok := o.Value.(*ast.StrLit); ok {
		return s.Val
	}
	return ast.Format(o.Value)
}

// parameterKind is what the values of a storage parameter are.
type parameterKind int

const (
	boolParameter parameterKind = iota
	intParameter
	RealParameter
	enumParameter
)

// Parameter is a storage parameter of a kind of relation.
type Parameter struct {
	Kind     parameterKind
	Min, Max float64  // of numbers
	values   []string // of an enum
	detail   string   // of an enum: the values that the error names
}

// Parameters are those of one kind of relation by name. Relations keep the ones that
// PostgreSQL has; they change nothing but for views.
type Parameters struct {
	Known map[string]Parameter
	// toast: the relation may be given parameters of the TOAST table that it does not have.
	toast bool
	// dialects are names that other dialects have, which are not kept. A name that ends
	// in _ stands for all that begin with it.
	dialects []string
}

var (
	percentage = Parameter{Kind: intParameter, Min: 10, Max: 100}
	factor     = Parameter{Kind: RealParameter, Max: 100}
	natural    = Parameter{Kind: intParameter, Max: math.MaxInt32}
	orOff      = Parameter{Kind: intParameter, Min: -1, Max: math.MaxInt32}
	tableAge   = Parameter{Kind: intParameter, Max: 2e9}
	minimumAge = Parameter{Kind: intParameter, Max: 1e9}
)

// TableParameters are those of tables.
var TableParameters = Parameters{
	toast: true,
	Known: map[string]Parameter{
		"autovacuum_analyze_scale_factor":       factor,
		"autovacuum_analyze_threshold":          natural,
		"autovacuum_enabled":                    {},
		"autovacuum_freeze_max_age":             {Kind: intParameter, Min: 1e5, Max: 2e9},
		"autovacuum_freeze_min_age":             minimumAge,
		"autovacuum_freeze_table_age":           tableAge,
		"autovacuum_multixact_freeze_max_age":   {Kind: intParameter, Min: 1e4, Max: 2e9},
		"autovacuum_multixact_freeze_min_age":   minimumAge,
		"autovacuum_multixact_freeze_table_age": tableAge,
		"autovacuum_vacuum_cost_delay":          factor,
		"autovacuum_vacuum_cost_limit":          {Kind: intParameter, Min: 1, Max: 10000},
		"autovacuum_vacuum_insert_scale_factor": factor,
		"autovacuum_vacuum_insert_threshold":    orOff,
		"autovacuum_vacuum_scale_factor":        factor,
		"autovacuum_vacuum_threshold":           natural,
		"fillfactor":                            percentage,
		"log_autovacuum_min_duration":           orOff,
		"parallel_workers":                      {Kind: intParameter, Max: 1024},
		"toast_tuple_target":                    {Kind: intParameter, Min: 128, Max: 8160},
		"user_catalog_table":                    {},
		"vacuum_index_cleanup": {Kind: enumParameter, detail: `Valid values are "on", "off", and "auto".`,
			values: []string{"auto", "on", "off", "true", "false", "yes", "no", "1", "0"}},
		"vacuum_truncate": {},
	},
	dialects: strings.Fields(`colocated colocation colocation_id exclude_data_from_backup infer_rbr_ row_type_oid
		schema_locked sql_stats_ table_oid tablegroup_oid`),
}

// notToast are the parameters of tables, by how they begin, that TOAST tables do not have.
var notToast = strings.Fields("autovacuum_analyze_ fillfactor parallel_workers toast_tuple_target user_catalog_table")

var indexDialects = strings.Fields("bucket_count colocation_id geometry_ s2_ table_oid tablegroup_oid")

var (
	btreeParameters = Parameters{dialects: indexDialects, Known: map[string]Parameter{
		"deduplicate_items": {}, "fillfactor": percentage,
		"vacuum_cleanup_index_scale_factor": {Kind: RealParameter, Max: 1e10},
	}}
	hashParameters = Parameters{dialects: indexDialects, Known: map[string]Parameter{"fillfactor": percentage}}
	ginParameters  = Parameters{dialects: indexDialects, Known: map[string]Parameter{
		"fastupdate": {}, "gin_pending_list_limit": {Kind: intParameter, Min: 64, Max: math.MaxInt32},
	}}
	ViewParameters = Parameters{Known: map[string]Parameter{
		"security_barrier": {}, "security_invoker": {},
		checkOption: {Kind: enumParameter, detail: `Valid values are "local" and "cascaded".`,
			values: []string{catalog.CheckLocal, catalog.CheckCascaded}},
	}}
)

// IndexParameters returns the parameters that an index of an access method may have.
func IndexParameters(method ast.Name) *Parameters {
	switch method {
	case methodGIN:
		return &ginParameters
	case methodHash:
		return &hashParameters
	}
	return &btreeParameters
}

// TableOptions reads WITH (...) of a new table. OIDS, which tables had once, may be off.
func TableOptions(e *statement.Env, params []ast.StorageParam) ([]string, error) {
	isOids := func(p ast.StorageParam) bool { return p.Namespace == "" && p.Name == "oids" }
	for i := range params {
		if !isOids(params[i]) {
			continue
		}
		text := parameterText(&params[i])
		on, err := typeio.ParseText(types.Bool, text, nil)
		if err != nil {
			return nil, pgerr.New(pgerr.SyntaxError, "oids requires a Boolean value")
		}
		if on.Bool() {
			return nil, pgerr.Unsupported("tables declared WITH OIDS are not supported")
		}
	}
	return StorageOptions(e, nil, slices.DeleteFunc(slices.Clone(params), isOids), &TableParameters)
}

// StorageOptions adds parameters, which have no effect, to those that a table or index has.
func StorageOptions(e *statement.Env, options []string, params []ast.StorageParam, of *Parameters) ([]string, error) {
	options, rest, err := expiryOptions(e, options, params, of)
	if err != nil {
		return nil, err
	}
	options, err = of.Set(options, rest)
	if err == nil && len(rest) > 0 {
		e.Ignore(noeffect.StorageParams)
	}
	return options, err
}

// Set adds parameters to the options of a relation.
func (ps *Parameters) Set(options []string, params []ast.StorageParam) ([]string, error) {
	if err := ps.checkNamespaces(params); err != nil {
		return nil, err
	}
	for i := range params {
		p := &params[i]
		if slices.ContainsFunc(params[:i], func(o ast.StorageParam) bool { return o.Namespace == p.Namespace && o.Name == p.Name }) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "parameter \"%s\" specified more than once", p.Name)
		}
		if p.Namespace == "" && ps.ofDialect(p.Name) {
			continue
		}
		known, ok := ps.Known[p.Name]
		if !ok || p.Namespace != "" && slices.ContainsFunc(notToast, func(s string) bool { return strings.HasPrefix(p.Name, s) }) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter \"%s\"", p.Name)
		}
		value := parameterText(p)
		if err := known.check(p.Name, value); err != nil {
			return nil, err
		}
		if p.Namespace == "" {
			options = append(withoutOption(options, p.Name), p.Name+"="+value)
		}
	}
	return options, nil
}

// ResetOptions removes parameters from the options of a relation; those that it does not
// have may be named.
func ResetOptions(options []string, params []ast.StorageParam) ([]string, error) {
	for _, p := range params {
		if p.Value != nil {
			return nil, pgerr.New(pgerr.SyntaxError, "RESET must not include values for parameters")
		}
		switch {
		case p.Namespace != "":
		case p.Name == "ttl":
			options = slices.DeleteFunc(slices.Clone(options), func(o string) bool {
				name, _, _ := strings.Cut(o, "=")
				return ttl.Is(name)
			})
		default:
			options = withoutOption(options, p.Name)
		}
	}
	return ExpiryOff(options), nil
}

func (ps *Parameters) checkNamespaces(params []ast.StorageParam) error {
	for _, p := range params {
		if p.Namespace != "" && (p.Namespace != "toast" || !ps.toast) {
			return pgerr.New(pgerr.InvalidParameterValue, "unrecognized parameter namespace \"%s\"", p.Namespace)
		}
	}
	return nil
}

func (ps *Parameters) ofDialect(name string) bool {
	return slices.ContainsFunc(ps.dialects, func(d string) bool {
		return name == d || strings.HasSuffix(d, "_") && strings.HasPrefix(name, d)
	})
}

// withoutOption copies options without one; the old list belongs to a published descriptor.
func withoutOption(options []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(options), func(o string) bool { return strings.HasPrefix(o, name+"=") })
}

// parameterText is the value of a parameter as pg_class has it: as it was written.
func parameterText(p *ast.StorageParam) string {
	if p.Value == nil {
		return "true"
	}
	return ParamText(&ast.Option{Value: p.Value})
}

// check verifies the value of the parameter called name.
func (k *Parameter) check(name, value string) error {
	invalid := func(kind string) *pgerr.Error {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid value for %s option \"%s\": %s", kind, name, value)
	}
	switch k.Kind {
	case boolParameter:
		if _, err := typeio.ParseText(types.Bool, value, nil); err != nil {
			return invalid("boolean")
		}
	case enumParameter:
		if !slices.ContainsFunc(k.values, func(v string) bool { return strings.EqualFold(v, value) }) {
			return invalid("enum").WithDetail("%s", k.detail)
		}
	case intParameter:
		n, ok := parseInteger(value)
		if !ok {
			return invalid("integer")
		}
		return k.checkRange(name, value, n, 0)
	case RealParameter:
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || math.IsNaN(n) {
			return invalid("floating point")
		}
		return k.checkRange(name, value, n, 6)
	}
	return nil
}

// checkRange verifies that n is in the parameter's range, whose boundaries the error shows
// with so many decimals.
func (k *Parameter) checkRange(name, value string, n float64, decimals int) error {
	if n >= k.Min && n <= k.Max {
		return nil
	}
	boundary := func(f float64) string { return strconv.FormatFloat(f, 'f', decimals, 64) }
	return pgerr.New(pgerr.InvalidParameterValue, "value %s out of bounds for option \"%s\"", value, name).
		WithDetail("Valid values are between \"%s\" and \"%s\".", boundary(k.Min), boundary(k.Max))
}

// parseInteger reads a number of 32 bits as settings have it: decimal, hexadecimal or
// octal, or with a fraction, which is rounded.
func parseInteger(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	var f float64
	if n, err := strconv.ParseInt(text, 0, 64); err == nil && !strings.ContainsRune(text, '_') {
		f = float64(n)
	} else if f, err = strconv.ParseFloat(text, 64); err != nil {
		return 0, false
	}
	f = math.RoundToEven(f)
	return f, f >= math.MinInt32 && f <= math.MaxInt32
}

// writtenOptions are the options of a relation as WITH (...) has them.
func writtenOptions(options []string) []ast.StorageParam {
	var out []ast.StorageParam
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		out = append(out, ast.StorageParam{Name: name, Value: &ast.StrLit{Val: value}})
	}
	return out
}
