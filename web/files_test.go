package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// TestFiles_CompressedOnesAreServedAsTheyAre: the content is compressed when it is built, and not for a
// request. Clients without gzip, and those that request a range, get the plain content.
func TestFiles_CompressedOnesAreServedAsTheyAre(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, "export {}") // a buffer never fails
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	files := built()
	delete(files, "assets/index-Ab12.js")
	files["assets/index-Ab12.js.gz"] = &fstest.MapFile{Data: zipped.Bytes()}
	h := handler(Options{Dev: true}, files)
	for _, tc := range []struct {
		accept, ranges string
		status         int
		encoding, body string
	}{
		{"gzip, deflate, br", "", 200, "gzip", zipped.String()},
		{"br;q=1, gzip;q=0.5", "", 200, "gzip", zipped.String()},
		{"", "", 200, "", "export {}"},
		{"br, identity", "", 200, "", "export {}"},
		{"gzip;q=0, br", "", 200, "", "export {}"},
		{"gzip ; q=0.0", "", 200, "", "export {}"},
		{"gzip", "bytes=0-5", 206, "", "export"},
	} {
		header := http.Header{"Accept-Encoding": {tc.accept}}
		if tc.ranges != "" {
			header["Range"] = []string{tc.ranges}
		}
		for _, method := range []string{"GET", "HEAD"} {
			answer, body := ask(t, h, method, "/assets/index-Ab12.js", header)
			want := tc.body
			if method == "HEAD" {
				want = ""
			}
			got := answer.Header
			if answer.StatusCode != tc.status || body != want || got.Get("Content-Encoding") != tc.encoding ||
				got.Get("Vary") != "Accept-Encoding" ||
				got.Get("Content-Length") != strconv.Itoa(len(tc.body)) || got.Get("Content-Type") != "text/javascript; charset=utf-8" {
				t.Errorf("%s %q %q: %d %v %q", method, tc.accept, tc.ranges, answer.StatusCode, got, body)
			}
		}
	}
	if answer, _ := ask(t, h, "GET", "/assets/index-Ab12.js.gz", nil); answer.StatusCode != 404 {
		t.Errorf("the name of the compressed file: %d", answer.StatusCode)
	}
	files["assets/index-Ab12.js.gz"].Data = []byte("export {}")
	if answer, body := ask(t, handler(Options{Dev: true}, files), "GET", "/assets/index-Ab12.js", nil); answer.StatusCode != 500 ||
		body != "the file is damaged\n" {
		t.Errorf("a damaged file: %d %q", answer.StatusCode, body)
	}
}

// TestFiles_SeveralRangesAnswerTheWholeFile: a header with a thousand ranges does
// not make the answer longer than the file. A single range is answered.
func TestFiles_SeveralRangesAnswerTheWholeFile(t *testing.T) {
	h := handler(Options{Dev: true, Viewers: demoViewers}, built())
	for name, tc := range map[string]struct {
		ranges []string
		status int
		body   string
	}{
		"none":             {nil, 200, "export {}"},
		"one":              {[]string{"bytes=0-5"}, 206, "export"},
		"two":              {[]string{"bytes=0-5,2-3"}, 200, "export {}"},
		"a thousand":       {[]string{"bytes=" + strings.Repeat("0-,", 999) + "0-"}, 200, "export {}"},
		"two header lines": {[]string{"bytes=0-5", "bytes=2-3"}, 200, "export {}"},
	} {
		header := http.Header{}
		if tc.ranges != nil {
			header["Range"] = tc.ranges
		}
		answer, body := ask(t, h, "GET", "/assets/index-Ab12.js", header)
		if answer.StatusCode != tc.status || body != tc.body {
			t.Errorf("%s: %d %.100s", name, answer.StatusCode, body)
		}
		if tc.status == 206 {
			continue
		}
		if answer, body := ask(t, h, "GET", "/dev/viewers", header); answer.StatusCode != 200 || strings.Count(body, "a.b.c") != 1 {
			t.Errorf("%s, of the viewers: %d %.100s", name, answer.StatusCode, body)
		}
	}
}
