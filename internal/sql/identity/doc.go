// Package identity knows whose a session is, and what that lets it do by itself.
//
//	sql (Session, its statements) ──► identity.Session ──► access, catalog (roles, their memberships)
//
// A session has three roles, each of which may differ from the one before: the login role, the session role
// (SET SESSION AUTHORIZATION) and the current role (SET ROLE, and the owner of a SECURITY DEFINER routine while that
// runs). Roles are known by their oids, so that they may be renamed meanwhile. What a statement needs on the objects that it names
// is checked where it finds them (package access); here is what no object is named for.
//
// Invariants:
//
//  1. Within a SECURITY DEFINER routine the current role is the routine's owner, and neither SET ROLE nor SET SESSION
//     AUTHORIZATION can leave it (AsDefiner, MayChangeRole; TestLogic in sql, privileges/definer.slt).
//  2. A session becomes only roles that its session role is a member of, and another session role only if its login role
//     is a superuser (SetRole, SetSessionAuthorization; TestLogic in sql, privileges/definer.slt).
//
// One goroutine at a time uses a Session; Login and User may be read by any once LogIn has returned.
package identity
