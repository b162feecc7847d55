import { use, type Context } from 'react';

// useProvided reads a context whose provider is around the whole client.
export function useProvided<Value>(context: Context<Value | null>): Value {
  const value = use(context);
  if (value === null) throw new Error('used outside its provider');
  return value;
}
