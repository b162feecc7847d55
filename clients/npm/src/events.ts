// Reads server-sent events from a response.
import { CarrelError, NetworkError } from './errors.ts';

// ServerEvent is one event of a stream.
export interface ServerEvent {
  readonly type: string;
  readonly data: string;
}

// A gateway sends at most 8 MiB of data in an event.
const maxEventLength = 16 * 1024 * 1024;

// EventParser parses a stream from pieces of text, which may be split anywhere.
export class EventParser {
  #rest = '';
  #type = '';
  #data: string[] = [];
  #length = 0;

  *push(text: string): Generator<ServerEvent> {
    this.#length += text.length;
    if (this.#length > maxEventLength) throw new CarrelError('ANSWER_TOO_LARGE', 'An event of the stream is too long.');
    if (!/[\r\n]/.test(text)) {
      this.#rest += text; // a long line is split once, when it is complete
      return;
    }
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') {
        this.#field(line);
        continue;
      }
      this.#length = 0;
      if (this.#type !== '' || this.#data.length > 0) yield { type: this.#type || 'message', data: this.#data.join('\n') };
      this.#type = '';
      this.#data = [];
    }
  }

  #field(line: string) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.#type = value;
    if (name === 'data') this.#data.push(value);
  }
}

// readEvents returns the events of a body until it ends. Without a byte for `silence`
// milliseconds it throws a NetworkError: the gateway sends a comment every 20 seconds, so the
// connection is lost.
export async function* readEvents(body: ReadableStream<Uint8Array>, silence: number): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await within(silence, reader.read());
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // A stream that is broken already cannot be cancelled.
    await reader.cancel().catch(() => {});
  }
}

async function within<Value>(milliseconds: number, promise: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NetworkError('The stream was silent for too long.')), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
