package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/warmpool/warmpool/server"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	config, dataDir, kubeconfig     string
	autoscalerNamespace             string
	serve                           []string
	expander, scaler, plain, admin  string
	tokenFile, adminTLS             string
	clientNames, adminNames         []string
	connections                     int
	cert, key, clientCA, selfSigned string
	demo                            bool
	span, from                      time.Duration
	logLevel, logFormat             string
	instances                       instanceFlags
}

func newServeCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve --config F",
		Short: "Answer the Cluster Autoscaler and KEDA",
		Long: `serve answers the Cluster Autoscaler (gRPC expander) and KEDA (external scaler) until it is stopped.

The configuration is read again when it changes, or at once on SIGHUP; a broken one is reported and the last good one
stays. Certificates are replaced by writing their files anew.`,
		Example: `  warmpool serve --config warmpool.yaml --tls-cert tls.crt --tls-key tls.key --data-dir /var/lib/warmpool
  warmpool serve --config warmpool.yaml --serve scaler --scaler-insecure-listen 127.0.0.1:9445 --scaler-listen ""
  warmpool serve --config warmpool.yaml --tls-self-signed ./tls
  warmpool serve --demo --for 60s`,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.register(c.Flags())
	return c
}

func (f *serveFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.config, "config", "", "configuration `file` (required without --demo)")
	flags.StringSliceVar(&f.serve, "serve", []string{"expander", "scaler"}, "`halves` to serve")
	flags.StringVar(&f.expander, "expander-listen", ":9443", "`address` for the Cluster Autoscaler (TLS); with the address of the scaler both share it")
	flags.StringVar(&f.scaler, "scaler-listen", ":9444", "`address` for KEDA (TLS)")
	flags.StringVar(&f.plain, "scaler-insecure-listen", "", "`address` for KEDA without TLS")
	flags.StringVar(&f.admin, "admin-listen", "127.0.0.1:8080", "`address` for metrics, probes and the decision API; it needs --admin-token-file unless it is a loopback address")
	flags.StringVar(&f.tokenFile, "admin-token-file", "", "`file` with the bearer token of the admin listener")
	flags.StringVar(&f.adminTLS, "admin-tls", "auto", "TLS on the admin listener, with the certificate of the others: auto (`mode`; unless the address is a loopback one), on, or off")
	flags.StringSliceVar(&f.adminNames, "admin-client-names", nil, "`names` (DNS, URI) of client certificates of --client-ca that are as good as the admin token")
	flags.StringVar(&f.cert, "tls-cert", "", "certificate `file` (PEM)")
	flags.StringVar(&f.key, "tls-key", "", "key `file` (PEM)")
	flags.StringVar(&f.clientCA, "client-ca", "", "`file` with the authorities of KEDA's client certificates (PEM); then KEDA must present one")
	flags.StringSliceVar(&f.clientNames, "client-names", nil, "`names` (DNS, URI) of which KEDA's client certificate must carry one; without them every certificate of --client-ca is good")
	flags.IntVar(&f.connections, "client-connections", 0, "`number` of connections that one address may have on a listener; 0 is 256 with the scaler, 16 on the expander's own")
	flags.StringVar(&f.selfSigned, "tls-self-signed", "", "for a trial: make a certificate in this `directory`, with ca.crt for the clients")
	flags.StringVar(&f.dataDir, "data-dir", "", "`directory` for what was learnt; without it a restart starts anew")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` for the view of the cluster; without it the service account of the pod, outside of a pod none; \"none\" turns the view off")
	flags.StringVar(&f.autoscalerNamespace, "cluster-autoscaler-namespace", "kube-system", "`namespace` of the Cluster Autoscaler's status and events")
	flags.BoolVar(&f.demo, "demo", false, "no cluster and no Prometheus: a virtual cluster drives the server, accelerated")
	flags.DurationVar(&f.from, "demo-from", 0, "with --demo: play the day up to this `time` at once, 10h30m for half past ten")
	flags.DurationVar(&f.span, "for", 0, "end after this `time` with exit code 0 and a summary; 0 serves until it is stopped")
	f.instances.register(flags)
	flags.StringVar(&f.logLevel, "log-level", "info", "least `level` to log: debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "text", "`format` of the log: text or json")
}

func (f *serveFlags) run(c *cobra.Command) error {
	logger, err := f.logger(c.ErrOrStderr())
	if err = errors.Join(err, f.check()); err != nil {
		return usageError{c.CommandPath(), err}
	}
	if f.demo {
		return f.runDemo(c)
	}
	ctx := c.Context()
	if f.span > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.span)
		defer cancel()
	}
	s, err := newService(f, c.Flags().Changed("serve"), logger)
	if err != nil {
		return err
	}
	started := time.Now()
	if err := s.run(ctx); err != nil {
		return err
	}
	if f.span > 0 {
		return s.summary(c.OutOrStdout(), time.Since(started))
	}
	return nil
}

// check finds every mistake that the flags alone show.
func (f *serveFlags) check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if f.config == "" && !f.demo {
		wrong("--config is required")
	}
	if f.config != "" && f.demo {
		wrong("--demo has its own configuration: leave --config out")
	}
	if len(f.serve) == 0 {
		wrong("--serve is empty: give expander, scaler or both")
	}
	for _, half := range f.serve {
		if half != "expander" && half != "scaler" {
			wrong("--serve %q: it must be expander, scaler or both", half)
		}
	}
	if f.selfSigned != "" && (f.cert != "" || f.key != "") {
		wrong("--tls-self-signed makes a certificate: leave --tls-cert and --tls-key out, or it")
	}
	if (f.cert == "") != (f.key == "") {
		wrong("--tls-cert and --tls-key belong together: give both")
	}
	switch server.AdminTLS(f.adminTLS) {
	case server.AdminTLSAuto, server.AdminTLSOn, server.AdminTLSOff:
	default:
		wrong("--admin-tls %q: it must be auto, on or off", f.adminTLS)
	}
	if f.connections < 0 {
		wrong("--client-connections %d: it must not be negative", f.connections)
	}
	if f.span < 0 {
		wrong("--for %v: it must not be negative; 0 serves until it is stopped", f.span)
	}
	if f.from < 0 || f.from >= 24*time.Hour || f.from > 0 && !f.demo {
		wrong("--demo-from %v: it must be a time of the day of --demo, such as 10h30m", f.from)
	}
	return errors.Join(errs...)
}

func (f *serveFlags) logger(out io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %q: it must be debug, info, warn or error", f.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(out, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return nil, fmt.Errorf("--log-format %q: it must be text or json", f.logFormat)
}

func (f *serveFlags) half(name string) bool { return slices.Contains(f.serve, name) }

// tls gives the certificate files, made now if they are to be self-signed.
func (f *serveFlags) tls() (server.TLSFiles, error) {
	files := server.TLSFiles{Cert: f.cert, Key: f.key, ClientCA: f.clientCA}
	if f.selfSigned == "" {
		return files, nil
	}
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if name, err := os.Hostname(); err == nil && name != "" {
		hosts = append(hosts, strings.ToLower(name))
	}
	for _, address := range []string{f.expander, f.scaler} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" && !slices.Contains(hosts, host) && !net.ParseIP(host).IsUnspecified() {
			hosts = append(hosts, host)
		}
	}
	made, err := server.SelfSigned(f.selfSigned, hosts)
	if err != nil {
		return files, err
	}
	files.Cert, files.Key = made.Cert, made.Key
	return files, nil
}
