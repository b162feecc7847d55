// Adding a language to a note: the dialog checks the code of the language, and the
// editor then opens for its text.
import { useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { explain } from '../data/faults.ts';
import { languagesByName, localeNamed } from '../data/locale.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Actions, Form, TextField, useCurrent, type FormState } from '../ui/forms.tsx';
import { useOnline } from '../ui/notices.tsx';
import { languageName } from '../ui/words.ts';
import { isKnownLocale } from './use-draft.ts';

interface AddLanguageProps {
  contentId: string;
  branch: number;
  // The locales in which there is a text already.
  known: readonly (string | null)[];
  onClose: () => void;
  onChosen: (locale: string) => void;
}

const idle: FormState = { busy: false, faults: {} };

export function AddLanguage({ contentId, branch, known, onClose, onChosen }: AddLanguageProps) {
  const client = useApolloClient();
  const online = useOnline();
  const [text, setText] = useState('');
  const [state, setState] = useState<FormState & { faults: { locale?: string[] } }>(idle);
  const error = useCurrent(state.error ?? null);
  const locale = localeNamed(text);
  const wrong = (why: string) => setState({ busy: false, faults: { locale: [why] } });

  const choose = async () => {
    if (locale === null) return wrong('Enter the name of a language, such as German, or its code, such as de or de_CH.');
    if (known.includes(locale)) return wrong(`There is a text in ${languageName(locale)} already. Choose it under Language.`);
    setState({ ...idle, busy: true });
    try {
      if (await isKnownLocale(client, { contentId, branch, locale })) onChosen(locale);
      else wrong(`${locale} is not the code of a language${locale.includes('_') ? ' and a country' : ''}.`);
    } catch (error) {
      setState({ ...idle, error: explain(error, { online }) });
    }
  };
  return (
    <Dialog title={branch > 1 ? `Add a language: branch ${branch}` : 'Add a language'} onClose={onClose} unsaved={false}>
      <Form onSubmit={() => void choose()} submission={{ ...state, error }} actions={<Actions submission={state} verb="Write the text" />}>
        <TextField
          label="Language"
          hint="Its name, such as German, or its code, also with a country, such as de_CH. Use xx for text in no language."
          suggestions={[...languagesByName.keys()]}
          autoCapitalize="none"
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
          faults={state.faults.locale}
          autoFocus
        />
        <p role="status">{locale !== null && languageName(locale) !== locale ? languageName(locale) : ''}</p>
      </Form>
    </Dialog>
  );
}
