package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file writes a file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfig_LogContainsNoSecret(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	cfg := Config{AuthHS256File: file(t, "secret", secret+"\n"), AuthJWKS: "https://user:canary@keys.example.org/set?key=canary"}
	text, err := json.Marshal(cfg.LogValue().String())
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); strings.Contains(s, "canary") || strings.Contains(s, secret) || !strings.Contains(s, "keys.example.org/set") {
		t.Error(s)
	}
}
