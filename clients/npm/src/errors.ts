// The errors of this package. Every error has a code: an extensions.code of the gateway, the
// code of a user error, or NETWORK.

// GraphQLError is an error of an answer of the gateway.
export interface GraphQLError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string; readonly retryAfter?: number; readonly [name: string]: unknown };
}

// UserError is an error in the input of a mutation, which a person can correct.
export interface UserError {
  readonly code: string;
  // For INVALID, what is wrong with the value, for applications in other languages; null for other codes.
  readonly reason?: string | null;
  readonly field: readonly string[] | null;
  readonly message: string;
  readonly currentVersion?: number | null;
}

// CarrelError is the base class of all errors of this package.
export class CarrelError extends Error {
  override readonly name: string = 'CarrelError';

  constructor(
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  // Whether the same request may succeed later. A mutation is only safe to repeat with its
  // idempotency key.
  get retryable(): boolean {
    return false;
  }

  // How long to wait before the next attempt, in milliseconds, if the gateway said so.
  get retryAfter(): number | undefined {
    return undefined;
  }
}

// NetworkError means that there was no complete answer. The gateway may have executed the
// request.
export class NetworkError extends CarrelError {
  override readonly name = 'NetworkError';

  constructor(message: string, options?: ErrorOptions) {
    super('NETWORK', message, options);
  }

  override get retryable(): boolean {
    return true;
  }
}

const retryableCodes = new Set(['RATE_LIMITED', 'UNAVAILABLE', 'TIMEOUT', 'CONTENTION', 'OUTCOME_UNKNOWN', 'SLOW_CONSUMER']);

const codesOfStatus: Record<number, string> = {
  401: 'UNAUTHENTICATED',
  408: 'TIMEOUT',
  429: 'RATE_LIMITED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'TIMEOUT',
};

// RequestError is an answer with top-level errors, or with the HTTP status of an error.
export class RequestError extends CarrelError {
  override readonly name: string = 'RequestError';

  constructor(
    readonly status: number,
    readonly errors: readonly GraphQLError[],
    // The partial result, with null for fields that failed.
    readonly data: unknown = null,
    private readonly seconds?: number,
  ) {
    const [first] = errors;
    super(
      first?.extensions?.code ?? codesOfStatus[status] ?? 'INTERNAL_SERVER_ERROR',
      first?.message ?? `The gateway answered with status ${status}.`,
    );
  }

  override get retryable(): boolean {
    return retryableCodes.has(this.code);
  }

  override get retryAfter(): number | undefined {
    const seconds = this.errors[0]?.extensions?.retryAfter ?? this.seconds;
    return seconds === undefined ? undefined : seconds * 1000;
  }
}

// UnauthenticatedError means that the token was refused, even after it was renewed.
export class UnauthenticatedError extends RequestError {
  override readonly name = 'UnauthenticatedError';
}

// MutationError has the userErrors of a mutation, which a person can correct. Nothing was changed.
export class MutationError extends CarrelError {
  override readonly name = 'MutationError';

  constructor(readonly userErrors: readonly [UserError, ...UserError[]]) {
    super(userErrors[0].code, userErrors[0].message);
  }

  // has reports whether one of the userErrors has a code.
  has(code: string): boolean {
    return this.userErrors.some((error) => error.code === code);
  }

  // Whether somebody else changed the object since it was read.
  get isConflict(): boolean {
    return this.has('CONFLICT') || this.has('REVISION_CONFLICT');
  }

  // The current version of the object, after a conflict.
  get currentVersion(): number | null {
    return this.userErrors.find((error) => error.currentVersion != null)?.currentVersion ?? null;
  }
}

// accepted returns the payload of a mutation. It throws a MutationError if the payload has
// userErrors.
export function accepted<Payload extends { readonly userErrors: readonly UserError[] }>(payload: Payload | null | undefined): Payload {
  if (!payload) throw new CarrelError('INTERNAL_SERVER_ERROR', 'The mutation has no payload.');
  const [first, ...others] = payload.userErrors;
  if (first) throw new MutationError([first, ...others]);
  return payload;
}
