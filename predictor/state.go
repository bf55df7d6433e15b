package predictor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

// State is one record: magic, version, a digest of the settings that give the
// numbers their meaning, the fields in fixed order, and a checksum. All numbers
// are little-endian.

const (
	stateMagic   = "wpp1"
	stateVersion = 1
)

// ErrState says that a saved state cannot be used. Replay the rates instead.
var ErrState = errors.New("saved predictor state is unusable")

// MarshalBinary saves everything the service has learnt.
func (s *Service) MarshalBinary() ([]byte, error) {
	c := &codec{buf: append(make([]byte, 0, 160<<10), stateMagic...), writing: true}
	s.visit(c)
	return binary.LittleEndian.AppendUint32(c.buf, crc32.ChecksumIEEE(c.buf)), nil
}

// UnmarshalBinary restores a state saved by a service with the same step,
// horizons, hold and rate per replica. Other settings may differ. The service is unchanged if
// it returns an error, which wraps ErrState.
func (s *Service) UnmarshalBinary(data []byte) error {
	if len(data) < len(stateMagic)+4 || string(data[:len(stateMagic)]) != stateMagic {
		return fmt.Errorf("%w: it does not begin with %q", ErrState, stateMagic)
	}
	body := data[:len(data)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(data[len(body):]) {
		return fmt.Errorf("%w: checksum does not match, the record was cut or damaged", ErrState)
	}
	fresh, err := New(s.settings)
	if err != nil {
		return err
	}
	c := &codec{buf: body[len(stateMagic):]}
	fresh.visit(c)
	if c.err == nil && len(c.buf) > 0 {
		c.fail("%d bytes too many", len(c.buf))
	}
	if c.err != nil {
		return c.err
	}
	fresh.sibling, fresh.failed = s.sibling, s.failed
	fresh.derive()
	*s = *fresh
	return nil
}

// derive recomputes what follows from the rest of the state.
func (s *Service) derive() {
	for i := range s.horizons {
		s.horizons[i].spread.accumulate()
	}
	if s.history.filled {
		s.issueAll()
		s.order(s.windowEnd(s.steering.lead))
	}
}

// visit walks over the whole state in one order for writing and reading.
func (s *Service) visit(c *codec) {
	c.same("version", stateVersion)
	c.same("step", s.step)
	c.same("rate per replica", int64(math.Float64bits(s.settings.PerReplica)))
	c.same("hold", int64(s.settings.Hold))
	c.same("horizons", int64(len(s.horizons)))
	for i := range s.horizons {
		c.same("horizon", int64(s.horizons[i].ahead))
	}
	s.history.visit(c)
	s.seasonal.visit(c)
	s.outliers.visit(c)
	for i := range s.horizons {
		s.horizons[i].visit(c)
	}
	s.steering.visit(c)
	s.ledger.visit(c)
	s.prewarms.visit(c)
	c.flag(&s.turn.Active)
	c.time(&s.turn.Since)
	c.text((*string)(&s.turn.Reason))
	c.ints(s.banned[:])
}

func (h *history) visit(c *codec) {
	c.flag(&h.filled)
	c.int(&h.first)
	c.int(&h.newest)
	c.int(&h.lastSlot)
	c.float(&h.last)
	c.float(&h.sum)
	c.int(&h.count)
	c.singles(h.values)
	c.words(h.masked)
}

func (s *seasonal) visit(c *codec) {
	c.flag(&s.started)
	c.int(&s.first)
	c.float(&s.level)
	c.float(&s.err)
	c.singles(s.day)
	c.singles(s.week)
}

func (o *outliers) visit(c *codec) {
	c.codes(o.ratios, &o.count, &o.n)
	c.words(o.odd)
	c.int(&o.run)
}

func (z *horizon) visit(c *codec) {
	for k := range z.mix.regret {
		c.float(&z.mix.regret[k])
		c.float(&z.mix.square[k])
	}
	for i := range z.pending {
		p := &z.pending[i]
		c.flag(&p.known)
		c.float(&p.value)
		for k := range p.experts {
			c.float(&p.experts[k])
		}
	}
	z.spread.visit(c)
}

func (u *Uncertainty) visit(c *codec) {
	c.flag(&u.started)
	c.int(&u.newest)
	c.float(&u.recent)
	c.float(&u.global)
	c.float(&u.bound)
	c.codes(u.errors, nil, nil)
	c.codes(u.scores, &u.count, &u.n)
	for i := range u.pending {
		p := &u.pending[i]
		c.flag(&p.scored)
		c.float(&p.value)
		c.float(&p.scale)
		c.float(&p.upper)
	}
}

func (st *steering) visit(c *codec) {
	c.float(&st.target.price)
	c.float(&st.target.recent)
	lead := int64(st.lead)
	c.int(&lead)
	st.lead = time.Duration(lead)
	c.shorts(st.desired)
	c.shorts(st.wanted)
}

func (l *ledger) visit(c *codec) {
	c.same("hold in slots", l.hold)
	c.same("horizon of the ledger", l.horizon)
	for i := range l.booked {
		b := &l.booked[i]
		c.flag(&b.known)
		c.shorts(b.orders[:])
		c.singles(b.forecasts[:])
	}
	c.codes(l.plain, &l.count, &l.scores)
	for i := range l.days {
		d := &l.days[i]
		c.int(&d.day)
		c.int(&d.steps)
		c.int(&d.need)
		c.float(&d.volume)
		for k := range d.off {
			c.float(&d.off[k])
		}
		for k := range d.cost {
			cost, short := int64(d.cost[k]), int64(d.short[k])
			c.int(&cost)
			c.int(&short)
			d.cost[k], d.short[k] = uint32(cost), uint16(short)
		}
	}
}

func (p *prewarms) visit(c *codec) {
	c.flag(&p.open)
	c.int(&p.target)
	c.float(&p.covered)
	c.float(&p.peak)
	c.int(&p.hits)
	c.int(&p.missed)
	c.ints(p.misses[:])
}
