package keys

import "testing"

// TestNotification reads the keys of the notification queue back, and knows them from others.
func TestNotification(t *testing.T) {
	k := Notification(1, 1<<60, 7)
	node, process, slot, ok := DecodeNotification(k)
	if !ok || node != 1 || process != 1<<60 || slot != 7 || !NotificationSpan().Contains(k) {
		t.Errorf("%x: read %d, %d, %d, %v", k, node, process, slot, ok)
	}
	for _, other := range [][]byte{nil, k[:len(k)-1], append(k[:len(k):len(k)], 0), AdvisoryLock(1, false, 2), SystemKey("notification/")} {
		if _, _, _, ok := DecodeNotification(other); ok {
			t.Errorf("%x is taken for an entry of the queue", other)
		}
	}
}
