package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/pflag"

	"github.com/warmpool/warmpool/cluster"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/lease"
	"github.com/warmpool/warmpool/peer"
	"github.com/warmpool/warmpool/server"
)

// instanceFlags are the flags of serve for several instances.
type instanceFlags struct {
	leaseNamespace, leaseName, identity, advertise string
	tokenFile, authority, serverName               string
}

func (f *instanceFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.leaseName, "lease-name", "warmpool", "`name` of the Lease that tells which of several instances computes; empty for a single instance")
	flags.StringVar(&f.leaseNamespace, "lease-namespace", os.Getenv("POD_NAMESPACE"), "`namespace` of the Lease; without it there is one instance")
	flags.StringVar(&f.identity, "identity", os.Getenv("POD_NAME"), "`name` of this instance; by default the name of the pod or the host")
	flags.StringVar(&f.advertise, "advertise", "", "`address` at which other instances reach the scaler listener of this one; by default $POD_IP with the port of --scaler-listen")
	flags.StringVar(&f.tokenFile, "peer-token-file", "", "`file` with the token that all instances share; without it only those on this machine, or with a certificate from --client-ca, are served the board")
	flags.StringVar(&f.authority, "peer-ca", "", "`file` with the authority of the other instances' certificate (PEM); by default ca.crt beside the own one")
	flags.StringVar(&f.serverName, "peer-server-name", "", "`name` that the other instances' certificate has to be valid for; by default the first name in the own one")
}

// instances is the part of this instance among several; nil for a single one.
type instances struct {
	elector *lease.Elector
	engine  *engine.Engine
	follow  peer.Options
	logger  *slog.Logger

	// stop ends following, and done is closed when it has ended; only the elector's calls touch them.
	stop context.CancelFunc
	done sync.WaitGroup
}

// joinInstances tells whether there are others, by the flags and by whether there is a cluster. Before the server is
// open only its name is known; see instances.open.
func joinInstances(f *serveFlags, logger *slog.Logger) (*instances, error) {
	i := &f.instances
	if i.leaseName == "" || f.kubeconfig == cluster.NoCluster || (f.kubeconfig == "" && !cluster.InCluster()) {
		return nil, nil //nolint:nilnil // a single instance is no error
	}
	if !f.half("scaler") || f.scaler == "" {
		logger.Info("this instance does not compute together with others: they share the scaler's board over TLS, and it serves none")
		return nil, nil //nolint:nilnil // a single instance is no error
	}
	if i.leaseNamespace == "" || (i.advertise == "" && os.Getenv("POD_IP") == "") {
		logger.Warn("this instance computes alone: if there are others, set POD_NAMESPACE and POD_IP, or --lease-namespace and --advertise")
		return nil, nil //nolint:nilnil // a single instance is no error
	}
	if i.identity == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("--identity: %w", err)
		}
		i.identity = name
	}
	return &instances{logger: logger}, nil
}

// serve lets the server serve other instances.
func (i *instances) serve(o *server.Options, f *serveFlags, e *engine.Engine) {
	if i == nil {
		return
	}
	e.Follow("") // until the lease says otherwise
	i.engine = e
	o.Board, o.Instance, o.PeerTokenFile = e, f.instances.identity, f.instances.tokenFile
}

// open makes the elector, now that the port is known.
func (i *instances) open(f *serveFlags, files server.TLSFiles, listening net.Addr) error {
	if i == nil {
		return nil
	}
	address := f.instances.advertise
	if address == "" {
		_, port, err := net.SplitHostPort(listening.String())
		if err != nil {
			return fmt.Errorf("--scaler-listen: %w", err)
		}
		address = net.JoinHostPort(os.Getenv("POD_IP"), port)
	}
	// A client of its own: what the view of the cluster asks for must not delay the lease.
	clients, err := cluster.Connect(f.kubeconfig, "warmpool-lease")
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	if clients == nil {
		return errors.New("--lease-name: there is no cluster; give --kubeconfig or an empty --lease-name")
	}
	i.elector, err = lease.New(lease.Options{
		Client: clients.Kubernetes.CoordinationV1(), Namespace: f.instances.leaseNamespace, Name: f.instances.leaseName,
		Self: lease.Identity{Name: f.instances.identity, Address: address}, Log: i.logger,
	})
	if err != nil {
		return fmt.Errorf("%w; check --identity and --advertise", err)
	}
	authority := f.instances.authority
	if beside := filepath.Join(filepath.Dir(files.Cert), "ca.crt"); authority == "" {
		if _, err := os.Stat(beside); err == nil {
			authority = beside
		}
	}
	i.follow = peer.Options{
		Engine: i.engine, Instance: f.instances.identity, TokenFile: f.instances.tokenFile, Log: i.logger,
		Trust:      peer.Trust{CAFile: authority, ServerName: f.instances.serverName, CertFile: files.Cert, KeyFile: files.Key},
		ConfigHash: func() string { return i.engine.Status().ConfigHash },
	}
	return nil
}

// run takes part until the context ends: then another instance may go on at once, and this one holds what it has.
func (i *instances) run(ctx context.Context) error {
	if i == nil {
		return nil
	}
	return i.elector.Run(ctx, i.change)
}

// change makes this instance the leader or a follower.
func (i *instances) change(l lease.Leader) {
	if i.stop != nil {
		i.stop()
		i.done.Wait()
		i.stop = nil
	}
	if l.Self {
		i.engine.Lead(l.Term)
		return
	}
	i.engine.Follow(l.Name)
	if l.Address == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	i.stop = cancel
	i.done.Go(func() { peer.Follow(ctx, i.follow, l.Address) })
}
