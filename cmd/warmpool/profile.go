//go:build profile

package main

import (
	"fmt"
	"net/http"
	_ "net/http/pprof" //nolint:gosec // only in a build that is made for it, and only on the loopback interface
	"os"
)

// A build with the tag profile serves the profiles of the Go runtime on the loopback port in WARMPOOL_PROFILE_PORT.
func init() {
	port := os.Getenv("WARMPOOL_PROFILE_PORT")
	if port == "" {
		return
	}
	go func() {
		fmt.Fprintln(os.Stderr, "profiles:", http.ListenAndServe("127.0.0.1:"+port, nil)) //nolint:gosec // no time limits: a profile takes as long as it is asked for
	}()
}
