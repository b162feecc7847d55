package deploy

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compileIn compiles the project in a copy of it, and returns the path of the binary.
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

// maxBinary is the maximum size of the binary in bytes.
const maxBinary = 40e6

// TestRelease_IsReproducible is the quick form of `make release-check`.
func TestRelease_IsReproducible(t *testing.T) {
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
	if len(first) > maxBinary {
		t.Errorf("the binary has %d bytes, more than %d: does a package call methods by name?", len(first), int(maxBinary))
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
		t.Errorf("the version is %q, %v", out, err)
	}
	if dynamic, err := exec.CommandContext(t.Context(), "go", "version", "-m", one).Output(); err != nil ||
		!bytes.Contains(dynamic, []byte("CGO_ENABLED=0")) {
		t.Errorf("it was built with C: %v\n%s", err, dynamic)
	}
}

// TestRelease_SBOMHasEveryDependency checks that the SBOM contains the modules in the
// binary and the npm packages of the pages, and nothing that differs between builds.
func TestRelease_SBOMHasEveryDependency(t *testing.T) {
	binary := compileIn(t, "v1.2.3")
	c := exec.CommandContext(t.Context(), ".ci/sbom", binary, "v1.2.3")
	c.Dir = root
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	var bom struct {
		BOMFormat, SerialNumber string
		Metadata                struct {
			Timestamp string
			Component struct{ Name, Version string }
			Tools     []struct{ Hashes []any }
		}
		Components []struct {
			Ref           string `json:"bom-ref"`
			Name, Version string
		}
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal(out, &bom); err != nil {
		t.Fatal(err)
	}
	m := bom.Metadata
	if bom.BOMFormat != "CycloneDX" || m.Component.Name != "carrel" || m.Component.Version != "v1.2.3" {
		t.Errorf("it is a %s of %s %s", bom.BOMFormat, m.Component.Name, m.Component.Version)
	}
	if bom.SerialNumber != "" || m.Timestamp != "" || len(m.Tools) != 1 || len(m.Tools[0].Hashes) > 0 {
		t.Errorf("it differs from build to build: %s, %+v", bom.SerialNumber, m)
	}
	components, refs := map[string]string{}, map[string]bool{}
	for _, c := range bom.Components {
		components[c.Name], refs[c.Ref] = c.Version, true
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range info.Deps {
		if components[dep.Path] != dep.Version {
			t.Errorf("%s is %q in the SBOM and %s in the binary", dep.Path, components[dep.Path], dep.Version)
		}
	}
	var web struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal([]byte(read(t, "web/package.json")), &web); err != nil {
		t.Fatal(err)
	}
	for name, version := range web.Dependencies {
		if isOurs := strings.HasPrefix(version, "file:"); !isOurs && components[name] != version {
			t.Errorf("%s is %q in the SBOM and %s in package.json", name, components[name], version)
		}
	}
	if components["vite"] != "" || len(info.Deps) < 30 || len(web.Dependencies) < 5 {
		t.Errorf("the build tool vite is %q; %d modules, %d packages", components["vite"], len(info.Deps), len(web.Dependencies))
	}
	linked := false
	for _, d := range bom.Dependencies {
		for _, on := range d.DependsOn {
			linked = linked || on == "carrel-web@0.0.0"
			if !refs[on] {
				t.Errorf("%s depends on %s, which is no component", d.Ref, on)
			}
		}
	}
	if !linked {
		t.Error("the binary does not depend on the pages")
	}
}

// TestRelease_RefusesInvalidVersions checks that a release needs a version, because without one it
// could not be distinguished from another.
func TestRelease_RefusesInvalidVersions(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3 x", "v1.2.3;id", "latest"} {
		c := exec.CommandContext(t.Context(), ".ci/release", version, t.TempDir())
		c.Dir = root
		out, err := c.CombinedOutput()
		if c.ProcessState == nil || c.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "v1.2.3-rc.1") {
			t.Errorf("%q: %v: %s", version, err, out)
		}
	}
}
