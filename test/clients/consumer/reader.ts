// An application with carrel-client. The package test compiles it with the packed package, and runs
// it.
//#region connect
import {
  accepted,
  CarrelClient,
  LiveLibrary,
  MutationError,
  newIdempotencyKey,
  UpdateContentDocument,
  ViewerDocument,
  type LibraryEntry,
  type UpdateContentMutationVariables,
} from 'carrel-client';

export interface Session {
  url: string;
  token(): string | null;
  renewToken(): Promise<string | null>;
}

export function connect(session: Session): CarrelClient {
  return new CarrelClient({
    url: session.url,
    token: () => session.token(),
    renewToken: () => session.renewToken(),
  });
}

export async function viewerId(client: CarrelClient): Promise<string | null> {
  const { viewer } = await client.execute(ViewerDocument, {});
  return viewer?.id ?? null;
}
//#endregion

//#region live
export function openLibrary(
  client: CarrelClient,
  principalId: string,
  show: (lines: string[]) => void,
  pageSize = 30,
): LiveLibrary {
  const library = new LiveLibrary(client, { principalId, order: 'DESC', pageSize });
  library.subscribe(() => {
    const { status, entries } = library.snapshot();
    show([status, ...entries.map(({ node }: LibraryEntry) => node.title)]);
  });
  return library;
}
//#endregion

//#region save
// Save is one action of a user: its key stays the same when it is tried again.
export class Save {
  readonly #input: UpdateContentMutationVariables['input'];

  constructor(entry: LibraryEntry, title: string) {
    const { id, version } = entry.node;
    this.#input = { id, title, expectedVersion: version, idempotencyKey: newIdempotencyKey() };
  }

  async run(client: CarrelClient): Promise<'saved' | 'conflict'> {
    try {
      const { updateContent } = await client.execute(UpdateContentDocument, {
        input: this.#input,
      });
      accepted(updateContent);
      return 'saved';
    } catch (error) {
      if (error instanceof MutationError && error.isConflict) return 'conflict';
      throw error;
    }
  }
}
//#endregion
