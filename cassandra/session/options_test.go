package session

import "testing"

// The driver sends a statement at once, and does not wait for others to send with it.
func TestConfigure_SendsStatementsAtOnce(t *testing.T) {
	cfg, err := (&Options{Hosts: []string{"127.0.0.1"}}).Configure("")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.WriteCoalesceWaitTime != 0 {
		t.Errorf("a statement waits for %s, want 0", cfg.WriteCoalesceWaitTime)
	}
}
