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
  override write<Data = unknown, Variables extends OperationVariables = OperationVariables>(options: Cache.WriteOptions<Data,
    Variables>): Reference | undefined {
    return super.write({ ...options, result: this.#newest(options.result) });
  }

  // #newest returns a result with the items that are older than those in the cache replaced.
  #newest<T>(result: T): T {
    if (Array.isArray(result)) return result.map((each) => this.#newest(each)) as T;
    if (typeof result !== 'object' || result === null) return result;
    const all = Object.fromEntries(Object.entries(result).map(([name, value]) => [name, this.#newest(value)])) as T & object;
    if (!isItem(all)) return all;
    const key = this.identify({ ...all }) ?? '';
    const held = this.readFragment({ id: key, fragment: EntryFragmentDoc });
    // The creator never changes, and the result may contain more of it.
    return held && held.version > all.version ? { ...all, ...held, createdBy: all.createdBy } : all;
  }
}
