// Package clustersetting executes the statements about the settings of the cluster: SET, RESET and
// SHOW CLUSTER SETTING, SHOW CLUSTER SETTINGS.
//
// config/setting defines the settings and their values; sql calls this package with the
// transaction and the Source that the node provides. The parameters of a session are in
// sql/settings.
//
// Invariants:
//
//  1. A change is a write of the transaction, and takes effect on this node before the
//     statement that commits it returns (Set, Committed; TestSettings in server).
package clustersetting
