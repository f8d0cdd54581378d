package hba

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// TestParse reads rules as they stand in pg_hba.conf, and lines that are refused.
func TestParse(t *testing.T) {
	rules, err := Parse(`# TYPE  DATABASE  USER  ADDRESS  METHOD
local   all       all                       trust
host    all,"b c" "all",+ops 10.0.0.0 255.255.0.0 md5   # by mask
hostssl sameuser  bob   ::1/128   cert clientcert=verify-full

hostnossl "all" root samehost reject
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rules {
		got = append(got, fmt.Sprintf("%d %s %v %v %s%s %s %v", r.Line, r.Type, r.Databases, r.Users, r.Address, r.Prefix, r.Method, r.Options))
	}
	want := `2 local [{all false}] [{all false}] invalid Prefix trust []
3 host [{all false} {b c true}] [{all true} {+ops false}] 10.0.0.0/16 md5 []
4 hostssl [{sameuser false}] [{bob false}] ::1/128 cert [clientcert=verify-full]
6 hostnossl [{all true}] [{root false}] samehostinvalid Prefix reject []`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("rules:\n%s\nwant:\n%s", s, want)
	}
	for text, want := range map[string]string{
		"host all all all ldap ldapserver=x":      `line 1: authentication method "ldap" is not supported; there are trust, reject, cert, scram-sha-256, md5, password, cert-password, cert-scram-sha-256`,
		"\nhost all all all pam":                  `line 2: authentication method "pam" is not supported`,
		"host all all all kerberos":               `line 1: invalid authentication method "kerberos"`,
		"hosts all all all trust":                 `line 1: invalid connection type "hosts"`,
		"host":                                    `line 1: end-of-line before database specification`,
		"host all":                                `line 1: end-of-line before role specification`,
		"host all all":                            `line 1: end-of-line before IP address specification`,
		"host all all all":                        `line 1: end-of-line before authentication method`,
		"host all all 10.0.0.0":                   `line 1: end-of-line before netmask specification`,
		"host all all 10.0.0.0 255.0.255.0 trust": `line 1: invalid IP mask "255.0.255.0"`,
		"host all all 10.0.0.0/33 trust":          `line 1: invalid address "10.0.0.0/33"`,
		"host all all example.org trust":          `line 1: address "example.org" is not supported`,
		"host all all samenet trust":              `line 1: address "samenet" is not supported`,
		"host all @users all trust":               `line 1: files of names (@users) are not supported`,
		"host all, all all":                       `line 1: end-of-line before IP address specification`,
		"host \"all all all trust":                `line 1: a quote is not closed`,
		"host all all all trust x=1":              `line 1: authentication option "x=1" is not supported`,
		"hostgssenc all all all trust":            `line 1: connection type "hostgssenc" is not supported`,
		"host all all all cert":                   `line 1: cert authentication is only supported on hostssl connections`,
	} {
		if _, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestFind: the first rule that fits decides.
func TestFind(t *testing.T) {
	rules, err := Parse(`hostnossl all all all reject
host all root samehost trust
host payroll +accounts 10.1.0.0/16 scram-sha-256
hostssl sameuser all 10.0.0.0/8 cert
hostssl all "all" all trust
host all all ::/0 password`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		remote, user, database string
		plain                  bool
		line                   int // 0: none
	}{
		{"10.1.2.3", "ann", "payroll", true, 1},
		{"127.0.0.1", "root", "x", false, 2},
		{"192.168.0.9", "root", "x", false, 2},
		{"10.1.2.3", "ann", "payroll", false, 3},
		{"::ffff:10.1.2.3", "ann", "payroll", false, 3},
		{"10.2.2.3", "ann", "payroll", false, 0},
		{"10.2.2.3", "ann", "ann", false, 4},
		{"10.1.2.3", "bob", "payroll", false, 0},
		{"10.1.2.3", "all", "payroll", false, 5},
		{"fe80::1", "bob", "payroll", false, 6},
		{"", "bob", "bob", false, 0},
	} {
		addr, _ := netip.ParseAddr(c.remote)
		r := Find(rules, &Client{
			Encrypted: !c.plain, Remote: addr, Server: netip.MustParseAddr("192.168.0.9"), User: c.user, Database: c.database,
			MemberOf: func(role string) bool { return role == c.user || role == "accounts" && c.user == "ann" },
		})
		line := 0
		if r != nil {
			line = r.Line
		}
		if line != c.line {
			t.Errorf("%+v: line %d", c, line)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("host all all all trust")
	f.Add("hostssl \"a,b\",c +d 10.0.0.0 255.0.0.0 cert clientcert=verify-full # x")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := Parse(text)
		if err != nil {
			return
		}
		for i := range rules {
			rules[i].fits(&Client{Remote: netip.MustParseAddr("10.0.0.1"), MemberOf: func(string) bool { return true }})
		}
	})
}
