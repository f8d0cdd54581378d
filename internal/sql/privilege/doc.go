// Package privilege decides who may do what with an object: the algebra of access control lists and
// of memberships in roles. It is pure: it knows roles by their oids, and no catalog.
//
// Above it: catalog (which stores lists and memberships), access (which checks statements), ddl/roles
// (GRANT and REVOKE), pgcatalog (which shows them). Below it: nothing.
//
// Reading order: bits.go (privileges, and which kinds of objects have which), acl.go (a list, and what
// it grants), change.go (GRANT, REVOKE, a new owner, roles that go), system.go (lists of
// what has no descriptor), member.go (memberships).
//
// Invariants:
//
//  1. No two items of a list have the same grantee and grantor, none is empty, and a grant option
//     comes with its privilege (ACL.valid; TestScripts).
//  2. What an item grants, its grantor may grant: the owner may grant everything, others what an item
//     made out to them lets them (ACL.valid).
//  3. No role is a member of itself, however indirectly (Circular; TestMembership).
//
// The rules are PostgreSQL's. A nil ACL stands for the list that an object of its kind has until
// somebody grants or revokes (Default); an empty one grants nothing.
package privilege
