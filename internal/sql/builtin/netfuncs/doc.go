// Package netfuncs declares operators and functions of network addresses: inet, cidr, macaddr.
package netfuncs
