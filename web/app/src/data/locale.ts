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
