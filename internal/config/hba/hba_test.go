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
hostnogssenc "a ""b""" \
   /^app_\d+$ .example.org cert-password
hostssl all all samenet cert map=ops clientname=DN
local all postgres peer map=ops
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
6 hostnossl [{all true}] [{root false}] samehostinvalid Prefix reject []
7 hostnogssenc [{a "b" true}] [{/^app_\d+$ false}] .example.orginvalid Prefix cert-password []
9 hostssl [{all false}] [{all false}] samenetinvalid Prefix cert [map=ops clientname=DN]
10 local [{all false}] [{postgres false}] invalid Prefix peer [map=ops]`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("rules:\n%s\nwant:\n%s", s, want)
	}
	for text, want := range map[string]string{
		"host all all all ldap ldapserver=x":            `line 1: authentication method "ldap" is not supported; there are trust, reject, cert, scram-sha-256, md5, password, cert-password, cert-scram-sha-256, jwt, peer`,
		"\nhost all all all pam":                        `line 2: authentication method "pam" is not supported`,
		"host all all all kerberos":                     `line 1: invalid authentication method "kerberos"`,
		"hosts all all all trust":                       `line 1: invalid connection type "hosts"`,
		"host":                                          `line 1: end-of-line before database specification`,
		"host all":                                      `line 1: end-of-line before role specification`,
		"host all all":                                  `line 1: end-of-line before IP address specification`,
		"host all all all":                              `line 1: end-of-line before authentication method`,
		"host all all 10.0.0.0":                         `line 1: end-of-line before netmask specification`,
		"host all all 10.0.0.0 255.0.255.0 trust":       `line 1: invalid IP mask "255.0.255.0"`,
		"host all all 10.0.0.0/33 trust":                `line 1: invalid address "10.0.0.0/33"`,
		"host all all exam_ple.or!g trust":              `line 1: invalid address "exam_ple.or!g"`,
		"host all all \"\" trust":                       `line 1: invalid address ""`,
		"host all /( all trust":                         `line 1: invalid regular expression "("`,
		"host all all all gss include_realm=0":          `line 1: authentication method "gss" is not supported`,
		"host all all all peer":                         `line 1: peer authentication is only supported on local sockets`,
		"hostssl all all all trust map=x":               `line 1: authentication option "map" is only valid for authentication methods peer and cert`,
		"host all all all trust clientcert=verify-full": `line 1: clientcert can only be configured for "hostssl" rows`,
		"host all all all trust clientname=DN":          `line 1: clientname can only be configured for "hostssl" rows`,
		"hostssl all all all cert clientname=x":         `line 1: invalid value for clientname: "x"`,
		"hostssl all all all cert clientcert=verify-ca": `line 1: clientcert only accepts "verify-full" when using "cert" authentication`,
		"hostssl all all all md5 clientcert=1":          `line 1: invalid value for clientcert: "1"`,
		"hostssl all all all md5 clientcert":            `line 1: authentication option not in name=value format: clientcert`,
		"host all @users all trust":                     `line 1: files of names (@users) are not supported`,
		"host all, all all":                             `line 1: end-of-line before IP address specification`,
		"host \"all all all trust":                      `line 1: a quote is not closed`,
		"host all all all trust x=1":                    `line 1: authentication option "x=1" is not supported`,
		"hostgssenc all all all trust":                  `line 1: connection type "hostgssenc" is not supported`,
		"host all all all cert":                         `line 1: cert authentication is only supported on hostssl connections`,
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

// TestFindByName: hosts by their names, the server's own addresses and networks, and regular expressions.
func TestFindByName(t *testing.T) {
	rules, err := Parse(`host all all db.example.org trust
host all all .example.org trust
host all all samenet trust
host all /^app_\d+$ all trust
host /^log all all trust
host all "/all" all trust`)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, c := range []struct {
		remote, name, user, database string
		line                         int
	}{
		{"10.0.0.1", "db.example.org", "ann", "x", 1},
		{"10.0.0.1", "DB.Example.ORG.", "ann", "x", 1},
		{"10.0.0.1", "web.example.org", "ann", "x", 2},
		{"10.0.0.1", "example.org", "ann", "x", 0},
		{"10.0.0.1", "example.org.evil", "ann", "x", 0},
		{"192.168.3.4", "", "ann", "x", 3},
		{"192.168.4.4", "", "ann", "x", 0},
		{"10.0.0.1", "", "app_12", "x", 4},
		{"10.0.0.1", "", "app_x", "x", 0},
		{"10.0.0.1", "", "ann", "logs", 5},
		{"10.0.0.1", "", "/all", "x", 6},
	} {
		r := Find(rules, &Client{
			Encrypted: true, Remote: netip.MustParseAddr(c.remote), User: c.user, Database: c.database, MemberOf: func(string) bool { return false },
			Names:      func() []string { asked++; return []string{c.name} },
			Interfaces: func() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("192.168.3.1/24")} },
		})
		line := 0
		if r != nil {
			line = r.Line
		}
		if line != c.line {
			t.Errorf("%+v: line %d", c, line)
		}
	}
	if asked == 0 {
		t.Error("no names were asked for")
	}
	own, err := Parse("host all all samehost trust")
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{Remote: netip.MustParseAddr("192.168.3.1"), MemberOf: func(string) bool { return false }}
	c.Interfaces = func() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("192.168.3.1/24")} }
	if Find(own, c) == nil {
		t.Error("an address of the machine is not the same host")
	}
	if c.Remote = netip.MustParseAddr("192.168.3.2"); Find(own, c) != nil {
		t.Error("a neighbour is the same host")
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
