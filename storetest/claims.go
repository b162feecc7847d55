package storetest

import (
	"fmt"

	"carrel/core/claim"
	"carrel/core/fault"
)

func claimAreas() []area {
	return []area{
		{"ReadClaim", []check{
			{"It must return the zero Claim where there is none", readClaim},
		}},
		{"PutClaim", []check{
			{"It must return the claim that the key has then, the zero Claim where it has none", putClaim},
			{"a claim replaces the one with its token only", replaceClaim},
			{"one of many that put a claim at the same time wins", raceForClaim},
		}},
		{"DropClaim", []check{
			{"DropClaim must remove the claim of a key iff it points to record and, where token is not nil, has that token", dropClaim},
		}},
		{"ScanClaims", []check{
			{"each claim is listed once, in a permanent order", scanClaims},
		}},
	}
}

// claimed returns a claim of a name of this subtest.
func (s *env) claimed(name, record string) claim.Claim {
	e := s.entry()
	return claim.Claim{Key: claim.URL(s.tenant, "https://e.com/"+name), Record: record, Token: claim.Token(e), Until: s.tick()}
}

// put puts a claim. It may repeat the call after an unknown outcome, because the result is the
// claim that the key has then.
func (s *env) put(c claim.Claim, over *claim.Token) claim.Claim {
	s.Helper()
	got, err := s.tryPut(c, over)
	s.ok(err)
	return got
}

func (s *env) tryPut(c claim.Claim, over *claim.Token) (got claim.Claim, err error) {
	for range 8 {
		if got, err = s.Claims.PutClaim(s.ctx, c, over); !fault.MayHaveCommitted(err) {
			break
		}
	}
	return got, err
}

// drop removes a claim.
func (s *env) drop(k claim.Key, record string, token *claim.Token) {
	s.Helper()
	err := s.Claims.DropClaim(s.ctx, k, record, token)
	for n := 0; n < 8 && fault.MayHaveCommitted(err); n++ {
		err = s.Claims.DropClaim(s.ctx, k, record, token)
	}
	s.ok(err)
}

// wantClaim compares the claim of a key.
func (s *env) wantClaim(what string, k claim.Key, want claim.Claim) {
	s.Helper()
	for _, serial := range []bool{false, true} {
		got, err := s.Claims.ReadClaim(s.ctx, k, serial)
		s.ok(err)
		s.same(what, got, want)
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
	one, two := s.claimed("a", "c:x:1"), s.claimed("a", "c:x:2")
	s.same("the first", s.put(one, nil), one)
	s.same("the first again", s.put(one, nil), one)
	s.same("a second", s.put(two, nil), one)
	long := s.claimed("é/ü?"+fmt.Sprintf("%02000d", 7), "c:x:3")
	s.same("a long name", s.put(long, nil), long)
	s.wantClaim("a long name", long.Key, long)
	missing := s.claimed("b", "c:x:4")
	s.same("over a token where there is none", s.put(missing, &missing.Token), claim.Claim{})
	s.wantClaim("after that", missing.Key, claim.Claim{})
}

func replaceClaim(s *env) {
	one, two, three := s.claimed("a", "c:x:1"), s.claimed("a", "c:x:2"), s.claimed("a", "c:x:3")
	s.put(one, nil)
	s.same("over another token", s.put(three, &two.Token), one)
	s.same("over its token", s.put(two, &one.Token), two)
	s.same("again", s.put(two, &one.Token), two)
	s.same("over a token that it had", s.put(three, &one.Token), two)
	s.wantClaim("what is there", one.Key, two)
}

// raceForClaim has many records claim one name, then replace one claim.
func raceForClaim(s *env) {
	rivals := make([]claim.Claim, racers)
	for n := range rivals {
		rivals[n] = s.claimed("a", fmt.Sprintf("c:x:%d", n))
	}
	var over *claim.Token
	for range 2 {
		got, errs := make([]claim.Claim, racers), make([]error, racers)
		together(func(n int) { got[n], errs[n] = s.tryPut(rivals[n], over) })
		for n := range got {
			s.ok(errs[n])
			s.same("what every caller got", got[n], got[0])
		}
		s.wantClaim("the winner", rivals[0].Key, got[0])
		winner := got[0].Token
		over = &winner
		for n := range rivals {
			rivals[n].Token[0] ^= 0xff
		}
	}
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
	for _, limit := range []int{1, 3, 1000} {
		found := map[claim.Key]claim.Claim{}
		var after claim.Key
		for range 10_000 {
			page, err := s.Claims.ScanClaims(s.ctx, after, limit)
			s.ok(err)
			if len(page) > limit {
				s.Fatalf("%d claims on a page of %d", len(page), limit)
			}
			for _, c := range page {
				after = c.Key
				if _, ours := want[c.Key]; !ours {
					continue // of another subtest
				}
				if _, twice := found[c.Key]; twice {
					s.Fatalf("%v is listed twice", c.Key)
				}
				found[c.Key] = c
			}
			if len(page) == 0 {
				break
			}
		}
		s.same(fmt.Sprintf("the claims, by pages of %d", limit), found, want)
	}
}
