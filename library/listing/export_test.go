package listing

import (
	"context"

	"carrel/library"
	"carrel/principal"
)

// CopyIsWrong is what the sampler asks of a copy that was served.
func (s *Service) CopyIsWrong(ctx context.Context, owner principal.ID, source library.Bucket, e library.Entry, copied *library.ContentRows) (bool, error) {
	return s.copyIsWrong(ctx, owner, source, e, copied)
}

// Finds reports whether a filter for the words of one text matches items with others.
func Finds(text string, in ...string) (bool, error) {
	s, err := new(folding).newSearch(text)
	return s == nil || s.matches(in...), err
}

// Fold returns what a character is compared as.
func Fold(r rune) string { return fold(r) }

// What Fold returns for characters that are part of no word, and how far a folding keeps what it has computed.
const (
	Separator   = separator
	FoldedChars = foldedChars
)
