package lease

import (
	"fmt"
	"net"
	"strings"
)

// Identity is how an instance is named in the Lease: its name, and after an at sign the host:port at which it serves its
// board.
type Identity struct{ Name, Address string }

func (i Identity) String() string { return i.Name + "@" + i.Address }

// ParseIdentity takes apart what String gives. A holder that is not one of ours has no address.
func ParseIdentity(text string) Identity {
	name, address, _ := strings.Cut(text, "@")
	return Identity{name, address}
}

func (i Identity) check() error {
	if i.Name == "" || strings.ContainsAny(i.Name, "@ \n") {
		return fmt.Errorf("instance name %q: it must not be empty and have no @ or space", i.Name)
	}
	host, port, err := net.SplitHostPort(i.Address)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("address %q of instance %s: it must be host:port, as other instances reach it", i.Address, i.Name)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("address %q of instance %s: no other instance can reach %s", i.Address, i.Name, host)
	}
	return nil
}
