// Package roles executes the statements about roles and privileges: CREATE, ALTER and DROP ROLE, GRANT and
// REVOKE, ALTER DEFAULT PRIVILEGES, REASSIGN OWNED and DROP OWNED.
//
// Above it: ddl. Below it: ddl/alter (dropping what somebody owns), ddl/statement, access (who may), password
// (verifiers), catalog. Reading order: role.go (roles themselves), option.go (their options), member.go
// (memberships), grant.go (privileges on objects), object.go (the objects that GRANT names), system.go (those that are built in), defaults.go,
// owned.go (all that a role owns or was granted, also for DROP ROLE).
//
// Invariants:
//
//  1. A password leaves a statement as a verifier only (setPassword; TestPasswordsAreNotStored in sql).
//  2. A role that is dropped owns nothing and is in no access control list (dropRole, mentions).
//
// Role descriptors are locked while they are changed, those who use them are not waited for: a new statement
// of any session heeds the change once its transaction has committed.
package roles
