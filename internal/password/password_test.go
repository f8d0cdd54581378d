package password

import (
	"strings"
	"testing"

	"github.com/xdg-go/scram"
)

// TestVerifier: a verifier is what PostgreSQL 15 makes of the same password and salt, and only the password
// matches it.
func TestVerifier(t *testing.T) {
	v, err := New("secret")
	if err != nil {
		t.Fatal(err)
	}
	if !v.Matches("secret") || v.Matches("Secret") || v.Matches("") {
		t.Error("the wrong passwords match")
	}
	if strings.Contains(v.String(), "secret") {
		t.Error("the password is in its verifier")
	}
	again, err := Parse(v.String())
	if err != nil || again.String() != v.String() || !again.Matches("secret") {
		t.Errorf("read back: %v, %v", again, err)
	}
	for _, bad := range []string{
		"", "secret", "SCRAM-SHA-256$", "SCRAM-SHA-256$0:" + strings.Split(v.String(), ":")[1],
		strings.Replace(v.String(), "4096", "99999999999", 1), v.String()[:len(v.String())-4], "SCRAM-SHA-256$4096:a$b:c",
	} {
		if Looks(bad) {
			t.Errorf("%q is taken for a verifier", bad)
		}
	}
}

// login has a client with a password log in.
func login(t *testing.T, v Verifier, password string) error {
	t.Helper()
	x, err := NewExchange(v, scram.ChannelBinding{}, false)
	if err != nil {
		t.Fatal(err)
	}
	c, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		t.Fatal(err)
	}
	conv := c.NewConversation()
	message, err := conv.Step("")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		answer, done, err := x.Step(message)
		if err != nil {
			return err
		}
		if message, err = conv.Step(answer); err != nil {
			t.Fatal(err)
		}
		if done && !conv.Valid() {
			t.Error("the client does not believe the server")
		}
	}
	return nil
}

func TestExchange(t *testing.T) {
	v, _ := New("pässword")
	if err := login(t, v, "pässword"); err != nil {
		t.Error(err)
	}
	if login(t, v, "password") == nil {
		t.Error("a wrong password is good")
	}
	x, _ := NewExchange(v, scram.ChannelBinding{}, false)
	if _, _, err := x.Step("nonsense"); err == nil {
		t.Error("nonsense is answered")
	}
}

func TestMock(t *testing.T) {
	secret := []byte("of the node")
	a, b, c := Mock(secret, "a"), Mock(secret, "a"), Mock(secret, "c")
	if a.stored.Salt != b.stored.Salt || a.stored.Salt == c.stored.Salt {
		t.Error("the salt tells whether there is such a role")
	}
	if login(t, a, "") == nil || login(t, a, "a") == nil {
		t.Error("a password is good for a role that has none")
	}
}

func FuzzStep(f *testing.F) {
	f.Add("n,,n=,r=abc", "c=biws,r=abc,p=AAAA")
	v, err := New("x")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		x, err := NewExchange(v, scram.ChannelBinding{}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, done, err := x.Step(first); done || err != nil {
			if done {
				t.Error("done after one message")
			}
			return
		}
		if _, done, _ := x.Step(second); done {
			t.Error("a login without the password")
		}
	})
}
