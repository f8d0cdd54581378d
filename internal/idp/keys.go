package idp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-jose/go-jose/v4"

	"github.com/lichendb/lichen/internal/config/jwt"
)

// Keys are the key sets that issuers show. They may be used from any goroutine.
type Keys struct{ sets cache[jose.JSONWebKeySet] }

var _ jwt.KeySource = (*Keys)(nil)

// NewKeys returns keys that are fetched when they are needed. transport is nil for the usual one.
func NewKeys(transport http.RoundTripper) *Keys {
	return &Keys{cache[jose.JSONWebKeySet]{client: newClient(transport), read: readKeys}}
}

func readKeys(address string, body []byte) (jose.JSONWebKeySet, error) {
	set, err := jwt.ReadKeys(body)
	if err != nil {
		err = fmt.Errorf("%s: %w", address, err)
	}
	return set, err
}

// Keys implements jwt.KeySource.
func (k *Keys) Keys(ctx context.Context, address, id string) (jose.JSONWebKeySet, error) {
	return k.sets.get(ctx, address, func(s jose.JSONWebKeySet) bool { return len(s.Key(id)) == 0 })
}
