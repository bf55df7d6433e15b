//go:build !linux

package soak

import "errors"

var errLinuxOnly = errors.New("a run reads /proc: it works on Linux only")

func foreign(int) ([]string, error) { return nil, errLinuxOnly }

type resources struct {
	resident   int64
	descriptor int
	processor  float64
}

func resourcesOf(int) (resources, error) { return resources{}, errLinuxOnly }
