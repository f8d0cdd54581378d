// The oracle is a module of its own, so that Lichen does not depend on
// PostgreSQL's parser nor on the C compiler it needs.
module github.com/lichendb/lichen/test/oracle

go 1.26.8

require (
	github.com/jackc/pgx/v5 v5.12.0
	github.com/lichendb/lichen v0.0.0
	github.com/pganalyze/pg_query_go/v4 v4.2.3
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace github.com/lichendb/lichen => ../..
