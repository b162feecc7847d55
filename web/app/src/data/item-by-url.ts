// Opening an item by its URL: which of the two fields an answer is about.
import { sentence, type Faults } from './faults.ts';

// Refusal is what is read of an error that a query throws.
interface Refusal {
  errors?: readonly { message: string; path?: readonly (string | number)[] | undefined; extensions?: { code?: string } }[];
}

// faultsOfLookup returns what is wrong with the URL or the tenant of a look-up. It
// returns null for an error that is about neither. What is wrong with the URL is
// found by canonicalUrl too, which takes no tenant.
export function faultsOfLookup(error: unknown): Faults<'url' | 'tenant'> | null {
  const refused = ((error ?? {}) as Refusal).errors?.filter(({ extensions }) => extensions?.code === 'BAD_USER_INPUT') ?? [];
  const ofUrl = refused.find(({ path }) => path?.[0] === 'canonicalUrl');
  if (ofUrl) return { url: [sentence(ofUrl.message)] };
  const [first] = refused;
  return first ? { tenant: [sentence(first.message)] } : null;
}
