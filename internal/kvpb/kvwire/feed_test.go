package kvwire

import (
	"reflect"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

func TestFeed(t *testing.T) {
	ts := hlc.Timestamp{WallTime: 77, Logical: 5}
	req := kvpb.FeedRequest{ID: 9, Span: kvpb.Span{Key: []byte("a"), EndKey: []byte("z")}, From: ts, NoWait: true}
	var gotReq kvpb.FeedRequest
	if err := DecodeFeed(AppendFeed(nil, &req), &gotReq); err != nil || !reflect.DeepEqual(gotReq, req) {
		t.Errorf("%+v, %v", gotReq, err)
	}
	resp := kvpb.FeedResponse{ID: 9, Resolved: ts, Events: []kvpb.FeedEvent{
		{Key: []byte("a"), Value: []byte("v"), TS: ts}, {Key: []byte("b"), Value: []byte{}, Deleted: true, TS: ts.Next()},
	}}
	p := AppendFeedResponse(nil, &resp)
	var got kvpb.FeedResponse
	if err := DecodeFeedResponse(p, &got); err != nil || !reflect.DeepEqual(got, resp) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range p {
		if DecodeFeedResponse(p[:n], &got) == nil {
			t.Errorf("%d of %d bytes were taken for a response", n, len(p))
		}
	}
}

func FuzzFeedResponse(f *testing.F) {
	f.Add(AppendFeedResponse(nil, &kvpb.FeedResponse{Events: []kvpb.FeedEvent{{Key: []byte("k")}}}))
	f.Fuzz(func(_ *testing.T, p []byte) {
		var r kvpb.FeedResponse
		_ = DecodeFeedResponse(p, &r)
	})
}
