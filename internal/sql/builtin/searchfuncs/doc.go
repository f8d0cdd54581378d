// Package searchfuncs declares full text search (tsvector, tsquery, ranking, debugging) and trigram
// similarity (pg_trgm).
package searchfuncs
