package server

import (
	"context"
	"net"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	pb "github.com/warmpool/warmpool/proto/grpcplugin"
)

// ClientLimits bound what one client may take of a listener, so that one that misbehaves leaves room for the others. A
// client is an address: several callers behind one proxy count as one. A field that is 0 has its default.
type ClientLimits struct {
	// Connections at a time, 256 by default on a listener with the scaler and 16 on the expander's own. KEDA keeps one for
	// each different set of TLS settings, the Cluster Autoscaler has one.
	Connections int
	// CallsPerSecond of everything but BestOptions, 5,000 by default with bursts of twice that: enough for 10,000 scaled
	// objects polled every 15 s, twice.
	CallsPerSecond float64
	// Calls in flight at a time, push streams included, 12,500 by default.
	Calls int
	// ChoicesPerSecond is the rate of BestOptions, 20 by default with bursts of twice that, and Choices how many may be in
	// flight, 4 by default. A Cluster Autoscaler sends one at a time, every ten seconds.
	ChoicesPerSecond float64
	Choices          int
}

func (l ClientLimits) withDefaults(connections int) ClientLimits {
	if l.Connections == 0 {
		l.Connections = connections
	}
	if l.CallsPerSecond == 0 {
		l.CallsPerSecond = 5000
	}
	if l.Calls == 0 {
		l.Calls = 12_500
	}
	if l.ChoicesPerSecond == 0 {
		l.ChoicesPerSecond = 20
	}
	if l.Choices == 0 {
		l.Choices = 4
	}
	return l
}

// manyClients is how many addresses are remembered; beyond it those without a connection are forgotten.
const manyClients = 1024

// clients knows who holds what of one listener.
type clients struct {
	limits ClientLimits
	// total is the number of connections of all clients together.
	total   int
	refused func(limit string) prometheus.Counter

	mu          sync.Mutex
	connections int
	byAddress   map[string]*client
}

// client is what one address holds.
type client struct {
	connections, calls, choices int
	callRate, choiceRate        *rate.Limiter
}

func newClients(l ClientLimits, refused func(limit string) prometheus.Counter) *clients {
	return &clients{limits: l, total: 4 * l.Connections, refused: refused, byAddress: map[string]*client{}}
}

// of returns the entry of an address. The caller holds the lock.
func (c *clients) of(address string) *client {
	if known := c.byAddress[address]; known != nil {
		return known
	}
	if len(c.byAddress) >= manyClients {
		for other, idle := range c.byAddress {
			if idle.connections == 0 && idle.calls == 0 && idle.choices == 0 {
				delete(c.byAddress, other)
			}
		}
	}
	l := c.limits
	added := &client{
		callRate:   rate.NewLimiter(rate.Limit(l.CallsPerSecond), burstOf(l.CallsPerSecond)),
		choiceRate: rate.NewLimiter(rate.Limit(l.ChoicesPerSecond), burstOf(l.ChoicesPerSecond)),
	}
	c.byAddress[address] = added
	return added
}

func burstOf(perSecond float64) int { return int(max(2*perSecond, 1)) }

// connect admits a connection until the returned function is called.
func (c *clients) connect(address string) (leave func(), limit string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.connections >= c.total {
		return nil, "connections"
	}
	from := c.of(address)
	if from.connections >= c.limits.Connections {
		return nil, "client-connections"
	}
	c.connections++
	from.connections++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.connections--
		from.connections--
	}), ""
}

// call admits a call until the returned function is called.
func (c *clients) call(address, method string) (leave func(), err error) {
	c.mu.Lock()
	from := c.of(address)
	bucket, inFlight, most, what := from.callRate, &from.calls, c.limits.Calls, "calls"
	if method == pb.Expander_BestOptions_FullMethodName {
		bucket, inFlight, most, what = from.choiceRate, &from.choices, c.limits.Choices, "choices"
	}
	free := *inFlight < most
	allowed := free && bucket.Allow()
	if allowed {
		*inFlight++
	}
	c.mu.Unlock()
	switch {
	case !free:
		c.refused("client-" + what).Inc()
		return nil, status.Errorf(codes.ResourceExhausted, "this client has %d calls of this kind open, which is the limit for one", most)
	case !allowed:
		c.refused("client-" + what + "-rate").Inc()
		return nil, status.Errorf(codes.ResourceExhausted, "this client sends more than %g calls of this kind per second", float64(bucket.Limit()))
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		*inFlight--
	}), nil
}

// tap sees a call before its first byte is read. What next refuses is over at once: the transport does not end the context
// of a call that never began.
func (c *clients) tap(ctx context.Context, info *tap.Info, next tap.ServerInHandle) (context.Context, error) {
	address := ""
	if p, ok := peer.FromContext(ctx); ok {
		address = addressOf(p.Addr)
	}
	leave, err := c.call(address, info.FullMethodName)
	if err != nil {
		return nil, err
	}
	admitted, err := next(ctx, info)
	if err != nil {
		leave()
		return nil, err
	}
	context.AfterFunc(ctx, leave)
	return admitted, nil
}

// addressOf is the address without the port.
func addressOf(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	return a.String()
}

// limited is a listener that closes connections beyond the limits at once: one that waited would hold up the others.
type limited struct {
	net.Listener
	clients *clients
}

func (l limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		leave, limit := l.clients.connect(addressOf(conn.RemoteAddr()))
		if limit == "" {
			return &counted{conn, leave}, nil
		}
		l.clients.refused(limit).Inc()
		_ = conn.Close() // refused either way
	}
}

// counted is a connection that makes room when it is closed.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}
