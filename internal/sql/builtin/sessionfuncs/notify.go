package sessionfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// notificationFunctions declares the functions about notifications.
func notificationFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("pg_notify(text,text) void", call.SessionFunc(notifyFunc)).NonStrict().Volatile(),
		call.Fn("pg_notification_queue_usage() float8", call.SessionFunc(func(s call.Session, _ []types.Datum) (types.Datum, error) {
			return types.NewFloat(s.NotificationQueueUsage()), nil
		})).Volatile(),
		call.SRF("pg_listening_channels() setof text", listeningChannels).Stable(),
	}
}

// notifyFunc is pg_notify: NULL is an empty text.
func notifyFunc(s call.Session, a []types.Datum) (types.Datum, error) {
	var text [2]string
	for i, d := range a {
		if !d.IsNull() {
			text[i] = d.Str()
		}
	}
	return types.VoidDatum, s.Notify(text[0], text[1])
}

func listeningChannels(c *call.Context, _ []types.Datum) (call.RowIterator, error) {
	s, err := c.NeedSession()
	if err != nil {
		return nil, err
	}
	var names []types.Datum
	for _, name := range s.Listening() {
		names = append(names, types.NewString(name))
	}
	return call.NewColumn(names), nil
}
