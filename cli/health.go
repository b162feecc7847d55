package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"carrel/config"
)

// maxHealthAnswer limits how much of the answer of /readyz is read. The gateway sends one short line.
const maxHealthAnswer = 1 << 10

// healthCommand is `carrel health`. It has the flags Listen and TLSCert of serve, so that a
// container checks the gateway with the settings of the gateway.
type healthCommand struct {
	Listen  string        `name:"listen" help:"Address of the gateway, as for serve. If it means all addresses of the machine, the loopback address is used." default:"127.0.0.1:8080" placeholder:"ADDR"`
	TLSCert string        `name:"tls-cert" help:"Certificate chain of the gateway, as for serve. If it is set, the request uses HTTPS. The certificate is not verified, because it names the public host, and nothing secret is sent." placeholder:"FILE"`
	Timeout time.Duration `name:"timeout" help:"How long to wait for the answer." default:"3s" placeholder:"TIME"`
}

// run requests /readyz once and prints the answer. It fails unless the gateway is ready.
func (c *healthCommand) run(ctx context.Context, s Streams, _ []string) error {
	address, err := c.url()
	if err != nil {
		return err
	}
	if c.Timeout <= 0 {
		return config.WrongUsage("timeout", c.Timeout.String(), "a time such as 3s")
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return config.WrongUsage("listen", c.Listen, "HOST:PORT, such as 127.0.0.1:8080")
	}
	// No proxy: the gateway runs on this machine. No redirects: /readyz has none.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("health: request to %s: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxHealthAnswer))
	if err != nil {
		return fmt.Errorf("health: reading the answer from %s: %w", address, err)
	}
	text := strings.TrimSpace(string(body))
	switch response.StatusCode {
	case http.StatusOK:
		_, err = fmt.Fprintln(s.Out, text)
		return err
	case http.StatusServiceUnavailable:
		return errors.New("health: " + text)
	}
	return fmt.Errorf("health: %s answered with status %d; is another program at this address?", address, response.StatusCode)
}

// url returns the address of /readyz on this machine.
func (c *healthCommand) url() (string, error) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", config.WrongUsage("listen", c.Listen, "HOST:PORT, such as 127.0.0.1:8080")
	}
	if port == "0" {
		return "", config.WrongUsage("listen", c.Listen, "the port that serve has chosen; the first line of its log contains it")
	}
	switch ip := net.ParseIP(host); {
	case host == "" || ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip != nil && ip.Equal(net.IPv6unspecified):
		host = "::1"
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/readyz", nil
}
