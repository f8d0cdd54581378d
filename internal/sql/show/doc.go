// Package show answers the SHOW statements about objects, sessions and queries: each stands for a
// query over pg_catalog and lichen_internal.
//
// sql replaces such a statement by its query right after the parser (Rewrite). Statements about
// ranges, zones and cluster settings have packages of their own: ranges and clustersetting. SHOW of a
// parameter is the session's.
package show
