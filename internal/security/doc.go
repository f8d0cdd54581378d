// Package security makes, loads and checks the certificates of a cluster, and
// turns them into TLS configurations: for nodes among one another, for nodes
// towards SQL clients, and for clients.
//
// Above it: rpc, pgwire (through the configurations), server and cli. Below it:
// fs. Read files.go (the names of the files; how they are read and written),
// create.go ([Creator]: the CA, nodes, clients), own.go (what a node makes that has
// no certificates), load.go (what is checked when
// a certificate is loaded), node.go ([Node]: the certificates of a running
// node), client.go ([ClientTLS]), explain.go ([Explain]: what to do about a
// failed handshake), list.go ([List]) and secret.go (the secret of an identity provider).
//
// A cluster has one CA; whoever has its key can make certificates, so the key
// stays away from the nodes. The common name of a certificate says whose it is:
// "node" a node's, anything else the user's of that name. No client's
// certificate is made out to "node".
//
// Invariants:
//
//  1. A key can be read by its owner only, from the moment its file is made
//     (install; TestKeysArePrivate), and one that others can read is not loaded
//     (checkPrivate).
//  2. A file of certificates is either as it was or complete (install;
//     TestInstallIsAtomic).
//  3. Connections between nodes are opened only to who has a certificate of the
//     cluster's CA made out to "node", and accepted only from who has one of
//     those or root's (checkPeer; TestPeers).
//
// Concurrency: a Node may be used by any number of goroutines; Reload swaps
// what new handshakes use, and leaves open connections alone.
//
// It does not rotate the CA, does not revoke certificates and knows no
// passwords.
package security
