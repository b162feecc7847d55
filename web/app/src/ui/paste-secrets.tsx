// The secrets of the pastes that were created or changed since the page was loaded. They are only
// kept in memory: after a reload, or signing in as another user, they have to be entered.
import { createContext, useCallback, useMemo, useState, type ReactNode } from 'react';
import { useProvided } from './provided.ts';

interface Kept {
  secret: string;
  // fresh: the paste was just created, and its secret is still to be shown.
  fresh: boolean;
}

interface Secrets {
  of: (id: string) => Kept | undefined;
  keep: (id: string, kept: Kept) => void;
}

const SecretsContext = createContext<Secrets | null>(null);

export function PasteSecretsProvider({ children }: { children: ReactNode }) {
  const [all, setAll] = useState<ReadonlyMap<string, Kept>>(new Map());
  const keep = useCallback((id: string, kept: Kept) => setAll((before) => new Map(before).set(id, kept)), []);
  const value = useMemo(() => ({ of: (id: string) => all.get(id), keep }), [all, keep]);
  return <SecretsContext value={value}>{children}</SecretsContext>;
}

export function usePasteSecrets(): Secrets {
  return useProvided(SecretsContext);
}
