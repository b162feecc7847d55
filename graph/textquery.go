package graph

import (
	"context"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"carrel/note"
)

// localesExtension is the name of the extension of an operation that stores the locales that its
// request accepts.
const localesExtension = "carrel.locales"

// SetLanguages sets the languages that the request of op accepts, from the lines of its header
// Accept-Language. They are parsed here, once, and not for each text.
func SetLanguages(op *graphql.OperationContext, lines []string) {
	op.Stats.SetExtension(localesExtension, note.AcceptedLocales(strings.Join(lines, ",")))
}

// TextQueryOf returns the request of a field Content.revision: its arguments, and the languages
// that the request accepts.
func TextQueryOf(ctx context.Context, field graphql.CollectedField) (note.TextQuery, error) {
	op := graphql.GetOperationContext(ctx)
	args, err := newExecutionContext(op, nil, nil).field_Content_revision_args(ctx, field.ArgumentMap(op.Variables))
	if err != nil {
		return note.TextQuery{}, err
	}
	q := note.TextQuery{}
	q.Accept, _ = op.Stats.GetExtension(localesExtension).([]string)
	q.Locale, _ = args["locale"].(*string)
	q.Branch, _ = args["branch"].(*int)
	q.Number, _ = args["number"].(*int)
	q.Strict, q.Working = isTrue(args["strictLocale"]), isTrue(args["working"])
	q.TitleOnly = true
	for _, f := range graphql.CollectFields(op, field.Selections, []string{"Revision"}) {
		q.TitleOnly = q.TitleOnly && titleFields[f.Name]
	}
	return q, nil
}

// titleFields are the fields of a revision that page.TextQuery.TitleOnly covers.
var titleFields = map[string]bool{
	"__typename": true, "key": true, "branch": true, "number": true, "locale": true, "title": true, "isCurrent": true,
}

func isTrue(v any) bool {
	b, _ := v.(*bool)
	return b != nil && *b
}
