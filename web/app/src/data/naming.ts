// Which text of a note gives the item its title.

// NamedText names a text by its branch and language.
export interface NamedText {
  branch: number;
  locale: string | null;
}

// namingText returns the text that gives an item its title: the only one of the branch that is shown. It returns null if there are
// several, because the API does not tell which of them it is, and if visitors do not see the branch (shown is null).
export function namingText(shown: { branch: number; locales: readonly (string | null)[] } | null): NamedText | null {
  const [locale] = shown?.locales ?? [];
  return shown?.locales.length === 1 && locale !== undefined ? { branch: shown.branch, locale } : null;
}

// isText reports whether both are the same text.
export const isText = (a: NamedText | null, b: NamedText | null) =>
  a !== null && b !== null && a.branch === b.branch && a.locale === b.locale;

// localesOf returns the locales of the texts of a branch; null is the text without a locale.
export const localesOf = ({ branch, unlocalized }: { branch: { locales: readonly string[] } | null; unlocalized: object | null }) =>
  [...(unlocalized ? [null] : []), ...(branch?.locales ?? [])];
