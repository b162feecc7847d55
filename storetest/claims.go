package storetest

import (
	"fmt"

	"carrel/core/claim"
)

func claimChecks() []check {
	return []check{
		{"ReadClaim", "It must return the zero Claim where there is none", readClaim},
		{"PutClaim", "It must return the claim that the key has then, the zero Claim where it has none", putClaim},
		{"PutClaim", "a claim replaces the one with its token only", func(s *env) { s.claims().replaces() }},
		{"PutClaim", "one of many that put a claim at the same time wins", func(s *env) { s.claims().races() }},
		{"DropClaim", "DropClaim must remove the claim of a key iff it points to record and, where token is not nil, has that token",
			dropClaim},
		{"ScanClaims", "each claim is listed once, in a permanent order", scanClaims},
	}
}

// claimed returns a claim of a name of this subtest.
func (s *env) claimed(name, record string) claim.Claim {
	e := s.entry()
	return claim.Claim{Key: claim.URL(s.tenant, "https://e.com/"+name), Record: record, Token: claim.Token(e), Until: s.tick()}
}

// put puts a claim.
func (s *env) put(c claim.Claim, over *claim.Token) claim.Claim {
	s.Helper()
	return s.claims().set(c, over)
}

// drop removes a claim.
func (s *env) drop(k claim.Key, record string, token *claim.Token) {
	s.Helper()
	s.settle(func() error { return s.Claims.DropClaim(s.ctx, k, record, token) })
}

// wantClaim compares the claim of a key.
func (s *env) wantClaim(what string, k claim.Key, want claim.Claim) {
	s.Helper()
	for _, serial := range []bool{false, true} {
		s.returns(what, want)(s.Claims.ReadClaim(s.ctx, k, serial))
	}
}

func readClaim(s *env) {
	one := s.claimed("a", "c:x:1")
	s.wantClaim("before there is one", one.Key, claim.Claim{})
	s.put(one, nil)
	s.wantClaim("the claim", one.Key, one)
	other := one.Key
	other.Space = claim.Email(s.tenant, "").Space
	s.wantClaim("the name in another space", other, claim.Claim{})
}

func putClaim(s *env) {
	s.claims().puts()
	long := s.claimed("é/ü?"+fmt.Sprintf("%02000d", 7), "c:x:3")
	s.same("a long name", s.put(long, nil), long)
	s.wantClaim("a long name", long.Key, long)
}

func dropClaim(s *env) {
	one := s.claimed("a", "c:x:1")
	other := s.claimed("a", "c:x:2")
	s.drop(one.Key, one.Record, nil)
	s.put(one, nil)
	s.drop(one.Key, other.Record, nil)
	s.drop(one.Key, other.Record, &one.Token)
	s.drop(one.Key, one.Record, &other.Token)
	s.wantClaim("after removals of other claims", one.Key, one)
	s.drop(one.Key, one.Record, &one.Token)
	s.wantClaim("after its removal", one.Key, claim.Claim{})
	s.same("another one after that", s.put(other, nil), other)
	s.drop(one.Key, other.Record, nil)
	s.wantClaim("after the removal of any claim of its record", one.Key, claim.Claim{})
}

func scanClaims(s *env) {
	want := map[claim.Key]claim.Claim{}
	for n := range 7 {
		c := s.claimed(fmt.Sprint("p", n), "c:x:1")
		want[c.Key] = c
		s.put(c, nil)
	}
	mail := s.claimed("", "u:x:1")
	mail.Key = claim.Email(s.tenant, "ann@e.com")
	want[mail.Key] = mail
	s.put(mail, nil)
	key := func(c claim.Claim) claim.Key { return c.Key }
	scan[claim.Key, claim.Claim]{s.Claims.ScanClaims, key, among(want)}.want(s, want)
}
