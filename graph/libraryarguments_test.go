package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/library"
)

// TestLibraryArguments_AreDecodedTheSameWay checks that plans of operations and requests of pages
// know each argument of User.library, and decode it to the same query.
func TestLibraryArguments_AreDecodedTheSameWay(t *testing.T) {
	values := map[string]any{
		"first": int64(3), "after": "a", "last": int64(4), "before": "b", "includeShared": true,
		"orderBy": map[string]any{"field": "LAST_MODIFIED", "direction": "DESC"},
		"filter":  map[string]any{"text": "word"},
	}
	const query = `{ viewer { library { nodes { id } } } }`
	op, fields := libraries(t, query)
	e := &Execution{OperationContext: op, Plans: NewPlanCache(query)}
	ec := newExecutionContext(op, nil, nil)
	var none library.LibraryQuery
	for _, arg := range parsedSchema.Types["User"].Fields.ForName("library").Arguments {
		value, known := values[arg.Name]
		if !known {
			t.Errorf("this test has no value for the argument %s", arg.Name)
			continue
		}
		args, err := ec.field_User_library_args(t.Context(), map[string]any{arg.Name: value})
		if err != nil {
			t.Fatalf("%s: %v", arg.Name, err)
		}
		request := e.pageRequest(fields[0], args).Query
		var planned library.LibraryQuery
		if err := setArgument(t.Context(), op, &planned, arg.Name, value); err != nil {
			t.Errorf("%s: %v", arg.Name, err)
		}
		if cmp.Equal(planned, none) {
			t.Errorf("%s changes nothing in the query", arg.Name)
		}
		// Which rows are read depends on the selection, not on the arguments.
		request.NoEntries, request.WithPermissions, request.OtherSide = false, false, false
		if diff := cmp.Diff(planned, request); diff != "" {
			t.Errorf("%s (-planned +requested):\n%s", arg.Name, diff)
		}
	}
}
