// What is told to a person when an operation fails: first the faults of the
// input, which a person can mend, then everything else.

// faultsByField puts each userError to the field of a form that it names. Those
// of fields the form does not have stand under "form".
export function faultsByField(userErrors, fields) {
  const found = {};
  for (const fault of userErrors) {
    const name = fields.includes(fault.field?.[0]) ? fault.field[0] : 'form';
    (found[name] ??= []).push(sentence(fault.message));
  }
  return found;
}

// faultsByIndex tells which members of a list are at fault: the second step of
// a path such as ["principalIds", "1"] or ["members", "0", "role"].
export function faultsByIndex(userErrors, list) {
  const found = new Map();
  for (const fault of userErrors) {
    const [name, index] = fault.field ?? [];
    if (name === list && /^\d+$/.test(index ?? '')) found.set(Number(index), sentence(fault.message));
  }
  return found;
}

// sentence makes a message stand on a page by itself.
export function sentence(message) {
  const text = message.trim();
  if (text === '') return 'The gateway gave no reason.';
  return text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}

const texts = {
  RATE_LIMITED: 'Too many requests in a short time.',
  TIMEOUT: 'The gateway took too long to answer.',
  UNAVAILABLE: 'The service is temporarily unavailable.',
  CONTENTION: 'Too many people are changing this at once.',
  OUTCOME_UNKNOWN: 'The gateway cannot tell whether this was done. Look before you try again.',
  UNAUTHENTICATED: 'Your token is no longer accepted. Sign in again.',
  BAD_CURSOR: 'That position in the library no longer exists.',
};

// explain is { kind, text } of any error that a query or a mutation throws.
// kind is "offline", "signedOut", "place" (a cursor led nowhere), "passing" (it
// is worth trying again) or "other".
export function explain(error, { online = true } = {}) {
  const first = error?.errors?.[0];
  const code = first?.extensions?.code ?? codeOfStatus(error?.statusCode);
  if (code) {
    const retry = Number(first?.extensions?.retryAfter);
    const wait = retry > 0 ? ` Try again in ${Math.ceil(retry)} s.` : '';
    return { kind: kindOf(code), text: (texts[code] ?? sentence(first?.message ?? 'The gateway failed.')) + wait };
  }
  if (first) return { kind: 'other', text: sentence(first.message) };
  if (error?.statusCode) return answered(error.statusCode);
  if (!online) return { kind: 'offline', text: 'You are offline.' };
  return { kind: 'passing', text: 'The gateway could not be reached.' };
}

// answered is what is told of an answer over HTTP that holds no errors: that of
// a proxy in between, or of a gateway that has lost its head.
function answered(status) {
  if (status < 400) return { kind: 'other', text: `What has answered is not the gateway (HTTP ${status}).` };
  return { kind: status >= 500 ? 'passing' : 'other', text: `The gateway failed (HTTP ${status}).` };
}

function codeOfStatus(status) {
  return { 401: 'UNAUTHENTICATED', 408: 'TIMEOUT', 429: 'RATE_LIMITED', 503: 'UNAVAILABLE', 504: 'TIMEOUT' }[status];
}

function kindOf(code) {
  if (code === 'UNAUTHENTICATED') return 'signedOut';
  if (code === 'BAD_CURSOR') return 'place';
  return ['RATE_LIMITED', 'TIMEOUT', 'UNAVAILABLE', 'CONTENTION'].includes(code) ? 'passing' : 'other';
}
