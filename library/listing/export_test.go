package listing

// Finds reports whether a search for text finds an item with the texts in.
func Finds(text string, in ...string) (bool, error) {
	s, err := new(folding).newSearch(text)
	return s == nil || s.matches(in...), err
}

// Fold returns what a character is compared as.
func Fold(r rune) string { return fold(r) }

// Separator is what Fold returns for characters that are part of no word. A folding keeps the
// computed keys of the characters below FoldedChars.
const (
	Separator   = separator
	FoldedChars = foldedChars
)
