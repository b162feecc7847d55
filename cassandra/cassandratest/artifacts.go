package cassandratest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// version is the version of cassandra-all in pom.xml.
const version = "5.0.6"

//go:embed pom.xml
var pom []byte

// copyDependencies is the Maven goal that copies the dependencies of the pom into a folder.
const copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

// javaPath returns the Java for the nodes. Cassandra 5.0 needs Java 17: later versions have removed
// what it relies on.
func javaPath(ctx context.Context) (string, error) {
	const wanted = "a test cluster needs Java 17: install openjdk-17-jre-headless, or set JAVA_HOME to one"
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	java, err := exec.LookPath(java)
	if err != nil {
		return "", errors.New(wanted)
	}
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s (%s does not run: %w)", wanted, java, err)
	}
	major := regexp.MustCompile(`version "(\d+)`).FindSubmatch(out)
	if major == nil || string(major[1]) != "17" {
		first, _, _ := strings.Cut(string(out), "\n")
		return "", fmt.Errorf("%s (%s is %s)", wanted, java, first)
	}
	return java, nil
}

// artifacts returns the folder with the jars of a node. They are downloaded once per machine. If
// several processes download them at the same time, one wins.
func artifacts(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for Cassandra's jars: %w", err)
	}
	home := filepath.Join(cache, "carrel")
	lib := filepath.Join(home, "cassandra-"+version)
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", errors.New("a test cluster needs Maven, which downloads Cassandra: install maven")
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(home, "downloading-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := download(ctx, mvn, work); err != nil {
		return "", err
	}
	// A folder with the final name is complete, because it is renamed last.
	if err := os.Rename(filepath.Join(work, "jars"), lib); err != nil {
		if _, stat := os.Stat(lib); stat == nil {
			return lib, nil // another process was faster
		}
		return "", err
	}
	return lib, nil
}

func download(ctx context.Context, mvn, work string) error {
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), pom, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-ntp", copyDependencies, "-DoutputDirectory="+filepath.Join(work, "jars"))
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("downloading Cassandra %s by Maven (%w): %s", version, err, firstError(string(out)))
	}
	return nil
}

// firstError returns the first line of Maven's output that reports an error.
func firstError(out string) string {
	for line := range strings.SplitSeq(out, "\n") {
		if rest, ok := strings.CutPrefix(line, "[ERROR] "); ok {
			return rest
		}
	}
	return strings.TrimSpace(out)
}
