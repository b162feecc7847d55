// Text without the characters that change its direction, so that a title or a name cannot reorder
// the sentence around it.

export const plain = (text: string) => text.replaceAll(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');

// plainNames does so, in place, for the names of people and groups in an answer of the gateway: they
// are in many sentences.
export function plainNames<Answer>(answer: Answer): Answer {
  for (const [field, value] of Object.entries(answer ?? {})) {
    if (typeof value === 'object') plainNames(value);
    else if (field === 'displayName') Object.assign(answer as object, { displayName: plain(String(value)) });
  }
  return answer;
}
