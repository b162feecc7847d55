//go:build !race

package observe

import (
	"reflect"
	"strings"
	"testing"

	"carrel/backend"
	"carrel/library/storetest"
)

// TestStore_MeasuredStoreConforms: a measured store fulfils the contract of stores.
func TestStore_MeasuredStoreConforms(t *testing.T) {
	m := NewMetrics()
	measured := m.Store(openStore(t), nil)
	storetest.Run(t, func(*testing.T) backend.Store { return measured })
	methods := map[string]bool{}
	for _, line := range ownMetrics(t, m, "store_call_seconds_count") {
		_, rest, _ := strings.Cut(line, `method="`)
		method, _, _ := strings.Cut(rest, `"`)
		methods[method] = true
	}
	// All methods of backend.Store but ApplyIndexBatch, which sends nothing.
	if all := reflect.TypeFor[backend.Store]().NumMethod() - 1; len(methods) != all {
		t.Errorf("%d of %d methods were counted: %v", len(methods), all, methods)
	}
	if len(ownMetrics(t, m, `store_call_seconds_count{method="Commit",outcome="refused"`)) != 1 {
		t.Error("refused conditional writes were not counted as such")
	}
}
