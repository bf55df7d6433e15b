package soak

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// foreign lists the addresses outside of this machine that a process is connected to.
func foreign(pid int) ([]string, error) {
	own := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if inode, ok := strings.CutPrefix(target, "socket:["); err == nil && ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || !own[fields[9]] {
				continue
			}
			remote, err := remoteIP(fields[2])
			if err != nil {
				return nil, err
			}
			if !remote.IsLoopback() && !remote.IsUnspecified() && !slices.Contains(found, remote.String()) {
				found = append(found, remote.String())
			}
		}
	}
	return found, nil
}

// remoteIP reads an address as the kernel writes it: each word of four bytes in the order of the machine.
func remoteIP(field string) (net.IP, error) {
	text, _, _ := strings.Cut(field, ":")
	ip, err := hex.DecodeString(text)
	if err != nil {
		return nil, err
	}
	for word := range slices.Chunk(ip, 4) {
		slices.Reverse(word)
	}
	return ip, nil
}

// resources of a process, by the kernel.
type resources struct {
	resident   int64 // bytes
	descriptor int
	processor  float64 // seconds
}

func resourcesOf(pid int) (r resources, err error) {
	links, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return r, err
	}
	r.descriptor = len(links)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return r, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(status))[1], 10, 64)
	if err != nil {
		return r, err
	}
	r.resident = pages * int64(os.Getpagesize())
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return r, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, i := range []int{11, 12} { // user and system time
		ticks, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return r, err
		}
		r.processor += ticks / 100
	}
	return r, nil
}
