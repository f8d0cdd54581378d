package optimizer

import "github.com/lichendb/lichen/internal/sql/plan"

// The names of the rules.
const (
	RuleInlineCTE    = "inline_ctes"
	RuleFold         = "fold_constants"
	RuleDecorrelate  = "decorrelate_subqueries"
	RulePushFilters  = "push_filters"
	RuleOuterJoins   = "simplify_outer_joins"
	RuleDistinct     = "eliminate_distinct"
	RuleMinMax       = "min_max_index"
	RuleRaiseOuter   = "raise_outer_joins"
	RuleJoinOrder    = "join_order"
	RulePrune        = "prune_columns"
	RuleIndexes      = "index_selection"
	RuleLookupJoin   = "lookup_join"
	RuleHashJoin     = "hash_join"
	RuleMergeJoin    = "merge_join"
	RuleSort         = "eliminate_sort"
	RuleTopK         = "top_k"
	RuleOrderedGroup = "ordered_grouping"
	RuleLimit        = "push_limits"
	RuleLocks        = "push_locks"
	RuleParallel     = "parallel_scans"
	RuleDistribute   = "distribute"
)

// scope says what a rule rewrites.
type scope uint8

// The scopes. Rules of the first two run once for a statement, with its subqueries.
const (
	statementScope scope = iota // the statement, whose columns they may rename
	rootScope                   // its query, that of EXPLAIN and COPY for these
	queryScope                  // each query by itself, after those around it
)

// rule is a step of the optimizer. One with a name can be switched off.
type rule struct {
	name  string
	scope scope
	// run returns what replaces q.root. It is nil for a rule that decides within the step before it.
	run func(o *optimizer, q query) plan.Node
}

// query is what rules rewrite.
type query struct {
	root plan.Node
	out  []plan.ColID   // the columns that its consumer needs
	stmt *plan.Prepared // for rules of statementScope
}

// rules lists all rules in the order in which they run.
var rules = []rule{
	{RuleInlineCTE, statementScope, func(o *optimizer, q query) plan.Node { return o.inline(q.stmt) }},
	{RuleFold, rootScope, func(o *optimizer, q query) plan.Node { return o.foldStatement(q.root, q.out) }},
	{"", rootScope, func(o *optimizer, q query) plan.Node { return o.dropWiths(q.root) }},
	rewriting(RuleDecorrelate, (*optimizer).decorrelate),
	rewriting(RulePushFilters, (*optimizer).pushFilters),
	deciding(RuleOuterJoins),
	rewriting(RuleDistinct, (*optimizer).eliminateDistinct),
	rewriting(RuleMinMax, (*optimizer).minMax),
	rewriting(RuleRaiseOuter, (*optimizer).raiseOuterJoins),
	rewriting(RuleJoinOrder, (*optimizer).orderJoins),
	{RulePrune, queryScope, func(o *optimizer, q query) plan.Node { return o.prune(q.root, newSet(o.nextCol, q.out)) }},
	always((*optimizer).dropBarriers),
	always(func(o *optimizer, n plan.Node) plan.Node { return o.physical(n, wanted{}) }),
	deciding(RuleIndexes),
	deciding(RuleLookupJoin),
	deciding(RuleHashJoin),
	deciding(RuleMergeJoin),
	deciding(RuleSort),
	deciding(RuleTopK),
	deciding(RuleOrderedGroup),
	deciding(RuleLimit),
	always((*optimizer).subplans),
	rewriting(RuleLocks, (*optimizer).pushLocks),
	deciding(RuleParallel),
	deciding(RuleDistribute),
}

// rewriting returns a rule that rewrites each query by f.
func rewriting(name string, f func(*optimizer, plan.Node) plan.Node) rule {
	return rule{name, queryScope, func(o *optimizer, q query) plan.Node { return f(o, q.root) }}
}

// always returns a step that can't be switched off.
func always(f func(*optimizer, plan.Node) plan.Node) rule { return rewriting("", f) }

// deciding returns a rule that allows an alternative within the step before it.
func deciding(name string) rule { return rule{name: name, scope: queryScope} }

// Rules lists the names of all rules in the order they apply.
func Rules() []string {
	var names []string
	for _, r := range rules {
		if r.name != "" {
			names = append(names, r.name)
		}
	}
	return names
}

// on reports whether a rule is not switched off.
func (o *optimizer) on(rule string) bool { return !o.opts.Disabled[rule] }

// apply runs the rules of a scope and returns what becomes of q.root.
func (o *optimizer) apply(s scope, q query) plan.Node {
	for i := range o.rules {
		if r := &o.rules[i]; r.scope == s && r.run != nil && (r.name == "" || o.on(r.name)) {
			o.check()
			q.root = r.run(o, q)
		}
	}
	return q.root
}
