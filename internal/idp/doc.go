// Package idp talks with identity providers (OpenID Connect): it has the keys that they show at an address, and leads a browser
// through their login (authorization code with PKCE, RFC 6749, RFC 7636, OpenID Connect Core).
//
// Above it: pgwire (tokens of SQL clients), console (logins of browsers). Below it: config/jwt, which checks tokens.
//
//	browser ── Begin ─▶ the provider's page ─▶ the browser comes back with a code ── Finish ─▶ who it is
//
// Reading order: fetch.go (documents and how long they are kept), keys.go, provider.go.
//
// Invariants:
//
//  1. What is fetched is bounded in size, time and number, comes over TLS unless from this machine, and from no other place than the
//     address says: redirections are not followed (fetch; TestFetchRefuses).
//  2. Who sends tokens with unknown keys makes a node ask for the keys once in retryAfter at most (cache.get; TestCache).
//  3. A code lets in only the browser that asked for it: state and nonce are compared, and the code is worth nothing without the
//     verifier (Provider.Finish; TestFlow).
package idp
