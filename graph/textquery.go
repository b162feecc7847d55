package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/note"
)

// TextQueryOf returns the request of a field Content.revision: its arguments, and the languages
// that the request accepts.
func TextQueryOf(ctx context.Context, field graphql.CollectedField) (note.TextQuery, error) {
	e := ExecutionOf(ctx)
	op := e.OperationContext
	args, err := newExecutionContext(op, nil, nil).field_Content_revision_args(ctx, field.ArgumentMap(op.Variables))
	if err != nil {
		return note.TextQuery{}, err
	}
	q := note.TextQuery{Accept: e.Locales}
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

// titleFields are the fields of a revision that note.TextQuery.TitleOnly covers.
var titleFields = map[string]bool{
	"__typename": true, "key": true, "branch": true, "number": true, "locale": true, "title": true, "isCurrent": true,
}

func isTrue(v any) bool {
	b, _ := v.(*bool)
	return b != nil && *b
}
