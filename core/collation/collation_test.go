package collation

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// inOrder has texts in their order. Letters come first, then accents, then case.
var inOrder = []string{
	"\u200d", "!", "2 b or not 2 b", "9 lives", "10 things", "a", "Äpfel", "apple", "Apple pie", "b", "B-side", "Chapter 2", "Chapter 10",
	"Chapter 10 a", "e", "E", "é", "éclair", "resume", "résumé", "Résumé", "resumes", "Zebra", "Ω", "Россия", "中文",
}

func TestOf_OrdersAsPeopleExpect(t *testing.T) {
	for i := 1; i < len(inOrder); i++ {
		if a, b := Of(inOrder[i-1]), Of(inOrder[i]); a >= b {
			t.Errorf("%q has the key %x, which is not less than %x of %q", inOrder[i-1], a, b, inOrder[i])
		}
	}
	for _, same := range [][2]string{{"é", "e\u0301"}, {"Å", "\u212b"}, {"", "\u200d"}} {
		if a, b := Of(same[0]), Of(same[1]); a != b {
			t.Errorf("%q and %q have different keys: %x, %x", same[0], same[1], a, b)
		}
	}
}

// TestOf_ComparesLikeTheCollator: the shortened keys have the order of the collator's own keys.
func TestOf_ComparesLikeTheCollator(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("aAbäÄéeE\u0301\u0327\u200d zZ019 -_ßœﬁΩωЖж中文日本がカ한글ابת\u00a0𝒜😀!?\u0000\x7f")
	texts := slices.Clone(inOrder)
	for range 1500 {
		text := make([]rune, random.IntN(12))
		for i := range text {
			text[i] = alphabet[random.IntN(len(alphabet))]
		}
		texts = append(texts, string(text))
	}
	for range 500 { // any characters
		text := make([]rune, random.IntN(4))
		for i := range text {
			for text[i] = rune(random.IntN(unicode.MaxRune)); text[i] >= 0xd800 && text[i] < 0xe000; {
				text[i] = rune(random.IntN(unicode.MaxRune))
			}
		}
		texts = append(texts, string(text))
	}
	c := collate.New(language.Und, collate.Numeric)
	full, keys := make([][]byte, len(texts)), make([]Key, len(texts))
	for i, text := range texts {
		full[i], keys[i] = c.KeyFromString(new(collate.Buffer), text), Of(text)
	}
	for i, a := range texts {
		for j, b := range texts[:i] {
			if want, got := bytes.Compare(full[i], full[j]), cmp.Compare(keys[i], keys[j]); want != got {
				t.Fatalf("%q and %q compare as %d, and their keys as %d: %x %x, of %x %x", a, b, want, got, keys[i], keys[j], full[i], full[j])
			}
		}
	}
}

func TestOf_DecidesByTheFirstCharacters(t *testing.T) {
	long := strings.Repeat("ä", 60)
	if Of(long+"a") >= Of(long+"b") {
		t.Error("the character after 60 others does not count")
	}
	first := strings.Repeat("ä", maxCharacters)
	if Of(first+"a") != Of(first+"b") || Hash(first+"a") != Hash(first+"b") || !Same(first+"a", first+"b") {
		t.Error("characters after the first ones count")
	}
	if Hash(long+"a") == Hash(long+"b") || Same(long+"a", long+"b") {
		t.Error("a hash is of fewer characters than a key")
	}
	for _, text := range []string{strings.Repeat("\ufdfa", 10_000), strings.Repeat("中", 10_000), strings.Repeat("9", 10_000)} {
		if k := Of(text); len(k) > MaxKey || len(k) == 0 {
			t.Errorf("%q… has a key of %d bytes", text[:6], len(k))
		}
	}
	if k := Of(""); k == "" {
		t.Error("a text has an empty key")
	}
	if n := len(Of("The quick brown fox jumps")); n > 70 {
		t.Errorf("an English title of 25 characters has a key of %d bytes", n)
	}
}

// TestKey_IsOfThisVersion fails if the keys have changed. Then Version must change too, so that libraries are rebuilt.
func TestKey_IsOfThisVersion(t *testing.T) {
	sum := sha256.New()
	for r := rune(1); r < 0x30000; r++ {
		if !unicode.Is(unicode.Cs, r) {
			fmt.Fprintf(sum, "%x ", Of(string(r)))
		}
	}
	for _, text := range inOrder {
		fmt.Fprintf(sum, "%x ", Of(text))
	}
	const want = "65eaceaaafade9de"
	if got := hex.EncodeToString(sum.Sum(nil)[:8]); got != want {
		t.Errorf("the keys of version %d have the sum %s, not %s: libraries that were built with them must be rebuilt", Version, got, want)
	}
}

func BenchmarkOf(b *testing.B) {
	for b.Loop() {
		Of("The quick brown fox jumps")
	}
}
