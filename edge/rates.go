package edge

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Points are counted in hundredths, so that each library in a fan-out counts.
const point = 100

// The prices of operations, in hundredths of a point.
const (
	minPrice      = point // of any operation, including a refused one
	mutationPrice = 10 * point
	costPrice     = point / 10        // of one unit of an operation's cost
	libraryPrice  = point / 100       // of one library that a mutation concerns
	keyPrice      = point             // of one key that a mutation leases or releases
	guessPrice    = 9 * mutationPrice // of a wrong secret or a taken name, in addition to its mutation
	pastePrice    = point             // of one paste that is created or changed, in an account for pastes
	textPrice     = point             // of textUnit bytes of text in the arguments of a mutation
	bytesPrice    = point             // of bytesUnit bytes of a request, of its arguments and its answer, or of an event
	groupsPrice   = 5 * point         // of resolving the groups of a user or a group, however many they are
	mergedPrice   = point / 20        // of the library of one of the viewer's groups, with includeShared
	resumePrice   = 10 * point        // of reading what a resumed subscription has missed, in addition to its own price
)

// textUnit is what textPrice pays for. With the points of a minute, a viewer stores some 30 MB.
const textUnit = 1 << 10

// bytesUnit is what bytesPrice pays for. Decoding, normalizing and writing that many bytes takes up to
// half a millisecond, as long as what a point of cost pays for. Most requests and answers are shorter.
const bytesUnit = 16 << 10

// priceOf returns the price of bytes that are read or written.
func priceOf(bytes int) int { return bytes / bytesUnit * bytesPrice }

// refill is the time in which an empty account is filled. An account that was not used for that
// long is full, and need not be kept.
const refill = time.Minute

// networkShare is how many times the points of a /64 network a /48 network has. A /48 is what one
// customer of a provider gets (RFC 6177), and has 65,536 networks of /64.
const networkShare = 16

// maxAccounts limits the accounts of each of two generations, some 150 bytes each. A flood of more
// addresses than that evicts accounts of addresses; those of viewers are kept separately.
const maxAccounts = 100_000

// rates are the rate limits, which keep one caller from using up the capacity for all. Each caller
// has a token bucket that is refilled steadily, up to the points of a minute.
type rates struct {
	viewers, addresses *ledger // if nil, there are no rate limits
	pastes             *ledger // for addresses without a viewer
	trusted            []netip.Prefix
	unreadable         func(proxy netip.Addr, entry string) // warns once
}

// newRates returns rates. If spent is not nil, it is called with the points that a signed-in
// viewer, or an address, pays.
func newRates(l *Limits, trusted []netip.Prefix, log *slog.Logger, spent func(signedIn bool, points float64)) *rates {
	by := func(signedIn bool) func(int) {
		if spent == nil {
			return func(int) {}
		}
		return func(price int) { spent(signedIn, float64(price)/point) }
	}
	var once sync.Once
	return &rates{viewers: newLedger(l.ViewerPoints, by(true)),
		addresses: newLedger(l.AddressPoints, by(false)).withNetworks(),
		pastes:    newLedger(l.Pastes, func(int) {}).withNetworks(), trusted: trusted,
		unreadable: func(proxy netip.Addr, entry string) {
			once.Do(func() {
				log.Warn("X-Forwarded-For of a trusted proxy has an entry that is not an address; such requests share "+
					"the account of the proxy", "proxy", proxy.String(), "entry", strings.ToValidUTF8(entry[:min(len(entry), 64)], "?"))
			})
		}}
}

// account returns the account of a viewer, or of an address without a signed-in viewer.
func (r *rates) account(viewer string, req *http.Request) account {
	if viewer != "" {
		return r.viewers.account(viewer)
	}
	return r.anonymous(r.addressOf(req))
}

// accountOf is like account, for a socket that outlives its request. address is that of the
// request.
func (r *rates) accountOf(viewer, address string) account {
	if viewer != "" {
		return r.viewers.account(viewer)
	}
	return r.anonymous(address)
}

// anonymous returns the account of an address without a viewer.
func (r *rates) anonymous(address string) account {
	a := r.addresses.account(address)
	a.pastes, a.network = r.pastes, networkOf(address)
	return a
}

// addressOf returns the account name for the address of a request.
func (r *rates) addressOf(req *http.Request) string { return addressKey(r.address(req)) }

// address returns the address of a request. X-Forwarded-For only counts if the proxy is trusted;
// trusted proxies append their entries at its end.
func (r *rates) address(req *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := at.Addr().Unmap()
	if len(r.trusted) == 0 || !r.trusts(addr) {
		return addr
	}
	hops := strings.Split(strings.Join(req.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := parseHop(strings.TrimSpace(hops[i]))
		if err != nil {
			if len(hops) > 1 || hops[0] != "" {
				r.unreadable(addr, hops[i])
			}
			return addr
		}
		if addr = hop.Unmap(); !r.trusts(addr) {
			return addr
		}
	}
	return addr
}

// parseHop parses an entry of X-Forwarded-For, an address that some proxies write in brackets or with
// a port.
func parseHop(entry string) (netip.Addr, error) {
	if at, err := netip.ParseAddrPort(entry); err == nil {
		return at.Addr(), nil
	}
	if inner, ok := strings.CutPrefix(entry, "["); ok {
		entry = strings.TrimSuffix(inner, "]")
	}
	return netip.ParseAddr(entry)
}

func (r *rates) trusts(addr netip.Addr) bool {
	for _, p := range r.trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// addressKey maps all addresses of one household or host, a /64 of IPv6, to one key.
func addressKey(addr netip.Addr) string {
	if addr.Is6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

// networkOf returns the /48 network of a key that addressKey has made of an IPv6 address, and "" of
// other keys.
func networkOf(key string) string {
	p, err := netip.ParsePrefix(key)
	if err != nil {
		return ""
	}
	return netip.PrefixFrom(p.Addr(), 48).Masked().String()
}

// ledger keeps the accounts that were used within the last minute or two.
type ledger struct {
	perSecond rate.Limit
	burst     int
	spent     func(price int)
	policy    []string // the value of the header RateLimit-Policy
	networks  *ledger  // of networks of /48, which pay in addition to a /64 of theirs; may be nil

	mu             sync.Mutex
	younger, older map[string]*rate.Limiter
	rotated        time.Time
}

// newLedger returns a ledger that gives each account so many points per minute. It returns nil for
// 0.
func newLedger(perMinute int, spent func(price int)) *ledger {
	if perMinute <= 0 {
		return nil
	}
	return &ledger{
		perSecond: rate.Limit(float64(perMinute) * point / refill.Seconds()), burst: perMinute * point,
		spent: spent, younger: map[string]*rate.Limiter{},
		policy: []string{fmt.Sprintf(`"points";q=%d;w=%d`, perMinute, int(refill.Seconds()))},
	}
}

// withNetworks adds the accounts of /48 networks.
func (l *ledger) withNetworks() *ledger {
	if l != nil {
		l.networks = &ledger{perSecond: networkShare * l.perSecond, burst: networkShare * l.burst,
			spent: func(int) {}, younger: map[string]*rate.Limiter{}}
	}
	return l
}

// limiter returns the limiter of an account and moves it to the younger generation.
func (l *ledger) limiter(owner string) *rate.Limiter {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.rotated) > refill || len(l.younger) >= maxAccounts {
		l.older, l.younger, l.rotated = l.younger, make(map[string]*rate.Limiter, len(l.younger)/2), now
	}
	limiter, ok := l.younger[owner]
	if !ok {
		if limiter, ok = l.older[owner]; !ok {
			limiter = rate.NewLimiter(l.perSecond, l.burst)
		}
		l.younger[owner] = limiter
	}
	return limiter
}

func (l *ledger) account(owner string) account { return account{owner: owner, ledger: l} }

// account is the account of one caller, a viewer's id or an address. It looks up its points in the
// ledger each time, because a socket keeps its account for longer than the ledger keeps an unused
// limiter. Otherwise the socket and new requests would have separate points.
type account struct {
	owner   string
	network string  // the /48 network of an IPv6 address without a viewer, or ""
	ledger  *ledger // if nil, points are unlimited
	pastes  *ledger // if nil, pastes are unlimited
}

// holder returns the account that holds shares: a viewer, an address, or the /48 network of an IPv6
// address, because the shares of four accounts are all there is.
func (a account) holder() string {
	if a.network != "" {
		return a.network
	}
	return a.owner
}

// wider returns the account of the /48 network. Without one, it is an account without limits.
func (a account) wider() account {
	if a.network == "" || a.ledger == nil {
		return account{}
	}
	return account{owner: a.network, ledger: a.ledger.networks}
}

// paste charges for the pastes that an anonymous caller creates or changes.
func (a account) paste(pastes int) *refusal {
	refused := account{owner: a.owner, network: a.network, ledger: a.pastes}.take(pastes*pastePrice, pastes*pastePrice)
	if refused != nil {
		refused.errs[0].Message = fmt.Sprintf("An address without a signed-in viewer may create and change %d pastes a minute; "+
			"try again in %d s.", a.pastes.burst/pastePrice, refused.retryAfter)
	}
	return refused
}

// begin charges the minimum price. It returns a refusal if the account has too few points.
func (a account) begin() *refusal { return a.take(minPrice, minPrice) }

// rest charges the remainder of a price after begin. A price above the capacity of the account is
// charged as that capacity.
func (a account) rest(price int) *refusal {
	if a.ledger == nil {
		return nil
	}
	price = min(price, max(2*minPrice, a.ledger.burst))
	return a.take(price-minPrice, price)
}

// event charges an event of a subscription. If the account has too few points, it returns a refusal
// that says when it will be half full, so that a subscription that resumes then gets several events.
func (a account) event(price int) *refusal {
	if a.ledger == nil {
		return nil
	}
	limit := a.ledger.burst
	return a.take(min(price, limit), min(max(limit/2, 4*price+resumePrice), limit))
}

// take charges the price now. If the account has too few points, it returns a refusal that says
// when the account will have the points needed.
func (a account) take(now, needed int) *refusal {
	if a.ledger == nil || now <= 0 {
		return nil
	}
	at, limiter := time.Now(), a.ledger.limiter(a.owner)
	if limiter.AllowN(at, now) {
		a.ledger.spent(now)
		return a.wider().take(now, needed)
	}
	missing := float64(needed) - limiter.TokensAt(at)
	wait := max(1, int(math.Ceil(missing/float64(limiter.Limit()))))
	return refuseUntil(http.StatusTooManyRequests, codeRateLimited,
		fmt.Sprintf("The rate limit is exceeded; try again in %d s.", wait), wait)
}

// bill charges what is only known afterwards. The balance may become negative.
func (a account) bill(price int) {
	if a.ledger != nil && price > 0 {
		price = min(price, a.ledger.burst)
		a.ledger.limiter(a.owner).ReserveN(time.Now(), price)
		a.ledger.spent(price)
		a.wider().bill(price)
	}
}

// balance returns the points of the account.
func (a account) balance() int {
	if a.ledger == nil {
		return 0
	}
	left := int(math.Floor(a.ledger.limiter(a.owner).TokensAt(time.Now()) / point))
	if w := a.wider(); w.ledger != nil {
		left = min(left, w.balance())
	}
	return left
}

// advertise sets the headers RateLimit-Policy and RateLimit: the points of a full account, those that
// are left, and the seconds until it is full again. Source: draft-ietf-httpapi-ratelimit-headers-10.
func (a account) advertise(header http.Header) {
	if a.ledger == nil {
		return
	}
	left := min(max(0, a.balance()), a.ledger.burst/point)
	full := math.Ceil(float64(a.ledger.burst-left*point) / float64(a.ledger.perSecond))
	value := append(make([]byte, 0, 32), `"points";r=`...)
	value = append(strconv.AppendInt(value, int64(left), 10), ";t="...)
	header["Ratelimit-Policy"] = a.ledger.policy
	header["Ratelimit"] = []string{string(strconv.AppendInt(value, int64(full), 10))}
}
