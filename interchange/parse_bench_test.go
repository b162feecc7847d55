package interchange

import "testing"

// BenchmarkParse measures the cost of a line before the store is called.
func BenchmarkParse(b *testing.B) {
	line := []byte(contentLineOf("encoding-json", "u:demo:ann", "g:demo:encoding"))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}
