// Opening an item by its URL: the field of the form to which an error belongs.
import { sentence, shortNames, type Faults } from './faults.ts';

// Refusal has the fields of a query's error that are read here.
interface Refusal {
  errors?: readonly { message: string; path?: readonly (string | number)[] | undefined; extensions?: { code?: string } }[];
}

// faultsOfLookup returns the errors of the URL or the tenant ('' for none) of a look-up, or null
// for an error of neither. If canonicalUrl, which takes no tenant, failed as well,
// the error is in the URL.
export function faultsOfLookup(error: unknown, tenant: string): Faults<'url' | 'tenant'> | null {
  const refused = ((error ?? {}) as Refusal).errors?.filter(({ extensions }) => extensions?.code === 'BAD_USER_INPUT') ?? [];
  const ofUrl = refused.find(({ path }) => path?.[0] === 'canonicalUrl');
  if (ofUrl) return { url: [sentence(ofUrl.message)] };
  if (refused.length === 0) return null;
  return { tenant: [tenant ? shortNames : 'Enter an organisation, because you are not signed in.'] };
}
