package config

import (
	"net"
	"testing"
)

func TestOnLoopback_OnlyLoopbackAddressesCount(t *testing.T) {
	for ip, loopback := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "0.0.0.0": false,
		"::": false, "10.0.0.1": false, "192.0.2.1": false, "fe80::1": false} {
		if got := onLoopback(&net.TCPAddr{IP: net.ParseIP(ip)}); got != loopback {
			t.Errorf("%s: %v", ip, got)
		}
	}
	if onLoopback(&net.TCPAddr{}) {
		t.Error("an address without an IP counts as a loopback address")
	}
}
