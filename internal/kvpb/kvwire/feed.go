package kvwire

import "github.com/lichendb/lichen/internal/kvpb"

// AppendFeed appends the fields of a request.
func AppendFeed(b []byte, req *kvpb.FeedRequest) []byte {
	return appendFlags(appendTimestamp(appendSpan(appendUint(b, req.ID), req.Span), req.From), req.NoWait, req.Prompt)
}

// DecodeFeed reads what AppendFeed wrote.
func DecodeFeed(b []byte, req *kvpb.FeedRequest) error {
	f := read(b)
	req.ID, req.Span = f.Uvarint(), f.span()
	req.From = f.timestamp()
	f.flags(&req.NoWait, &req.Prompt)
	return f.err()
}

// AppendFeedResponse appends the fields of a response.
func AppendFeedResponse(b []byte, resp *kvpb.FeedResponse) []byte {
	b = appendTimestamp(appendUint(b, resp.ID), resp.Resolved)
	b = appendUint(b, uint64(len(resp.Events)))
	for i := range resp.Events {
		e := &resp.Events[i]
		b = appendTimestamp(appendBytes(appendBytes(appendFlags(b, e.Deleted), e.Key), e.Value), e.TS)
	}
	return b
}

// DecodeFeedResponse reads what AppendFeedResponse wrote. Keys and values alias b.
func DecodeFeedResponse(b []byte, resp *kvpb.FeedResponse) error {
	f := read(b)
	*resp = kvpb.FeedResponse{ID: f.Uvarint(), Resolved: f.timestamp()}
	for n := f.Count(4); n > 0 && !f.Bad(); n-- {
		var e kvpb.FeedEvent
		f.flags(&e.Deleted)
		e.Key, e.Value = f.bytes(), f.bytes()
		e.TS = f.timestamp()
		resp.Events = append(resp.Events, e)
	}
	return f.err()
}
