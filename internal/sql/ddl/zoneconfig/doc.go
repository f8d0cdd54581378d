// Package zoneconfig executes CONFIGURE ZONE, and finds what has keys of its own: databases, tables
// and indexes, for zones and for split keys.
//
// Above it: relations and alter, which move and remove the zones of what they replace and drop, and
// sql/ranges, whose statements name the same objects. Below it: config/zone and statement. Read
// zoneobject.go (KeyObject, ZoneObject), zone.go (CONFIGURE ZONE), split.go (split keys, and the ranges
// that new indexes begin with).
//
// Invariants:
//
//  1. A zone goes with its object: dropped with it, moved with its index (RemoveZones, MoveZone).
//  2. Each zone that is written is valid with what it inherits and for what inherits from it
//     (CheckZones).
package zoneconfig
