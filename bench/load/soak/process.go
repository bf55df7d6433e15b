package soak

import (
	"fmt"
	"net"

	"github.com/warmpool/warmpool/bench/load/child"
)

// launch starts one of the programs of a run.
func launch(dir, name string, command ...string) (*child.Process, error) {
	return child.Launch(dir, name, []string{"POD_IP=127.0.0.1"}, command...)
}

// freeAddress is a free port as host:port.
func freeAddress() (string, error) {
	port, err := child.FreePort()
	return net.JoinHostPort("127.0.0.1", port), err
}

// onLoopback fails for an address that is not on this machine.
func onLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is not a loopback address; a run never leaves this machine", address)
	}
	return nil
}
