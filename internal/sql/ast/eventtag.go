package ast

import "strings"

// What command tags are about. Event triggers fire for statements about objects of a database, not for those about what several databases
// share.
const (
	localObjects = `ACCESS METHOD,AGGREGATE,CAST,COLLATION,CONSTRAINT,CONVERSION,DEFAULT PRIVILEGES,DOMAIN,EXTENSION,FOREIGN DATA WRAPPER,FOREIGN TABLE,` +
		`FUNCTION,INDEX,LANGUAGE,LARGE OBJECT,MATERIALIZED VIEW,OPERATOR,OPERATOR CLASS,OPERATOR FAMILY,OWNED,POLICY,PROCEDURE,PUBLICATION,ROUTINE,RULE,SCHEMA,` +
		`SEQUENCE,SERVER,STATISTICS,SUBSCRIPTION,TABLE,TABLE AS,TEXT SEARCH CONFIGURATION,TEXT SEARCH DICTIONARY,TEXT SEARCH PARSER,TEXT SEARCH TEMPLATE,` +
		`TRANSFORM,TRIGGER,TYPE,USER MAPPING,VIEW`
	sharedObjects = "DATABASE,EVENT TRIGGER,ROLE,SYSTEM,TABLESPACE"
	localTags     = "COMMENT,GRANT,IMPORT FOREIGN SCHEMA,REFRESH MATERIALIZED VIEW,REVOKE,SECURITY LABEL,SELECT INTO"
	otherTags     = `ANALYZE,BEGIN,CALL,CHECKPOINT,CLOSE,CLOSE CURSOR,CLOSE CURSOR ALL,CLUSTER,COMMIT,COMMIT PREPARED,COPY,COPY FROM,DEALLOCATE,DEALLOCATE ALL,` +
		`DECLARE CURSOR,DELETE,DISCARD,DISCARD ALL,DISCARD PLANS,DISCARD SEQUENCES,DISCARD TEMP,DO,DROP REPLICATION SLOT,EXECUTE,EXPLAIN,FETCH,GRANT ROLE,` +
		`INSERT,LISTEN,LOAD,LOCK TABLE,MERGE,MOVE,NOTIFY,PREPARE,PREPARE TRANSACTION,REASSIGN OWNED,REINDEX,RELEASE,RESET,REVOKE ROLE,ROLLBACK,` +
		`ROLLBACK PREPARED,SAVEPOINT,SELECT,SELECT FOR KEY SHARE,SELECT FOR NO KEY UPDATE,SELECT FOR SHARE,SELECT FOR UPDATE,SET,SET CONSTRAINTS,SHOW,` +
		`START TRANSACTION,TRUNCATE TABLE,UNLISTEN,UPDATE,VACUUM`
)

func listed(list, word string) bool { return strings.Contains(","+list+",", ","+word+",") }

// ofObjects reports whether a tag is CREATE, ALTER or DROP of an object of a list.
func ofObjects(list, tag string) bool {
	verb, object, _ := strings.Cut(tag, " ")
	return (verb == "CREATE" || verb == "ALTER" || verb == "DROP") && object != "" && listed(list, object)
}

// FiresEvents reports whether event triggers fire for statements with a command tag.
func FiresEvents(tag string) bool { return ofObjects(localObjects, tag) || listed(localTags, tag) }

// KnownTag reports whether PostgreSQL has a command tag.
func KnownTag(tag string) bool {
	return FiresEvents(tag) || ofObjects(sharedObjects, tag) || listed(otherTags, tag)
}
