// Locales as people type them.

// readLocale returns the form in which the gateway stores a locale: a language of two letters,
// or with a country as in de_CH; xx is a text in no language. It accepts any case, and -
// instead of _. Null: the text has another form. Only the gateway knows whether the language or
// country exists.
export function readLocale(text: string): string | null {
  const [, language = '', country] = /^([a-z]{2})(?:[-_]([a-z]{2}))?$/i.exec(text.trim()) ?? [];
  if (language === '') return null;
  return country === undefined ? language.toLowerCase() : `${language.toLowerCase()}_${country.toUpperCase()}`;
}

const names = new Intl.DisplayNames(['en-GB'], { type: 'language', fallback: 'none' });
const letters = [...'abcdefghijklmnopqrstuvwxyz'];

// languagesByName maps the names of languages to their codes.
export const languagesByName: ReadonlyMap<string, string> = new Map(
  letters
    .flatMap((first) => letters.map((second) => first + second))
    .flatMap((code): [string, string][] => {
      const name = names.of(code);
      return name ? [[name, code]] : [];
    })
    .sort(([a], [b]) => a.localeCompare(b)),
);

// localeNamed returns the locale for the name of a language, or for its code; null if it is neither.
export function localeNamed(text: string): string | null {
  const wanted = text.trim().toLowerCase();
  const [, code] = [...languagesByName].find(([name]) => name.toLowerCase() === wanted) ?? [];
  return code ?? readLocale(text);
}
