// A cache that keeps the newest version of each item. Two answers can arrive in another order than
// the gateway has read them, and an event can arrive before both: an older answer must not undo
// what is known of a newer version.
import { InMemoryCache, type Cache, type OperationVariables, type Reference } from '@apollo/client';
import { EntryFragmentDoc, type EntryFragment } from '../generated/operations.ts';

// ReadItem is an item in a result, if the version was read.
type ReadItem = Pick<EntryFragment, '__typename' | 'id' | 'version'> & Partial<EntryFragment>;

function isItem(value: object): value is ReadItem {
  const { __typename, id, version } = value as Partial<ReadItem>;
  return __typename === 'Content' && typeof id === 'string' && typeof version === 'number';
}

// NewestItemsCache is an InMemoryCache that never replaces an item by an older version of it.
export class NewestItemsCache extends InMemoryCache {
  readonly #times = new Map<string, string>();

  override write<Data = unknown, Variables extends OperationVariables = OperationVariables>(options: Cache.WriteOptions<Data, Variables>): Reference | undefined {
    this.#times.clear();
    return super.write({ ...options, result: this.#newest(options.result) });
  }

  // timeRead returns the time of an item's last change in the result that is being written. If
  // that is an older version, the cache keeps a later time in the item. It returns undefined for
  // an item that is not in the result.
  timeRead(key: string): string | undefined {
    return this.#times.get(key);
  }

  // #newest returns a result with the items that are older than those in the cache replaced, and
  // notes the times of all items as they were read.
  #newest<T>(result: T): T {
    if (Array.isArray(result)) return result.map((each) => this.#newest(each)) as T;
    if (typeof result !== 'object' || result === null) return result;
    const all = Object.fromEntries(Object.entries(result).map(([name, value]) => [name, this.#newest(value)])) as T & object;
    if (!isItem(all)) return all;
    const key = this.identify({ ...all }) ?? '';
    if (all.lastModified) this.#times.set(key, all.lastModified);
    const held = this.readFragment({ id: key, fragment: EntryFragmentDoc });
    // The creator never changes, and the result may contain more of it.
    return held && held.version > all.version ? { ...all, ...held, createdBy: all.createdBy } : all;
  }
}
