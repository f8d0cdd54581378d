package password

import (
	"crypto/tls"

	"github.com/xdg-go/scram"
)

// The mechanisms of SASL that an Exchange speaks. The second binds the login to the TLS connection: nobody
// in the middle can pass it on.
const (
	Mechanism     = "SCRAM-SHA-256"
	MechanismPlus = "SCRAM-SHA-256-PLUS"
)

// Exchange is the server's side of a login.
type Exchange struct{ conv *scram.ServerConversation }

// Binding returns what a login can be bound to, false if there is nothing: the server's certificate.
func Binding(cert *tls.Certificate) (scram.ChannelBinding, bool) {
	if cert == nil || cert.Leaf == nil {
		return scram.ChannelBinding{}, false
	}
	st := tls.ConnectionState{}
	st.PeerCertificates = append(st.PeerCertificates, cert.Leaf)
	b, err := scram.NewTLSServerEndpointBinding(&st)
	return b, err == nil && b.IsSupported()
}

// NewExchange begins a login. offered says that MechanismPlus was offered, with that binding.
func NewExchange(v Verifier, binding scram.ChannelBinding, offered bool) (*Exchange, error) {
	s, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return v.stored, nil })
	if err != nil {
		return nil, err
	}
	if offered {
		return &Exchange{s.NewConversationWithChannelBinding(binding)}, nil
	}
	return &Exchange{s.NewConversation()}, nil
}

// Step takes a message of the client and returns the answer; done says that the client has shown that it has
// the password. An error ends the login.
func (x *Exchange) Step(message string) (answer string, done bool, err error) {
	answer, err = x.conv.Step(message)
	return answer, err == nil && x.conv.Done() && x.conv.Valid(), err
}
