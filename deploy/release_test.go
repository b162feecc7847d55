package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compileIn compiles the project in a copy of it, and returns the binary's path.
func compileIn(t *testing.T, version string) string {
	t.Helper()
	folder := buildContext(t)
	if err := os.CopyFS(filepath.Join(folder, "web", "dist"), os.DirFS(filepath.Join(root, "web", "dist"))); err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(t.TempDir(), "carrel")
	c := exec.CommandContext(t.Context(), ".ci/compile", output)
	c.Dir, c.Env = folder, append(os.Environ(), "VERSION="+version, "REVISION=abc")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return output
}

// TestRelease_TwoFoldersMakeTheSameBytes is the quick form of `make release-check`.
func TestRelease_TwoFoldersMakeTheSameBytes(t *testing.T) {
	one, two := compileIn(t, "v1.2.3"), compileIn(t, "v1.2.3")
	first, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(two)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("two builds differ: %d and %d bytes", len(first), len(second))
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{here, os.TempDir() + "/"} {
		if bytes.Contains(first, []byte(path)) {
			t.Errorf("the binary contains the path %s", path)
		}
	}
	out, err := exec.CommandContext(t.Context(), one, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "carrel v1.2.3 abc go1.") {
		t.Errorf("it says that it is %q, %v", out, err)
	}
	if dynamic, err := exec.CommandContext(t.Context(), "go", "version", "-m", one).Output(); err != nil || !bytes.Contains(dynamic, []byte("CGO_ENABLED=0")) {
		t.Errorf("it was built with C: %v\n%s", err, dynamic)
	}
}

// TestRelease_RefusesWhatIsNoVersion: a release without a version cannot be told from
// another.
func TestRelease_RefusesWhatIsNoVersion(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3 x", "v1.2.3;id", "latest"} {
		c := exec.CommandContext(t.Context(), ".ci/release", version, t.TempDir())
		c.Dir = root
		out, err := c.CombinedOutput()
		if c.ProcessState == nil || c.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "v1.2.3-rc.1") {
			t.Errorf("%q: %v: %s", version, err, out)
		}
	}
}
