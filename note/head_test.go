package note

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
)

var (
	someText = TextID{1, 2, 15: 0xff}
	someNote = "why: Ä\u202e"
)

// codecs are rows with their stored bytes, and the functions that decode them.
var codecs = []struct {
	name   string
	row    interface{ encodeRow() []byte }
	golden string
	decode func([]byte) (any, error)
}{
	{"head", encodes(newHead.Encode), "010000020202000000", decoder(DecodeHead)},
	{"head with text", encodes(Head{Begun: true, Locale: "en_GB", Last: 3, Current: 2, Working: 3, Open: 7, Title: "T",
		Shown: []Shown{{"", 4}, {"en_GB", 2}}}.Encode),
		"010105656e5f47420604060e015404000805656e5f474204", decoder(DecodeHead)},
	{"branch", encodes(branchRow{CreatedAt: 5, By: "u:t:a", CopiedFrom: 1}.encode), "010a05753a743a6102", decoder(decodeBranch)},
	{"locale", encodes(LocaleRow{Last: 70, Current: None, Working: 69}.encode), "018c01018a01", decoder(decodeLocaleRow)},
	{"revision", encodes(revisionRow{Title: "Ä", Text: text{Body: "b", Size: 1}, Author: "u:t:a", CreatedAt: 9, Base: None}.encode),
		"0102c38400016205753a743a61120100", decoder(decodeRevision)},
	{"revision of a long text", encodes(revisionRow{Title: "t", Text: text{ID: someText, Size: 5000}, Base: 3, Suggestion: "00ff"}.encode),
		"01017401010200000000000000000000000000ff904e00000604" + "30306666", decoder(decodeRevision)},
	{"suggestion", encodes(suggestionRow{Branch: 2, Locale: "fr", Title: "t", Note: &someNote, Size: 8, Author: "u:t:a", CreatedAt: 4,
		Base: 1, State: Rejected, DecidedBy: "u:t:b", Revision: None}.encode),
		"0104026672017401" + "0a7768793a20c384e280ae" + "1005753a743a6108020605753a743a6201", decoder(decodeSuggestion)},
	{"open suggestion", encodes(suggestionRow{Branch: 1, State: Open, Base: None, Revision: None}.encode),
		"010200000000000001020001", decoder(decodeSuggestion)},
}

type encodes func() []byte

func (e encodes) encodeRow() []byte { return e() }

func decoder[T any](decode func([]byte) (T, error)) func([]byte) (any, error) {
	return func(b []byte) (any, error) { return decode(b) }
}

// encodeAny encodes the result of a decoder.
func encodeAny(t *testing.T, row any) []byte {
	t.Helper()
	switch row := row.(type) {
	case Head:
		return row.Encode()
	case branchRow:
		return row.encode()
	case LocaleRow:
		return row.encode()
	case revisionRow:
		return row.encode()
	case suggestionRow:
		return row.encode()
	}
	t.Fatalf("a row of type %T", row)
	return nil
}

// The bytes must not change, because stores contain them.
func TestRows_EncodingIsStable(t *testing.T) {
	for _, c := range codecs {
		if got := hex.EncodeToString(c.row.encodeRow()); got != c.golden {
			t.Errorf("%s is %s, want %s", c.name, got, c.golden)
		}
		row, err := c.decode(c.row.encodeRow())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if again := hex.EncodeToString(encodeAny(t, row)); again != c.golden {
			t.Errorf("%s is %s after decoding, want %s", c.name, again, c.golden)
		}
	}
}

func TestRows_DamageIsRefused(t *testing.T) {
	for _, c := range codecs {
		whole := c.row.encodeRow()
		for n := 1; n < len(whole); n++ {
			if row, err := c.decode(whole[:n]); err == nil {
				t.Errorf("%s: %d of %d bytes are read as %+v", c.name, n, len(whole), row)
			}
		}
		if _, err := c.decode(append(whole[:len(whole):len(whole)], 0)); err == nil {
			t.Errorf("%s: an extra byte is not detected", c.name)
		}
		// A byte 2 in place of a flag is refused, and elsewhere it is what it says.
		for n := 1; n < len(whole); n++ {
			altered := bytes.Clone(whole)
			altered[n] = 2
			if row, err := c.decode(altered); err == nil && !bytes.Equal(encodeAny(t, row), altered) {
				t.Errorf("%s: %x is read as %+v", c.name, altered, row)
			}
		}
		other := append([]byte{rowVersion + 1}, whole[1:]...)
		if _, err := c.decode(other); err == nil {
			t.Errorf("%s: a later version is read", c.name)
		}
	}
	for _, h := range []Head{{Last: 1, Current: 2, Working: 1}, {Last: 1, Current: 1}, {Last: 1, Current: 1, Working: 1, Open: -1},
		{Last: 1, Current: 1, Working: 1, Shown: make([]Shown, MaxLocales+1)}} {
		if _, err := DecodeHead(h.Encode()); err == nil {
			t.Errorf("%+v is read", h)
		}
	}
	for _, l := range []LocaleRow{noRevisions, {Last: 1, Current: 2}, {Last: 1, Working: 2}, {Last: 1, Current: -2}} {
		if _, err := decodeLocaleRow(l.encode()); err == nil {
			t.Errorf("%+v is read", l)
		}
	}
}

func TestRows_MissingOnesMeanNoText(t *testing.T) {
	h, err := DecodeHead(nil)
	if err != nil || !reflect.DeepEqual(h, newHead) {
		t.Errorf("head %+v, %v", h, err)
	}
	l, err := decodeLocaleRow(nil)
	if err != nil || l != noRevisions {
		t.Errorf("row of a locale %+v, %v", l, err)
	}
}

func TestStates_HaveTheirContractNames(t *testing.T) {
	for s, name := range map[State]string{0: "", Open: "OPEN", Accepted: "ACCEPTED", Rejected: "REJECTED", Withdrawn: "WITHDRAWN", 5: ""} {
		if s.String() != name {
			t.Errorf("state %d is %q, want %q", s, s, name)
		}
		if got, ok := ParseState(name); ok != (name != "") || ok && got != s {
			t.Errorf("%q is %d, %v", name, got, ok)
		}
	}
}

func TestTextID_BeginsWithItsTime(t *testing.T) {
	zeros := func([]byte) {}
	const at = clock.Instant(1_700_000_000_123_456)
	id := newTextID(at, func(b []byte) { b[0], b[len(b)-1] = 0xab, 0xcd })
	if id.String() != "018bcfe5687b01c8ab000000000000cd" {
		t.Errorf("id %s", id)
	}
	if id.At() != at/1000*1000 {
		t.Errorf("its time is %d, want %d to the millisecond", id.At(), at)
	}
	if early, late := newTextID(at, zeros).String(), newTextID(at+1, zeros).String(); early >= late {
		t.Errorf("%s is not before %s", early, late)
	}
	if back, ok := ParseTextID(id.String()); !ok || back != id {
		t.Errorf("read as %s, %v", back, ok)
	}
	for _, s := range []string{"", "018bcfe5687bab0000000000000000c", "018bcfe5687b01c8ab000000000000cd00",
		"018BCFE5687bab0000000000000000cd", "x18bcfe5687bab0000000000000000cd"} {
		if _, ok := ParseTextID(s); ok {
			t.Errorf("%q is an id", s)
		}
	}
}

func TestKeys_AreOrderedByNumber(t *testing.T) {
	if a, b := branchKey(9), branchKey(10); a.Key >= b.Key {
		t.Errorf("%q is not before %q", a.Key, b.Key)
	}
	if a, b := revisionKey(1, "en", 99), revisionKey(1, "en", 100); a.Key >= b.Key {
		t.Errorf("%q is not before %q", a.Key, b.Key)
	}
	slice := localeSlice("c:t:a", 1)
	for key, in := range map[string]bool{
		branchKey(1).Key: false, localeKey(1, "").Key: true, localeKey(1, "en_GB").Key: true, localeKey(1, "xx").Key: true,
		branchKey(2).Key: false, localeKey(2, "").Key: false, branchKey(0).Key: false,
	} {
		if (key >= slice.From && key < slice.To) != in {
			t.Errorf("%q is a locale of branch 1: %v", key, !in)
		}
	}
	if got := localeOf(localeKey(7, "de_AT").Key); got != "de_AT" {
		t.Errorf("locale %q", got)
	}
	for _, p := range []branchLocale{{1, ""}, {2, "en"}, {1<<31 - 1, "en_GB"}} {
		branch, locale, number, err := revisionOf(revisionKey(p.Branch, p.Locale, 7).Key)
		if diff := cmp.Diff(p, branchLocale{branch, locale}); diff != "" || number != 7 || err != nil {
			t.Errorf("revision %d of %+v, %v", number, branchLocale{branch, locale}, err)
		}
	}
	for _, key := range []string{"", "1/en", "x/en/1", "1/en/x", "1/en/1/1"} {
		if _, _, _, err := revisionOf(key); err == nil {
			t.Errorf("%q is the key of a revision", key)
		}
	}
}

// A decoded row is the same after it was encoded and decoded again.
func FuzzRows(f *testing.F) {
	for i, c := range codecs {
		f.Add(byte(i), c.row.encodeRow())
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		c := codecs[int(which)%len(codecs)]
		row, err := c.decode(b)
		if err != nil || b == nil {
			return
		}
		again, err := c.decode(encodeAny(t, row))
		if err != nil {
			t.Fatalf("%s: %x is decoded as %+v, whose encoding cannot be decoded: %v", c.name, b, row, err)
		}
		if diff := cmp.Diff(row, again, cmp.AllowUnexported(suggestionRow{}, revisionRow{}, branchRow{})); diff != "" {
			t.Errorf("%s of %x (-first +second):\n%s", c.name, b, diff)
		}
	})
}
