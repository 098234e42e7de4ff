//go:build unix

package sshtest

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy forwards connections to an address, as badly as it is set to.
type proxy struct {
	l  net.Listener
	to string

	delay  atomic.Int64 // nanoseconds that every byte takes, each way
	rate   atomic.Int64 // bytes a second each way; 0: any
	drop   atomic.Int64 // nanoseconds after which at the latest a connection is reset; 0: never
	bytes  [2]atomic.Int64
	drops  atomic.Int64
	opened atomic.Int64
	stop   atomic.Bool // nothing is forwarded, and neither side is closed

	mu    sync.Mutex
	rng   *rand.Rand
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, to: to, rng: rand.New(rand.NewPCG(1, 2)), conns: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close(); p.reset() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) address() string { return p.l.Addr().String() }

// reset drops every connection.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		client.Close()
		return
	}
	p.opened.Add(1)
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	life := time.Duration(0)
	if most := p.drop.Load(); most > 0 {
		life = time.Duration(p.rng.Int64N(most))
	}
	p.mu.Unlock()
	end := func() {
		for _, c := range []net.Conn{client, server} {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset, as a cut line gives
			}
			c.Close()
		}
	}
	if life > 0 {
		timer := time.AfterFunc(life, func() { p.drops.Add(1); end() })
		defer timer.Stop()
	}
	var both sync.WaitGroup
	both.Go(func() { p.forward(server, client, 0) })
	both.Go(func() { p.forward(client, server, 1) })
	both.Wait()
	end()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

type packet struct {
	data []byte
	at   time.Time // when it may be forwarded
}

// forward copies one direction. Packets wait in a queue, so that a delay costs no bandwidth.
func (p *proxy) forward(to, from net.Conn, way int) {
	queue := make(chan packet, 4096)
	go func() {
		defer close(queue)
		for {
			buf := make([]byte, 16<<10)
			n, err := from.Read(buf)
			if n > 0 {
				queue <- packet{buf[:n], time.Now().Add(time.Duration(p.delay.Load()))}
			}
			if err != nil {
				return
			}
		}
	}()
	free := time.Now() // when the line has sent what is before
	for x := range queue {
		if rate := p.rate.Load(); rate > 0 {
			if now := time.Now(); free.Before(now) {
				free = now
			}
			free = free.Add(time.Duration(int64(len(x.data)) * int64(time.Second) / rate))
			if free.After(x.at) {
				x.at = free
			}
		}
		time.Sleep(time.Until(x.at))
		for p.stop.Load() {
			time.Sleep(10 * time.Millisecond)
		}
		p.bytes[way].Add(int64(len(x.data)))
		if _, err := to.Write(x.data); err != nil {
			break
		}
	}
	if tcp, ok := to.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, from)
	for range queue {
		continue
	}
}
