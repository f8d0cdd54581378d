package keys

import "encoding/binary"

// notificationPrefix begins the names of the system keys of the notification queue.
const notificationPrefix = "notification/"

// NotificationSpan covers the entries of the notification queue.
func NotificationSpan() Span { return SystemSpan(notificationPrefix) }

// Notification is the key of an entry in the notification queue: one of the slots that a process of a node uses
// again and again.
func Notification(node, process, slot uint64) []byte {
	k := binary.BigEndian.AppendUint64(SystemKey(notificationPrefix), node)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(k, process), slot)
}

// DecodeNotification reads what Notification made; ok is false for any other key.
func DecodeNotification(key []byte) (node, process, slot uint64, ok bool) {
	prefix := SystemKey(notificationPrefix)
	if len(key) != len(prefix)+24 || string(key[:len(prefix)]) != string(prefix) {
		return 0, 0, 0, false
	}
	rest := key[len(prefix):]
	return binary.BigEndian.Uint64(rest), binary.BigEndian.Uint64(rest[8:]), binary.BigEndian.Uint64(rest[16:]), true
}
