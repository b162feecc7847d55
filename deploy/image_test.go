package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// buildPages makes the test run the steps of the Dockerfile that build the web pages,
// too. Otherwise they are copied from web/dist, where `make web` has built them with the
// same commands.
var buildPages = flag.Bool("build-pages", false, "run the steps that build the web pages too")

const (
	maxImageBytes = 60_000_000
	startTimeout  = 30 * time.Second
	answerWithin  = 10 * time.Second
)

// image is the content of the image, made by the steps of the Dockerfile.
type image struct {
	folder string
	uid    uint32
	gid    uint32
}

// buildImage runs the steps of all stages, each in an empty directory that serves as its
// file system.
func buildImage(t *testing.T) *image {
	t.Helper()
	b := &builder{t: t, context: buildContext(t), folders: map[string]string{}}
	for _, s := range dockerfile(t) {
		b.build(s)
	}
	img := &image{folder: b.folder}
	if _, err := fmt.Sscanf(final(t).one(t, "USER").text, "%d:%d", &img.uid, &img.gid); err != nil {
		t.Fatal(err)
	}
	return img
}

// builder is a run of a Dockerfile.
type builder struct {
	t       *testing.T
	context string            // the directory from which COPY takes files
	folders map[string]string // of the stages, by name
	folder  string            // of the current stage
	workdir string
	env     map[string]string
}

// build runs the steps of a stage.
func (b *builder) build(s *stage) {
	b.folder, b.workdir, b.env = open(b.t), "/", map[string]string{"TARGETOS": runtime.GOOS, "TARGETARCH": runtime.GOARCH,
		"VERSION": "v0.0.0-test"}
	b.folders[s.name] = b.folder
	if s.name == "web" && !*buildPages {
		pages := filepath.Join(root, "web", "dist")
		if _, err := os.Stat(filepath.Join(pages, "index.html")); err != nil {
			b.t.Fatal("web/dist is not built: run `make web`, or this test with -args -build-pages")
		}
		b.copy(pages, "/src/web/dist")
		return
	}
	for _, i := range s.instructions {
		switch i.name {
		case "WORKDIR":
			b.workdir = i.text
			b.must(os.MkdirAll(b.at("."), 0o755))
		case "ARG", "ENV", "LABEL", "EXPOSE", "USER", "VOLUME", "HEALTHCHECK", "ENTRYPOINT", "CMD":
		case "RUN":
			b.run(i.text)
		case "COPY":
			words := i.words()
			for _, from := range words[:len(words)-1] {
				b.copyStep(i.flags["from"], from, words[len(words)-1], len(words) > 2)
			}
		default:
			b.t.Fatalf("%s: this test does not support the instruction", i.name)
		}
	}
}

// at returns the path on this machine of a path inside the stage.
func (b *builder) at(name string) string {
	if !strings.HasPrefix(name, "/") {
		name = filepath.Join(b.workdir, name)
	}
	return filepath.Join(b.folder, name)
}

func (b *builder) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// run runs a command of the stage in its directory, with the variables of the stage.
func (b *builder) run(command string) {
	b.t.Helper()
	shell := exec.CommandContext(b.t.Context(), "sh", "-eu", "-c", command)
	shell.Dir, shell.Env = b.at("."), append(os.Environ(), "REVISION=")
	for name, value := range b.env {
		shell.Env = append(shell.Env, name+"="+value)
	}
	if out, err := shell.CombinedOutput(); err != nil {
		b.t.Fatalf("RUN %s: %v\n%s", command, err, out)
	}
}

// copyStep copies a file or the content of a directory. Files of a base image, such as
// the certificate authorities, are taken from this machine.
func (b *builder) copyStep(stage, from, to string, intoFolder bool) {
	b.t.Helper()
	source := filepath.Join(b.context, from)
	if stage != "" {
		source = filepath.Join(b.folders[stage], from)
		if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(from, "/etc/") {
			source = from
		}
	}
	info, err := os.Stat(source)
	b.must(err)
	if !info.IsDir() && (intoFolder || strings.HasSuffix(to, "/")) {
		to = filepath.Join(to, filepath.Base(from))
	}
	b.copy(source, to)
}

func (b *builder) copy(source, to string) {
	b.t.Helper()
	info, err := os.Stat(source)
	b.must(err)
	b.must(os.MkdirAll(filepath.Dir(b.at(to)), 0o755))
	if info.IsDir() {
		b.must(os.MkdirAll(b.at(to), 0o755))
		source += "/."
	}
	out, err := exec.CommandContext(b.t.Context(), "cp", "-RL", source, b.at(to)).CombinedOutput()
	if err != nil {
		b.t.Fatalf("copying %s: %v: %s", source, err, out)
	}
}

// open returns an empty directory that every user can enter. t.TempDir would be
// inaccessible to the user of the image.
func open(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "carrel-image-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// buildContext returns a directory with the files of the project that .dockerignore does
// not exclude.
func buildContext(t *testing.T) string {
	t.Helper()
	ignored := strings.Fields(strings.TrimSpace(withoutComments(read(t, ".dockerignore"))))
	for i := range ignored {
		ignored[i] = strings.TrimPrefix(ignored[i], "**/")
	}
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	folder := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		under := func(i string) bool { return name == i || strings.HasPrefix(name, i+"/") }
		text, err := os.ReadFile(filepath.Join(root, name))
		if slices.ContainsFunc(ignored, under) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		info, statErr := os.Stat(filepath.Join(root, name))
		to := filepath.Join(folder, name)
		if err := errors.Join(err, statErr, os.MkdirAll(filepath.Dir(to), 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// withoutComments removes the lines that begin with a hash.
func withoutComments(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// size returns the sum of the sizes of all files.
func (img *image) size(t *testing.T) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(img.folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		bytes += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// command returns a command that runs a program of the image as its user. If the test
// runs as root, the content of the image is also the root of the command's file system;
// no other user may do that.
func (img *image) command(t *testing.T, env map[string]string, program string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(filepath.Join(img.folder, program), args...)
	c.Dir, c.Env = img.folder, []string{}
	if os.Geteuid() == 0 {
		c.Path, c.Args[0], c.Dir = program, program, "/"
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: img.folder, Credential: &syscall.Credential{Uid: img.uid, Gid: img.gid}}
	}
	for name, value := range env {
		if os.Geteuid() != 0 {
			value = strings.Replace(value, "pebble:/", "pebble:"+img.folder+"/", 1)
		}
		c.Env = append(c.Env, name+"="+value)
	}
	return c
}

// give makes the user of the image the owner of a file or directory of it.
func (img *image) give(t *testing.T, name string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(filepath.Join(img.folder, name), int(img.uid), int(img.gid)); err != nil {
		t.Fatal(err)
	}
}

func TestImage_RunsFromAnEmptyFolderAsAnotherUser(t *testing.T) {
	img := buildImage(t)
	size := img.size(t)
	t.Logf("the content of the image is %.1f MB", float64(size)/1e6)
	if size > maxImageBytes {
		t.Errorf("the content of the image is %d bytes, want at most %d", size, maxImageBytes)
	}
	for _, i := range final(t).all("COPY") {
		owner := i.flags["chown"]
		if owner != "" && owner != strconv.Itoa(int(img.uid))+":"+strconv.Itoa(int(img.gid)) {
			t.Errorf("%s belongs to %s", i.text, owner)
		}
		if owner != "" {
			img.give(t, i.words()[1])
		}
	}
	secret := filepath.Join(img.folder, "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef"), 0o444); err != nil {
		t.Fatal(err)
	}
	secretInside := "/secret"
	if os.Geteuid() != 0 {
		secretInside = secret
	}
	env := final(t).environment()
	if env["CARREL_LISTEN"] != "0.0.0.0:8080" || final(t).one(t, "EXPOSE").text != "8080" {
		t.Errorf("the image listens at %s and exposes %s", env["CARREL_LISTEN"], final(t).one(t, "EXPOSE").text)
	}
	// The port may be in use on this machine, and nothing outside should connect.
	env["CARREL_LISTEN"], env["CARREL_AUTH_HS256_FILE"] = "127.0.0.1:0", secretInside

	entry := final(t).one(t, "ENTRYPOINT").list(t)[0]
	address := start(t, img.command(t, env, entry, final(t).one(t, "CMD").list(t)...))

	env["CARREL_LISTEN"] = address
	checkHealth(t, img, env)
	if page := fetch(t, "http://"+address+"/app"); !strings.Contains(page, "<script") {
		t.Errorf("the page of the reference client is\n%s", page)
	}
	out, err := img.command(t, nil, entry, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "carrel v0.0.0-test go1.") {
		t.Errorf("the version is %q, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(img.folder, "data", "store")); err != nil {
		t.Errorf("the store is not on the volume: %v", err)
	}
	if user, err := os.Stat(filepath.Join(img.folder, "data", "store")); err == nil && os.Geteuid() == 0 &&
		user.Sys().(*syscall.Stat_t).Uid != img.uid {
		t.Error("the store belongs to another user than the image's")
	}
}

// checkHealth runs the health check of the image until the gateway is ready.
func checkHealth(t *testing.T, img *image, env map[string]string) {
	t.Helper()
	_, check, _ := strings.Cut(final(t).one(t, "HEALTHCHECK").text, "CMD ")
	health := instruction{name: "HEALTHCHECK", text: check}.list(t)
	var last string
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		out, err := img.command(t, env, health[0], health[1:]...).CombinedOutput()
		if err == nil && string(out) == "ready\n" {
			dead := maps.Clone(env)
			dead["CARREL_LISTEN"] = "127.0.0.1:1"
			if out, err := img.command(t, dead, health[0], health[1:]...).CombinedOutput(); err == nil {
				t.Errorf("the health check passes although nothing listens: %s", out)
			}
			return
		}
		last = fmt.Sprintf("%v: %s", err, out)
	}
	t.Fatalf("the health check does not pass: %s", last)
}

// start starts a gateway and returns its address. It is stopped at the end of the test,
// and must then exit by itself.
func start(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatalf("starting the image: %v", err)
	}
	lines := bufio.NewReader(out)
	first, readErr := lines.ReadString('\n')
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		<-drained
		if err := c.Wait(); err != nil {
			t.Errorf("the gateway ended with %v\n%s", err, errs.String())
		}
	})
	var log struct{ Msg, Addr string }
	if err := errors.Join(readErr, json.Unmarshal([]byte(first), &log)); err != nil || log.Msg != "listening" {
		t.Fatalf("the first line is %q: %v\n%s", first, err, errs.String())
	}
	return log.Addr
}

// fetch requests a page and returns its body.
func fetch(t *testing.T, address string) string {
	t.Helper()
	client := &http.Client{Timeout: answerWithin, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", address, response.Status, err, body)
	}
	return string(body)
}
