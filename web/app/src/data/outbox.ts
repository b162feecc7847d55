// The changes that a form sends. After a lost answer nobody knows whether a change was made, and nothing may be made twice.
import { newIdempotencyKey } from 'carrel-client';
import { isMismatch, isUnclear } from './faults.ts';
import { isOnline } from './network.ts';

interface Payload {
  userErrors: readonly unknown[];
}

type Send<Input, Reply> = (input: Input, key: string) => Promise<Reply>;

// Outbox sends the changes of one form. lost() returns those whose answers were lost, until it is known what became of them.
export interface Outbox<Input, Reply> {
  post(input: Input, send: Send<Input, Reply>): Promise<Reply>;
  lost(): readonly Input[];
}

// MadeBefore means that nothing was sent, because a change whose answer was lost had been made. reply is that answer, null if it
// cannot be had any more.
export class MadeBefore<Reply> extends Error {
  override readonly name = 'MadeBefore';
  readonly reply: Reply | null;

  constructor(reply: Reply | null) {
    super('An earlier change was made.');
    this.reply = reply;
  }
}

// outbox returns an Outbox. The same change is sent with the same key, so that it is made once. After a lost answer, another one
// is sent with that key, too: the gateway refuses it if the lost one was made, and then repeating that returns its answer.
export function outbox<Input extends object, Reply extends Payload>(): Outbox<Input, Reply> {
  const none = { text: '', key: '' };
  let last = none;
  let lost: readonly Input[] = [];
  const end = () => {
    last = none;
    lost = [];
  };
  return {
    lost: () => lost,
    async post(input, send) {
      const text = JSON.stringify(input);
      if (lost.length === 0 && last.text !== text) last = { text, key: newIdempotencyKey() };
      const { key } = last;
      const connected = isOnline();
      try {
        const reply = await send(input, key);
        if (reply.userErrors.length === 0) end();
        return reply;
      } catch (error) {
        if (lost.length > 0 && isMismatch(error)) {
          const reply = await answerOf(lost, (one) => send(one, key));
          end();
          throw new MadeBefore(reply);
        }
        // What was sent without a network has not arrived.
        if (connected && isUnclear(error)) {
          last = { text, key };
          lost = [...lost, input];
        }
        throw error;
      }
    },
  };
}

// answerOf returns the answer to the change that was made, of several with the same key.
async function answerOf<Input, Reply>(lost: readonly Input[], send: (input: Input) => Promise<Reply>): Promise<Reply | null> {
  for (const one of lost) {
    try {
      return await send(one);
    } catch (error) {
      if (!isMismatch(error)) throw error;
    }
  }
  return null;
}
