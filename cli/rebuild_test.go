package cli

import (
	"strings"
	"testing"
)

func TestRebuild_RestoresALibrary(t *testing.T) {
	store := storeOf(t, fewLines)
	code, out, errs := command(t, "rebuild", "--store", store)
	if code != ExitDone || !strings.Contains(out, `"repaired": 0`) || strings.Contains(out, `"principals": 0`) ||
		strings.Contains(out, `"contents": 0`) {
		t.Errorf("everything: exit %d: %s%s", code, out, errs)
	}
	code, out, errs = command(t, "rebuild", "--store", store, "u:demo:ann", "U:demo:Ann")
	if code != ExitDone || strings.Count(out, `"principal": "u:demo:ann"`) != 2 || !strings.Contains(out, `"restored": 0`) ||
		!strings.Contains(out, `"removed": 0`) {
		t.Errorf("one library: exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := command(t, "rebuild", "--store", store, "u:demo:ann", "u:demo:nobody"); code != ExitFailed ||
		out != "" || !strings.Contains(errs, "no user or group u:demo:nobody") {
		t.Errorf("one of nobody: exit %d: %s%s", code, out, errs)
	}
	if code, out, errs := command(t, "audit", "--store", store); code != ExitDone {
		t.Errorf("the audit: exit %d: %s%s", code, out, errs)
	}
}
