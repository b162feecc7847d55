// relay/library.ts
import {
  commitMutation,
  ConnectionHandler,
  fetchQuery,
  getRefetchMetadata,
  requestSubscription,
  type Environment,
  type ReaderFragment,
  type RecordProxy,
  type RecordSourceSelectorProxy,
} from 'relay-runtime';
import { placeFor, type Order, type PageInfo, type UserError } from '../order.ts';
import { repeat } from '../retry.ts';
import { Library, LibraryChanged, LibraryQuery, Update } from './operations.ts';

// follow keeps a connection up to date, from the cursor of the page that was read first. A
// component calls it in an effect.
export function follow(
  environment: Environment,
  id: string,
  order: Order,
  after: string | null,
  onError: (error: unknown) => void,
): () => void {
  const reread = () => void open(environment, id, order).catch(onError);
  const { dispose } = requestSubscription(environment, {
    subscription: LibraryChanged,
    variables: { id, after },
    onError,
    updater: (store) => {
      const principal = store.get(id);
      const orderBy = { field: 'LAST_MODIFIED', direction: order };
      const connection =
        principal && ConnectionHandler.getConnection(principal, 'operations_library', { orderBy });
      const change = store.getRootField('libraryChanged');
      if (connection && change) applyChange(store, connection, change, order, reread);
    },
  });
  return dispose;
}

function applyChange(
  store: RecordSourceSelectorProxy,
  connection: RecordProxy,
  change: RecordProxy,
  order: Order,
  reread: () => void,
): void {
  const placed = change.getLinkedRecord('edge');
  const node = placed?.getLinkedRecord('node');
  const id = node?.getDataID() ?? (change.getValue('contentId') as string);
  const isHeld = (connection.getLinkedRecords('edges') ?? []).some(
    (edge) => edge.getLinkedRecord('node')?.getDataID() === id,
  );
  ConnectionHandler.deleteNode(connection, id);
  const pageInfo = connection.getLinkedRecord('pageInfo');
  if (!placed || !node || !pageInfo) return;

  const edges = connection.getLinkedRecords('edges') ?? [];
  const more = {
    hasNextPage: Boolean(pageInfo.getValue('hasNextPage')),
    hasPreviousPage: Boolean(pageInfo.getValue('hasPreviousPage')),
  };
  if (edges.length === 0 && (more.hasNextPage || more.hasPreviousPage)) {
    // There is no loaded entry to compare it with, and no end where a page could be added.
    for (const cursor of ['startCursor', 'endCursor']) pageInfo.setValue(null, cursor);
    return reread();
  }
  const { index, beyond } = placeFor(edges.map(positionOf), positionOf(placed), order, more);
  if (beyond === 'newest' || (beyond === 'oldest' && !isHeld)) {
    // The next load at that end returns it: the end is now the last entry before it.
    const isAtStart = (beyond === 'oldest') === (order === 'ASC');
    const outermost = isAtStart ? edges[0] : edges.at(-1);
    if (outermost)
      pageInfo.setValue(outermost.getValue('cursor'), isAtStart ? 'startCursor' : 'endCursor');
    return;
  }
  const edge = ConnectionHandler.createEdge(store, connection, node, 'LibraryEdge');
  edge.setValue(placed.getValue('cursor'), 'cursor');
  connection.setLinkedRecords([...edges.slice(0, index), edge, ...edges.slice(index)], 'edges');
  // The newest entry ends the walk that has read all entries: another one begins after it.
  if (index === (order === 'ASC' ? edges.length : 0))
    pageInfo.setValue(edge.getValue('cursor'), order === 'ASC' ? 'endCursor' : 'startCursor');
}

function positionOf(edge: RecordProxy): { id: string; lastModified: string } {
  const node = edge.getLinkedRecord('node');
  return {
    id: node?.getDataID() ?? '',
    lastModified: String(node?.getValue('lastModified') ?? ''),
  };
}

// open reads the first page. Then a component reads the fragment of `principal`: it is null if there
// is no such library, or the viewer may not see it.
export function open(
  environment: Environment,
  id: string,
  order: Order,
  first = 20,
): Promise<unknown> {
  const orderBy = { field: 'LAST_MODIFIED', direction: order };
  return repeat(() => fetchQuery(environment, LibraryQuery, { id, orderBy, first }).toPromise());
}

// Loaded is what a component reads from the connection.
export interface Loaded {
  edges: readonly unknown[];
  pageInfo: PageInfo;
}

// load reads one more page. In a component, loadNext and loadPrevious of usePaginationFragment do
// it, except for the last step.
export async function load(
  environment: Environment,
  id: string,
  order: Order,
  loaded: () => Loaded,
  side: 'next' | 'previous',
  size = 20,
): Promise<void> {
  const orderBy = { field: 'LAST_MODIFIED', direction: order };
  const isNewestSide = (side === 'next') === (order === 'ASC');
  const { refetchableRequest } = getRefetchMetadata(Library as ReaderFragment, 'load');
  for (;;) {
    const { edges, pageInfo } = loaded();
    if (!(side === 'next' ? pageInfo.endCursor : pageInfo.startCursor)) return; // it is read again
    const isNewWalk = side === 'next' ? !pageInfo.hasNextPage : !pageInfo.hasPreviousPage;
    const part =
      side === 'next'
        ? { first: size, after: pageInfo.endCursor }
        : { last: size, before: pageInfo.startCursor };
    await repeat(() =>
      fetchQuery(environment, refetchableRequest, { id, orderBy, ...part }).toPromise(),
    );
    // A walk to the newest end omits entries that moved there since it began. They follow its last
    // page, in new walks: read on until one of these is empty.
    const more =
      side === 'next' ? loaded().pageInfo.hasNextPage : loaded().pageInfo.hasPreviousPage;
    if (!isNewestSide || more || (isNewWalk && loaded().edges.length === edges.length)) return;
  }
}

interface Updated {
  updateContent: { userErrors: UserError[] };
}

export async function save(
  environment: Environment,
  input: { id: string; title: string; expectedVersion: number; idempotencyKey: string },
): Promise<UserError[]> {
  const { updateContent } = await repeat(
    () =>
      new Promise<Updated>((resolve, reject) => {
        commitMutation(environment, {
          mutation: Update,
          variables: { input },
          onCompleted: (data) => resolve(data as unknown as Updated),
          onError: reject,
        });
      }),
  );
  return updateContent.userErrors;
}
