package aggfuncs

import "github.com/lichendb/lichen/internal/sql/builtin/call"

// Aggregates returns what the package declares.
func Aggregates() []*call.Aggregate {
	var all []*call.Aggregate
	all = append(all, countAggregates()...)
	all = append(all, sumAggregates()...)
	all = append(all, extremeAggregates()...)
	all = append(all, bitAggregates()...)
	all = append(all, varianceAggregates()...)
	all = append(all, rangeAggregates()...)
	all = append(all, bitStringAggregates()...)
	all = append(all, regressionAggregates()...)
	all = append(all, orderedAggregates()...)
	all = append(all, collationAggregates()...)
	return append(all, collectAggregates()...)
}
