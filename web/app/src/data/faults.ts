// The messages that a person reads when an operation fails: for errors in the input, which a
// person can correct, and for all others.
import { RequestError, type GraphQLError } from 'carrel-client';
import type { Destination } from './routes.ts';

// UserFault is an error in the input: a userError of a mutation.
export interface UserFault {
  message: string;
  field: readonly string[] | null;
  reason?: string | null;
}

// Faults are the sentences about each field of a form, and about the form itself.
export type Faults<Field extends string = never> = { [name in Field | 'form']?: string[] };

// faultsByField assigns each userError to the field of a form that it names. Those of fields
// that the form does not have are under "form".
export function faultsByField<Field extends string>(userErrors: readonly UserFault[], fields: readonly Field[]): Faults<Field> {
  const found: Faults<Field> = {};
  for (const fault of userErrors) {
    const name = fields.find((field) => field === fault.field?.[0]);
    (found[name ?? 'form'] ??= []).push(name ? aboutField(fault) : aboutForm(fault));
  }
  return found;
}

// faultsByIndex returns the errors of the members of a list, by the index that is the second
// step of a path such as ["principalIds", "1"] or ["members", "0", "role"].
export function faultsByIndex(userErrors: readonly UserFault[], list: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const fault of userErrors) {
    const [name, index] = fault.field ?? [];
    if (name === list && /^\d+$/.test(index ?? '')) found.set(Number(index), aboutField(fault));
  }
  return found;
}

// aboutForm is what a person reads below a form. There, a group that is missing is the one that the form is about.
function aboutForm({ message }: UserFault): string {
  const isGone = message.startsWith('there is no such user or group');
  return isGone ? 'This was deleted meanwhile, or you can no longer see it.' : sentence(message);
}

// aboutField is what a person reads at a field.
function aboutField({ reason, message }: UserFault): string {
  if (reason === 'EMPTY') return 'Fill this in.';
  if (reason === 'REPEATED') return 'This is in the list twice.';
  return sentence(message);
}

// word matches a word of a sentence, and no part of an id or a URL.
const word = (text: string, flags = 'gi') => new RegExp(`(?<![\\w./:-])${text}(?![\\w/-]|[.:]\\w)`, flags);

// words are those of the API that messages have, and what people say.
const tooLong = 'This text is too long. Shorten it to about 500,000 letters (512 KB).';

const words: [pattern: RegExp, say: string][] = [
  [word('content'), 'item'],
  [word('tenant'), 'organisation'],
  [word('principal'), 'person or group'],
  [word('principals'), 'people or groups'],
  [word('revision(s?)'), 'version$1'],
  [word('locale(s?)'), 'language$1'],
  [word('token'), 'sign-in'],
  [word('gateway'), 'server'],
  [word('a (item|organisation)'), 'an $1'],
  [word('PUBLIC', 'g'), 'public'],
  [word('LOGGEDIN', 'g'), 'for everyone signed in'],
  [word('PRIVATE', 'g'), 'private'],
  [/^(a text|body) has at most 512 KiB; .*$|^body has at most 524288 bytes; .*$/g, tooLong],
  [/: read it again, review the change, and repeat yours with its version$/g, ''],
  [/^a link must begin with http:\/\/ or https:\/\/$/g, 'Enter the address of a web page, such as example.com/page'],
];

// inWords says in the words of people what the gateway says in those of the API.
export const inWords = (text: string) => words.reduce((all, [pattern, say]) => all.replaceAll(pattern, say), text);

// sentence adds a capital letter and a full stop to a message, in the words of people.
export function sentence(message: string): string {
  const text = inWords(message.trim());
  if (text === '') return 'The server did not give a reason.';
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}

const texts: Record<string, string> = {
  RATE_LIMITED: 'Too many requests in a short time.',
  TIMEOUT: 'The server took too long to answer.',
  UNAVAILABLE: 'The service is temporarily unavailable.',
  CONTENTION: 'Too many people are changing this at once.',
  OUTCOME_UNKNOWN: 'The server does not know whether this was done. Check before you try again.',
  UNAUTHENTICATED: 'Your sign-in has expired. Sign in again.',
  PAYLOAD_TOO_LARGE: tooLong,
  BAD_CURSOR: 'That position in the library no longer exists.',
};

// shortNames says what the short name of an organisation looks like: people call a tenant an organisation.
export const shortNames = 'Short names have lower-case letters, digits and hyphens.';

// Explanation is the kind of an error, and a sentence about it. place is where the reader finds what it is about.
export interface Explanation {
  kind: 'offline' | 'signedOut' | 'cursor' | 'temporary' | 'other';
  text: string;
  place?: Destination;
}

// Failure has the fields of an error that are read by explain: the errors of an answer, or the
// status of one that has none.
interface Failure {
  errors?: readonly GraphQLError[];
  status?: number;
}

// explain returns { kind, text } for any error that a query or a mutation throws. kind is
// "offline", "signedOut", "cursor" (a cursor is not valid), "temporary" (retrying may help) or
// "other".
export function explain(error: unknown, { online = true } = {}): Explanation {
  const { errors = [], status = 0 } = (error ?? {}) as Failure;
  const [first] = errors;
  if (!first && !status) return online ? { kind: 'temporary', text: 'The server could not be reached.' }
    : { kind: 'offline', text: 'You are offline.' };
  const request = error instanceof RequestError ? error : new RequestError(status, errors);
  const text = texts[request.code] ?? (first && sentence(first.message));
  if (!text) return answered(status);
  const wait = request.retryAfter ? ` Try again in ${Math.ceil(request.retryAfter / 1000)} s.` : '';
  return { kind: kindOf(request), text: text + wait };
}

// isPassing reports whether the same request may succeed later, without a decision of the reader.
export const isPassing = (error: unknown) => ['offline', 'temporary'].includes(explain(error).kind);

// isBadInput reports whether a query was refused for its arguments, isTooLarge whether a request was for its length.
export const isBadInput = (error: unknown) => hasCode(error, 'BAD_USER_INPUT');
export const isTooLarge = (error: unknown) => hasCode(error, 'PAYLOAD_TOO_LARGE');

// isMismatch reports whether a change was refused because another one was made with its idempotency key.
export const isMismatch = (error: unknown) => hasCode(error, 'IDEMPOTENCY_MISMATCH');

const unclear = new Set<unknown>(['UNAVAILABLE', 'TIMEOUT', 'OUTCOME_UNKNOWN', 'INTERNAL_SERVER_ERROR']);

// isUnclear reports whether a change that failed may have been made: no answer of the gateway says that it was not.
export function isUnclear(error: unknown): boolean {
  const { errors: [first] = [], status = 0 } = (error ?? {}) as Failure;
  return first ? unclear.has(first.extensions?.code) : status < 400 || status >= 500;
}

// inDoubt adds to the explanation of a change that it may have been made.
export const inDoubt = (one: Explanation): Explanation =>
  one.text === texts['OUTCOME_UNKNOWN'] ? one : { ...one, text: `${one.text} This may have taken effect.` };

// madeBefore says that a change was made whose answer was lost, and which the reader has altered since.
export const madeBefore: Explanation = { kind: 'other',
  text: 'What you sent before was done, although its answer was lost. Look at it, and then decide whether to send this.' };

// createdBefore says the same of something that was created, with a link to it.
export const createdBefore = (name: string, place: Destination): Explanation => ({ kind: 'other', place,
  text: `${name} was created before you changed this. Create again only if you want a second one.` });

const hasCode = (error: unknown, code: string) =>
  Boolean(((error ?? {}) as Failure).errors?.some(({ extensions }) => extensions?.code === code));

// answered explains an HTTP answer without GraphQL errors: from a proxy, or from a gateway that
// failed.
function answered(status: number): Explanation {
  if (status < 400) return { kind: 'other', text: `The response did not come from the server (HTTP ${status}).` };
  return { kind: status >= 500 ? 'temporary' : 'other', text: `The server failed (HTTP ${status}).` };
}

function kindOf({ code, retryable }: RequestError): Explanation['kind'] {
  if (code === 'UNAUTHENTICATED') return 'signedOut';
  if (code === 'BAD_CURSOR') return 'cursor';
  return retryable && code !== 'OUTCOME_UNKNOWN' ? 'temporary' : 'other';
}
