// fetch/share.ts
// Sharing an item, and telling the user what is wrong with whom.
import type { UserError } from '../order.ts';
import { repeat } from '../retry.ts';
import type { Session } from '../session.ts';
import { post } from './gateway.ts';

const SHARE = `
  mutation Share($input: ShareContentInput!) {
    shareContent(input: $input) {
      content {
        id
      }
      userErrors {
        code
        reason
        field
        message
      }
    }
  }
`;

export interface ShareInput {
  contentId: string;
  principalIds: string[];
  role: 'VIEWER' | 'EDITOR' | 'MANAGER';
  idempotencyKey: string;
}

interface ShareData {
  shareContent: { content: { id: string } | null; userErrors: UserError[] };
}

// share returns the faults of the input: under the id of a user or group what is wrong with it, and
// under '' everything else. If there are any, nothing was shared. Ids that do not exist are found
// only if all are well-formed.
export async function share(
  url: string,
  session: Session,
  input: ShareInput,
): Promise<Map<string, string>> {
  const { shareContent } = await repeat(() =>
    post<ShareData>(url, session, { query: SHARE, variables: { input } }),
  );
  const faults = new Map<string, string>();
  for (const error of shareContent.userErrors) {
    // The path of a fault: principalIds, and the place in the list.
    const [name, index] = error.field ?? [];
    const id = name === 'principalIds' ? input.principalIds[Number(index)] : undefined;
    faults.set(id ?? '', textOf(error));
  }
  return faults;
}

// In the language of the user; the messages of the gateway are in English.
const texts: Record<string, string> = {
  NOT_FOUND: 'Unknown, or not visible to you.',
  FORBIDDEN: 'You may not share this.',
  EMPTY: 'Choose somebody.',
  TOO_MANY: 'Choose fewer.',
};

function textOf({ code, reason, message }: UserError): string {
  return texts[reason ?? ''] ?? texts[code] ?? message;
}
