package validation

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"

	"carrel/edge/jsontext"
)

// SyntaxError returns the error of a query text that the parser has refused with e, or accepted if e
// is nil. It returns nil if there is none.
func SyntaxError(text string, e *gqlerror.Error) *gqlerror.Error {
	if e == nil && !mayHaveHalfPair(text) {
		return nil
	}
	if fault := lexicalError(text); fault != nil && (e == nil || !follows(fault, e)) {
		return fault
	}
	return e
}

// lexicalError returns the first fault of a query text that lies within a token, or nil. The parser
// reports most of them as "Unexpected <Invalid>". The lexer accepts half of a surrogate pair, which
// is a fault here, because it becomes U+FFFD.
func lexicalError(text string) *gqlerror.Error {
	characters := []rune(text)
	l := lexer.New(&ast.Source{Input: text})
	for {
		token, err := l.ReadToken()
		var fault *gqlerror.Error
		switch {
		case errors.As(err, &fault):
			return &gqlerror.Error{Message: inCharacters(fault.Message, characters, token.Pos.End), Locations: fault.Locations}
		case err != nil || token.Kind == lexer.EOF:
			return nil
		case token.Kind == lexer.String && HasHalfPair(string(characters[token.Pos.Start:token.Pos.End])):
			return gqlerror.ErrorLocf("", token.Pos.Line, token.Pos.Column,
				`The string has half of a surrogate pair, such as \ud800 alone, which is no character.`)
		}
	}
}

// inCharacters corrects a message of the lexer, which quotes the first byte of a character. The
// character is the one at an index.
func inCharacters(message string, characters []rune, index int) string {
	if index >= len(characters) || characters[index] < utf8.RuneSelf {
		return message
	}
	name := string(characters[index])
	quoted := string(rune(name[0])) // as the lexer does
	if !unicode.IsPrint(characters[index]) {
		name = fmt.Sprintf("%U", characters[index])
	}
	return strings.Replace(message, `"`+quoted+`"`, `"`+name+`"`, 1)
}

// mayHaveHalfPair reports whether a query text may have the escape of a surrogate.
func mayHaveHalfPair(text string) bool {
	return strings.Contains(text, `\ud`) || strings.Contains(text, `\uD`)
}

// HasHalfPair reports whether a valid string literal escapes half of a surrogate pair.
func HasHalfPair(literal string) bool {
	for at := strings.IndexByte(literal, '\\'); at >= 0; at = strings.IndexByte(literal, '\\') {
		literal = literal[at:]
		n, whole := len(`\n`), true
		if literal[1] == 'u' && literal[2] != '{' {
			n, whole = jsontext.CharacterLength([]byte(literal[:min(len(literal), 2*len(`\u0000`))]))
		}
		if !whole {
			return true
		}
		literal = literal[n:]
	}
	return false
}

// follows reports whether the position of a comes after that of b.
func follows(a, b *gqlerror.Error) bool {
	if len(a.Locations) == 0 || len(b.Locations) == 0 {
		return false
	}
	at, other := a.Locations[0], b.Locations[0]
	return at.Line > other.Line || at.Line == other.Line && at.Column > other.Column
}
