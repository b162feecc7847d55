package storetest

import (
	"crypto/sha256"

	"carrel/core/commit"
)

func registerChecks() []check {
	return []check{
		{"PutCreationIfAbsent",
			"PutCreationIfAbsent stores c unless there is a row of its key, and returns the row that is stored afterwards",
			putCreationIfAbsent},
		{"PutCreationIfAbsent", "With replace, c must be stored iff the current row is *replace", replaceCreation},
		{"PutCreationIfAbsent", "A row must be kept until its own Until, even if it has replaced another", renewCreation},
		{"PutSettingIfAbsent",
			"PutSettingIfAbsent stores value under name unless there is a value, and must return the value that is stored afterwards",
			putSettingIfAbsent},
	}
}

// creation returns a creation with a key of this subtest.
func (s *env) creation(key, id string) commit.Creation {
	return commit.Creation{
		Key:       sha256.Sum256([]byte(s.tenant + " " + key)),
		InputHash: sha256.Sum256([]byte(id)),
		ID:        id,
		Until:     s.later(),
	}
}

// putCreation puts a creation.
func (s *env) putCreation(c commit.Creation, replace *commit.Creation) commit.Creation {
	s.Helper()
	return settled(s, func() (commit.Creation, error) { return s.Registers.PutCreationIfAbsent(s.ctx, c, replace) })
}

// putSetting puts a setting.
func (s *env) putSetting(name string, value []byte) []byte {
	s.Helper()
	return settled(s, func() ([]byte, error) { return s.Registers.PutSettingIfAbsent(s.ctx, name, value) })
}

func putCreationIfAbsent(s *env) {
	one, two := s.creation("a", "c:x:1"), s.creation("a", "c:x:2")
	s.same("the first", s.putCreation(one, nil), one)
	s.same("the second of a key", s.putCreation(two, nil), one)
	s.same("the first again", s.putCreation(one, nil), one)
	other := s.creation("b", "c:x:3")
	s.same("another key", s.putCreation(other, nil), other)
}

func replaceCreation(s *env) {
	one, two, three := s.creation("a", "c:x:1"), s.creation("a", "c:x:2"), s.creation("a", "c:x:3")
	s.same("the first", s.putCreation(one, nil), one)
	s.same("in place of one that is not stored", s.putCreation(three, &two), one)
	almost := one
	almost.Until++
	s.same("in place of one with another time", s.putCreation(three, &almost), one)
	almost = one
	almost.InputHash[0]++
	s.same("in place of one with another hash", s.putCreation(three, &almost), one)
	s.same("in place of the stored one", s.putCreation(two, &one), two)
	s.same("in place of one that was stored before", s.putCreation(three, &one), two)
	s.same("what is stored", s.putCreation(three, nil), two)
	missing := s.creation("b", "c:x:4")
	s.same("in place of one though none is stored", s.putCreation(missing, &missing), commit.Creation{})
	next := s.creation("b", "c:x:5")
	s.same("after it", s.putCreation(next, nil), next)
}

// renewCreation replaces a row by the same with a later time.
func renewCreation(s *env) {
	one := s.creation("a", "c:x:1")
	renewed := s.creation("a", "c:x:1")
	s.same("the first", s.putCreation(one, nil), one)
	s.same("the same with a later time", s.putCreation(renewed, &one), renewed)
	s.same("in place of the row as it was", s.putCreation(one, &one), renewed)
	s.same("what is kept", s.putCreation(s.creation("a", "c:x:4"), nil), renewed)
}

func putSettingIfAbsent(s *env) {
	name := "setting of " + s.tenant
	for n, value := range [][]byte{[]byte("first \x00\xff"), []byte("second"), []byte("first")} {
		got := s.putSetting(name, value)
		if string(got) != "first \x00\xff" {
			s.Fatalf("call %d returns %q", n, got)
		}
		clear(got)
		clear(value)
	}
	s.same("another name", s.putSetting(name+"/b", []byte("other")), []byte("other"))
}
